// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include "../gpu/failures.hpp"
#include "../gpu/limits.hpp"
#include "device.hpp"
#include "driver.hpp"
#include "images.hpp"

#include <utility>

namespace ct3d::cuda {

namespace {

// What a block may have without asking for more.
constexpr int default_shared_bytes = 48 << 10;

bool means_no_code(CUresult result) {
    switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
        return true;
    default:
        return false;
    }
}

// Of this driver.
const Device &own(const gpu::Device &device) { return static_cast<const Device &>(device); }

void *load_module(const gpu::Device &any, const char *image) {
    const Device &device = own(any);
    const Current current(device);
    CUmodule module = nullptr;
    const CUresult result = driver::cuModuleLoadData.attempt(&module, find_image(image));
    if (means_no_code(result))
        throw_no_code(device, image, "cuModuleLoadData", result);
    if (result != CUDA_SUCCESS)
        throw_failed("cuModuleLoadData", result);
    return module;
}

int attribute(CUfunction function, CUfunction_attribute name) {
    int value = 0;
    driver::cuFuncGetAttribute(&value, name, function);
    return value;
}

// Drivers load a function as late as at its first launch, where that would wait and could not be captured.
void load_now(CUfunction function) {
    if (driver::cuFuncLoad.present())
        driver::cuFuncLoad(function);
    else
        attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
}

// To the most there can be, whatever is asked for: all plans share one function, and the limit with it.
void allow_shared_bytes(const Device &device, CUfunction function, const std::string &name, uint32_t dynamic_bytes) {
    const int fixed = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    const int most = require_shared_bytes(device, name, fixed, dynamic_bytes);
    if (std::cmp_greater(dynamic_bytes, default_shared_bytes - fixed))
        driver::cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
}

void *find_function(const gpu::Device &any, void *module, const std::string &name, uint32_t dynamic_shared_bytes) {
    const Device &device = own(any);
    const Current current(device);
    CUfunction function = nullptr;
    driver::cuModuleGetFunction(&function, static_cast<CUmodule>(module), name.c_str());
    load_now(function);
    allow_shared_bytes(device, function, name, dynamic_shared_bytes);
    return function;
}

void launch(const gpu::Device &device, void *function, void *stream, const Launch &l) {
    const Current current(own(device));
    void *arguments[] = {const_cast<void *>(l.params)};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{
        l.grid.x,   l.grid.y,         l.grid.z, l.threads, 1, 1, l.dynamic_shared_bytes, static_cast<CUstream>(stream),
        &attribute, l.early ? 1u : 0u};
    driver::cuLaunchKernelEx(&config, static_cast<CUfunction>(function), arguments, nullptr);
}

} // namespace

const gpu::Driver launch_driver{load_module, find_function, launch};

} // namespace ct3d::cuda
