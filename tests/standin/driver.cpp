// SPDX-License-Identifier: MIT
// The functions of the CUDA driver besides those for work: device memory is the host's.
#include "device_memory.hpp"
#include "driver_state.hpp"
#include "shared_memory.hpp"

#include <cstdio>
#include <cstring>

using standin::context_stack;
using standin::driver;
using standin::environment;
using standin::state;

namespace {

constexpr int default_shared_bytes = 48 << 10, oldest_arch = 80;

long arch() { return environment("CT3D_STANDIN_ARCH", 90); }
int devices() { return static_cast<int>(environment("CT3D_STANDIN_DEVICES", 1)); }
bool exists(CUdevice device) { return device >= 0 && device < devices(); }

void *host(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

} // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
    STANDIN_CALL(nothing);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (devices() == 0)
        return CUDA_ERROR_NO_DEVICE;
    const std::lock_guard lock(state().mutex);
    driver().initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    STANDIN_CALL(nothing);
    *version = static_cast<int>(environment("CT3D_STANDIN_VERSION", 13000));
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    STANDIN_CALL(nothing);
    static const std::map<CUresult, const char *> names = {
        {CUDA_SUCCESS, "CUDA_SUCCESS"},
        {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
        {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };
    const auto found = names.find(error);
    *name = found == names.end() ? nullptr : found->second;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
    STANDIN_CALL(initialised);
    *count = devices();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    STANDIN_CALL(initialised);
    if (!exists(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    STANDIN_CALL(initialised);
    if (!exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<size_t>(length), "stand-in on the host");
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
    STANDIN_CALL(initialised);
    if (!exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = standin::host_memory();
    return CUDA_SUCCESS;
}

// What an H200 says, besides the architecture.
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    STANDIN_CALL(initialised);
    if (!exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = static_cast<int>(arch() / 10);
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = static_cast<int>(arch() % 10);
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = static_cast<int>(standin::environment("CT3D_STANDIN_MULTIPROCESSORS", 132));
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = standin::most_shared_bytes;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
        *value = 228 << 10;
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *value = 60 << 20;
        break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
        *value = 3201000;
        break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *value = 6144;
        break;
    default:
        std::fprintf(stderr, "standin: device attribute %d is not known\n", static_cast<int>(attribute));
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    STANDIN_CALL(initialised);
    if (!exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard lock(state().mutex);
    auto &all = driver().contexts;
    while (all.size() <= static_cast<size_t>(device))
        all.push_back(std::make_unique<CUctx_st>(CUctx_st{static_cast<CUdevice>(all.size()), 0}));
    *context = all[static_cast<size_t>(device)].get();
    ++(*context)->retained;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
    STANDIN_CALL(initialised);
    if (!context || context->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    return CUDA_SUCCESS;
}

// A failure here is one of earlier work: the context has been taken off all the same.
CUresult cuCtxPopCurrent(CUcontext *context) {
    CUcontext top = nullptr;
    if (!context_stack().empty()) {
        top = context_stack().back();
        context_stack().pop_back();
    }
    STANDIN_CALL(initialised);
    if (!top)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = top;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    STANDIN_CALL(initialised);
    *context = context_stack().empty() ? nullptr : context_stack().back();
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    STANDIN_CALL(no_capture);
    uint32_t magic;
    std::memcpy(&magic, image, sizeof magic);
    if (magic != 0xba55ed50) // of a fatbin
        return CUDA_ERROR_INVALID_IMAGE;
    if (arch() < oldest_arch)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    const std::lock_guard lock(state().mutex);
    driver().modules.push_back(std::make_unique<CUmod_st>(CUmod_st{context_stack().back()}));
    *module = driver().modules.back().get();
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    STANDIN_CALL(context);
    const standin::Kernel *const kernel = standin::find_kernel(name);
    if (!kernel)
        return CUDA_ERROR_NOT_FOUND;
    const std::lock_guard lock(state().mutex);
    const CUfunc_st fresh{kernel, module->context, default_shared_bytes};
    *function = &driver().functions.try_emplace({kernel, module->context}, fresh).first->second;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction) {
    STANDIN_CALL(context);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    STANDIN_CALL(context);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = 0;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = static_cast<int>(arch());
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->dynamic_shared_bytes;
        break;
    default:
        std::fprintf(stderr, "standin: function attribute %d is not known\n", static_cast<int>(attribute));
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    STANDIN_CALL(context);
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        value > static_cast<int>(standin::most_shared_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(state().mutex);
    function->dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    STANDIN_CALL(no_capture);
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    void *const memory = standin::allocate(bytes);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
    STANDIN_CALL(no_capture);
    return address == 0 || standin::release(host(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    STANDIN_CALL(no_capture);
    std::memmove(host(to), host(from), bytes);
    return CUDA_SUCCESS;
}

} // extern "C"
