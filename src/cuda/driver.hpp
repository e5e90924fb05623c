// SPDX-License-Identifier: MIT
// The CUDA driver: opened at first use, each function looked up at its first call, each result checked.
#pragma once

#include <atomic>
#include <cuda.h>

namespace ct3d::cuda {

// Opens the driver and initialises it, unless that was done before. Throws Error where there is none that works, and in
// a child forked from a process that uses it.
void require_driver();

// 1000 * major + 10 * minor of the CUDA that the driver is for.
int driver_version();

// Null where the driver has no function of that name.
void *find_driver_function(const char *name);

[[noreturn]] void throw_missing(const char *name);
[[noreturn]] void throw_failed(const char *name, CUresult);

template <class Signature> class DriverFunction;

template <class... Parameters> class DriverFunction<CUresult(Parameters...)> {
public:
    constexpr explicit DriverFunction(const char *name) : name_(name) {}

    bool present() const { return find(); }

    // Throws Error where the driver has no such function; so do the calls.
    void require() const { required(); }

    CUresult attempt(Parameters... parameters) const { return required()(parameters...); }

    // Throws Error where the call fails.
    void operator()(Parameters... parameters) const {
        if (const CUresult result = attempt(parameters...); result != CUDA_SUCCESS)
            throw_failed(name_, result);
    }

private:
    using Address = CUresult (*)(Parameters...);

    Address find() const {
        Address address = address_.load(std::memory_order_relaxed);
        if (!address) {
            address = reinterpret_cast<Address>(find_driver_function(name_));
            address_.store(address, std::memory_order_relaxed);
        }
        return address;
    }

    Address required() const {
        const Address found = find();
        if (!found)
            throw_missing(name_);
        return found;
    }

    const char *const name_;
    mutable std::atomic<Address> address_{nullptr};
};

// cuda.h renames a function whose parameters have changed; macros carry the name and the parameters together.
#define CT3D_NAME(function) #function
#define CT3D_DRIVER_FUNCTION(function)                                                                                 \
    inline constinit DriverFunction<decltype(::function)> function { CT3D_NAME(function) }

namespace driver {

CT3D_DRIVER_FUNCTION(cuCtxPopCurrent);
CT3D_DRIVER_FUNCTION(cuCtxPushCurrent);
CT3D_DRIVER_FUNCTION(cuCtxSynchronize);
CT3D_DRIVER_FUNCTION(cuDeviceGet);
CT3D_DRIVER_FUNCTION(cuDeviceGetAttribute);
CT3D_DRIVER_FUNCTION(cuDeviceGetCount);
CT3D_DRIVER_FUNCTION(cuDeviceGetName);
CT3D_DRIVER_FUNCTION(cuDevicePrimaryCtxRetain);
CT3D_DRIVER_FUNCTION(cuDeviceTotalMem);
CT3D_DRIVER_FUNCTION(cuDriverGetVersion);
CT3D_DRIVER_FUNCTION(cuFuncGetAttribute);
CT3D_DRIVER_FUNCTION(cuFuncLoad);
CT3D_DRIVER_FUNCTION(cuFuncSetAttribute);
CT3D_DRIVER_FUNCTION(cuGetErrorName);
CT3D_DRIVER_FUNCTION(cuInit);
CT3D_DRIVER_FUNCTION(cuLaunchKernel);
CT3D_DRIVER_FUNCTION(cuLaunchKernelEx);
CT3D_DRIVER_FUNCTION(cuMemAlloc);
CT3D_DRIVER_FUNCTION(cuMemFree);
CT3D_DRIVER_FUNCTION(cuMemcpy);
CT3D_DRIVER_FUNCTION(cuMemsetD8Async);
CT3D_DRIVER_FUNCTION(cuModuleGetFunction);
CT3D_DRIVER_FUNCTION(cuModuleLoadData);
CT3D_DRIVER_FUNCTION(cuStreamSynchronize);
CT3D_DRIVER_FUNCTION(cuTensorMapEncodeTiled);

} // namespace driver

#undef CT3D_DRIVER_FUNCTION
#undef CT3D_NAME

struct Device;

// Makes the device's context current on this thread for the length of a scope. The caller's own comes back after it.
class Current {
public:
    explicit Current(const Device &);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;
};

} // namespace ct3d::cuda
