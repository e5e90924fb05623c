// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include "../gpu/failures.hpp"
#include "../gpu/limits.hpp"
#include "device.hpp"
#include "driver.hpp"
#include "images.hpp"

namespace ct3d::hip {

namespace {

bool means_no_code(hipError_t result) {
    switch (result) {
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
    case hipErrorNoBinaryForGpu:
    case hipErrorSharedObjectInitFailed:
        return true;
    default:
        return false;
    }
}

void *load_module(const Device &device, const char *image) {
    const Current current(device.index);
    hipModule_t module = nullptr;
    const hipError_t result = driver::hipModuleLoadData.attempt(&module, find_image(device.arch, image));
    if (means_no_code(result)) {
        forget_error();
        throw_no_code(device, image, "hipModuleLoadData", result);
    }
    if (result != hipSuccess)
        throw_failed("hipModuleLoadData", result);
    return module;
}

void *find_function(const Device &device, void *module, const std::string &name, uint32_t dynamic_shared_bytes) {
    const Current current(device.index);
    hipFunction_t function = nullptr;
    driver::hipModuleGetFunction(&function, static_cast<hipModule_t>(module), name.c_str());
    int fixed = 0;
    driver::hipFuncGetAttribute(&fixed, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    require_shared_bytes(device, name, fixed, dynamic_shared_bytes);
    return function;
}

void launch(const Device &device, void *function, void *stream, const Launch &l) {
    const Current current(device.index);
    void *arguments[] = {const_cast<void *>(l.params)};
    driver::hipModuleLaunchKernel(static_cast<hipFunction_t>(function), l.grid.x, l.grid.y, l.grid.z, l.threads, 1, 1,
                                  l.dynamic_shared_bytes, static_cast<hipStream_t>(stream), arguments, nullptr);
}

} // namespace

const gpu::Driver launch_driver{load_module, find_function, launch};

} // namespace ct3d::hip
