// SPDX-License-Identifier: MIT
#include "function.hpp"

#include "../status.hpp"
#include "driver.hpp"
#include "images.hpp"

#include <map>
#include <mutex>
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

CUmodule load_module(const Device &device, const char *image) {
    CUmodule module = nullptr;
    const CUresult result = driver::cuModuleLoadData.attempt(&module, find_image(image));
    if (means_no_code(result))
        throw Error(CT3D_UNSUPPORTED, "image \"%s\" has no code that device %d (sm_%d) runs: %d from cuModuleLoadData",
                    image, device.index, device.compute_capability(), static_cast<int>(result));
    if (result != CUDA_SUCCESS)
        throw_failed("cuModuleLoadData", result);
    return module;
}

CUmodule module_of(const Device &device, const char *image) {
    static std::mutex &mutex = *new std::mutex;
    static auto &modules = *new std::map<std::pair<int32_t, std::string>, CUmodule>;
    const std::lock_guard lock(mutex);
    CUmodule &module = modules[{device.index, image}];
    if (!module)
        module = load_module(device, image);
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
    const int most = static_cast<int>(device.shared_bytes_per_block) - fixed;
    if (std::cmp_greater(dynamic_bytes, most))
        throw Error(CT3D_UNSUPPORTED, "%s needs %u bytes of shared memory, device %d lets a block have %d",
                    name.c_str(), dynamic_bytes, device.index, most);
    if (std::cmp_greater(dynamic_bytes, default_shared_bytes - fixed))
        driver::cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
}

} // namespace

Function::Function(const Device &device, const char *image, const std::string &name, uint32_t dynamic_shared_bytes)
    : device_(&device), handle_(nullptr), shared_bytes_(dynamic_shared_bytes) {
    const Current current(device);
    CUfunction function = nullptr;
    driver::cuModuleGetFunction(&function, module_of(device, image), name.c_str());
    load_now(function);
    allow_shared_bytes(device, function, name, dynamic_shared_bytes);
    handle_ = function;
}

void Function::enqueue(void *stream, Grid grid, uint32_t threads, const void *params, bool early) const {
    const Current current(*device_);
    void *arguments[] = {const_cast<void *>(params)};
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{grid.x, grid.y, grid.z, threads, 1, 1, shared_bytes_, static_cast<CUstream>(stream),
                                &attribute, early ? 1u : 0u};
    driver::cuLaunchKernelEx(&config, static_cast<CUfunction>(handle_), arguments, nullptr);
}

} // namespace ct3d::cuda
