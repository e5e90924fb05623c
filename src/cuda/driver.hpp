// SPDX-License-Identifier: MIT
// The functions of the CUDA driver.
#pragma once

#include "../gpu/driver_library.hpp"
#include "gpu.hpp"

#include <cuda.h>

namespace ct3d::cuda {

// Opens the driver and initialises it, unless that was done before. Throws Error where there is none that works, and in
// a child forked from a process that uses it.
void require_driver();

// Of the CUDA that the driver is for.
DriverVersion driver_version();

[[noreturn]] void throw_failed(const char *name, CUresult);

extern constinit gpu::DriverLibrary library;

template <class Signature> using DriverFunction = gpu::DriverFunction<library, CUDA_SUCCESS, throw_failed, Signature>;

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
