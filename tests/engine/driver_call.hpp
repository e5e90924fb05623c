// SPDX-License-Identifier: MIT
// Calls of a driver's functions by name. Handles are pointers and results ints in the ABI of each.
#pragma once

#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace ct3d::engine {

using Handle = void *;

[[noreturn]] inline void refuse(const char *function, const std::string &why) {
    throw std::runtime_error(std::string(function) + ": " + why);
}

class DriverCalls {
public:
    explicit DriverCalls(Handle library) : library_(library) {}

    // Throws std::runtime_error where the function is missing or fails.
    template <class... Parameters> void operator()(const char *function, Parameters... parameters) const {
        void *const found = dlsym(library_, function);
        if (found == nullptr)
            refuse(function, "the driver does not have it");
        if (const int result = reinterpret_cast<int (*)(Parameters...)>(found)(parameters...); result != 0)
            refuse(function, "error " + std::to_string(result));
    }

    // For destructors.
    template <class... Parameters> void or_print(const char *function, Parameters... parameters) const {
        try {
            (*this)(function, parameters...);
        } catch (const std::runtime_error &error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
    }

private:
    const Handle library_;
};

} // namespace ct3d::engine
