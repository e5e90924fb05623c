// SPDX-License-Identifier: MIT
// The functions of the HIP runtime.
#pragma once

#include "../gpu/driver_library.hpp"
#include "gpu.hpp"
#include "hip_api.h"

#include <cstdint>

namespace ct3d::hip {

// Opens the runtime and initialises it, unless that was done before. Throws Error where there is none that works, and
// in a child forked from a process that uses it.
void require_driver();

// Of the HIP that the runtime is of.
DriverVersion driver_version();

[[noreturn]] void throw_failed(const char *name, hipError_t);

// Takes back what a failed call leaves with the thread, where the caller's own checks would find it later.
void forget_error();

extern constinit gpu::DriverLibrary library;

template <class Signature> using DriverFunction = gpu::DriverFunction<library, hipSuccess, throw_failed, Signature>;

#define CT3D_DRIVER_FUNCTION(function)                                                                                 \
    inline constinit DriverFunction<decltype(::function)> function { #function }

namespace driver {

CT3D_DRIVER_FUNCTION(hipDeviceSynchronize);
CT3D_DRIVER_FUNCTION(hipFree);
CT3D_DRIVER_FUNCTION(hipFuncGetAttribute);
CT3D_DRIVER_FUNCTION(hipGetDevice);
CT3D_DRIVER_FUNCTION(hipGetDeviceCount);
CT3D_DRIVER_FUNCTION(hipGetDeviceProperties);
CT3D_DRIVER_FUNCTION(hipGetDevicePropertiesR0600);
CT3D_DRIVER_FUNCTION(hipGetErrorName);
CT3D_DRIVER_FUNCTION(hipGetLastError);
CT3D_DRIVER_FUNCTION(hipInit);
CT3D_DRIVER_FUNCTION(hipMalloc);
CT3D_DRIVER_FUNCTION(hipMemcpy);
CT3D_DRIVER_FUNCTION(hipMemsetAsync);
CT3D_DRIVER_FUNCTION(hipModuleGetFunction);
CT3D_DRIVER_FUNCTION(hipModuleLaunchKernel);
CT3D_DRIVER_FUNCTION(hipModuleLoadData);
CT3D_DRIVER_FUNCTION(hipRuntimeGetVersion);
CT3D_DRIVER_FUNCTION(hipSetDevice);
CT3D_DRIVER_FUNCTION(hipStreamSynchronize);

} // namespace driver

#undef CT3D_DRIVER_FUNCTION

// Makes a device this thread's for the length of a scope. The caller's own comes back after it.
class Current {
public:
    explicit Current(int32_t device);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

private:
    const int32_t device_;
    int callers_;
};

} // namespace ct3d::hip
