// SPDX-License-Identifier: MIT
// A vendor's driver as a library: opened and initialised at first use, each function looked up at its first call, each
// result checked.
#pragma once

#include "../dynlib.hpp"
#include "failures.hpp"

#include <atomic>
#include <span>
#include <sys/types.h>

namespace ct3d::gpu {

struct DriverVersion {
    int major, minor;
};

// Not behind a lock, which a fork could leave taken in the child. Opening or initialising twice does no harm.
class DriverLibrary {
public:
    // The first of the files that can be opened; `vendor` names it in messages.
    constexpr DriverLibrary(const char *vendor, std::span<const char *const> files) : vendor_(vendor), files_(files) {}

    // Opens the library and calls initialise(), unless that was done before. Throws Error where that fails, and in a
    // child forked from a process that uses the driver, whose state does not survive a fork.
    void require(void (*initialise)());

    // Null where the library has no function of that name.
    void *find(const char *function);

    // What read(int *) gives, which is called once.
    template <class Read> int version(const Read &read) {
        int version = version_.load(std::memory_order_relaxed);
        if (version == 0) {
            read(&version);
            version_.store(version, std::memory_order_relaxed);
        }
        return version;
    }

    // Throws Error where the major version is less.
    void require_version(DriverVersion, int oldest_major) const;

    const char *vendor() const { return vendor_; }

private:
    const Dynlib &opened();
    void require_owner();

    const char *const vendor_;
    const std::span<const char *const> files_;
    std::atomic<const Dynlib *> library_{nullptr};
    std::atomic<bool> initialised_{false};
    std::atomic<int> version_{0};
    std::atomic<pid_t> owner_{0}; // the process that has called the driver; 0: none
};

// Calls give a Result, `success` where they succeed; `fail` throws an Error for any other.
template <auto &library, auto success, auto fail, class Signature> class DriverFunction;

template <auto &library, auto success, auto fail, class Result, class... Parameters>
class DriverFunction<library, success, fail, Result(Parameters...)> {
public:
    constexpr explicit DriverFunction(const char *name) : name_(name) {}

    bool present() const { return find(); }

    // Throws Error where the driver has no such function; so do the calls.
    void require() const { required(); }

    Result attempt(Parameters... parameters) const { return required()(parameters...); }

    // Throws Error where the call fails.
    void operator()(Parameters... parameters) const {
        if (const Result result = attempt(parameters...); result != success)
            fail(name_, result);
    }

private:
    using Address = Result (*)(Parameters...);

    Address find() const {
        Address address = address_.load(std::memory_order_relaxed);
        if (!address) {
            address = reinterpret_cast<Address>(library.find(name_));
            address_.store(address, std::memory_order_relaxed);
        }
        return address;
    }

    Address required() const {
        const Address found = find();
        if (!found)
            throw_missing_function(name_);
        return found;
    }

    const char *const name_;
    mutable std::atomic<Address> address_{nullptr};
};

} // namespace ct3d::gpu
