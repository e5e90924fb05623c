// SPDX-License-Identifier: MIT
// The kernels that were compiled for the host, by name.
#pragma once

#include "fibers.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace standin {

struct Kernel {
    const char *name;
    Entry entry; // takes the address of the kernel's struct
    size_t params_bytes;
    const Kernel *next;
};

const Kernel *find_kernel(std::string_view name);

struct Grid {
    uint32_t x, y, z;
};

// Runs all blocks, one by one in an order drawn from the seed; returns when they have ended.
void launch(const Kernel &, Grid, uint32_t threads, uint32_t dynamic_shared_bytes, const void *params);

class Registration {
public:
    Registration(const char *name, Entry, size_t params_bytes);

private:
    Kernel kernel_;
};

template <class> struct ParamsOf;
template <class P> struct ParamsOf<void (*)(P)> { using Type = P; };

template <auto kernel> void call(const void *params) {
    kernel(*static_cast<const typename ParamsOf<decltype(kernel)>::Type *>(params));
}

template <auto kernel> constexpr size_t params_bytes = sizeof(typename ParamsOf<decltype(kernel)>::Type);

} // namespace standin
