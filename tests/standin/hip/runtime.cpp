// SPDX-License-Identifier: MIT
// The functions of the HIP runtime besides those for work and for the properties of a device: device memory is the
// host's.
#include "chip.hpp"
#include "device_memory.hpp"
#include "runtime_state.hpp"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <map>

using standin::call;
using standin::chip;
using standin::Needs;

namespace {

constexpr uint16_t amdgpu = 224; // EM_AMDGPU, which not every elf.h knows
constexpr uint32_t machine_bits = 0xff;

bool runs(const void *image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, SELFMAG);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    std::memcpy(&header, image, sizeof header);
    return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == amdgpu && chip().machine != 0 &&
           (header.e_flags & machine_bits) == chip().machine;
}

bool exists(int device) { return device >= 0 && device < standin::device_count(); }

} // namespace

extern "C" {

hipError_t hipInit(unsigned int flags) {
    return call(__func__, Needs::device, [&] { return flags == 0 ? hipSuccess : hipErrorInvalidValue; });
}

hipError_t hipRuntimeGetVersion(int *version) {
    return call(__func__, Needs::nothing, [&] {
        constexpr long of_r0600 = 60342134, of_r0000 = 50422804;
        const long own = standin::environment("CT3D_STANDIN_HIP_PROPERTIES", 6) < 6 ? of_r0000 : of_r0600;
        *version = static_cast<int>(standin::environment("CT3D_STANDIN_HIP_VERSION", own));
        return hipSuccess;
    });
}

// Cannot fail, and is not told to.
const char *hipGetErrorName(hipError_t error) {
    standin::refuse(__func__, Needs::nothing);
#define CT3D_NAME(name)                                                                                                \
    { name, #name }
    static const std::map<hipError_t, const char *> names = {
        CT3D_NAME(hipSuccess),
        CT3D_NAME(hipErrorInvalidValue),
        CT3D_NAME(hipErrorOutOfMemory),
        CT3D_NAME(hipErrorInvalidConfiguration),
        CT3D_NAME(hipErrorInvalidMemcpyDirection),
        CT3D_NAME(hipErrorNoDevice),
        CT3D_NAME(hipErrorInvalidDevice),
        CT3D_NAME(hipErrorNoBinaryForGpu),
        CT3D_NAME(hipErrorInvalidHandle),
        CT3D_NAME(hipErrorIllegalState),
        CT3D_NAME(hipErrorNotFound),
        CT3D_NAME(hipErrorStreamCaptureUnsupported),
        CT3D_NAME(hipErrorStreamCaptureImplicit),
    };
#undef CT3D_NAME
    const auto found = names.find(error);
    return found == names.end() ? "hipErrorUnknown" : found->second;
}

// What it returns is an earlier call's failure, not its own.
hipError_t hipGetLastError() {
    standin::refuse(__func__, Needs::nothing);
    return standin::forget();
}

hipError_t hipGetDeviceCount(int *count) {
    *count = 0;
    return call(__func__, Needs::device, [&] {
        *count = standin::device_count();
        return hipSuccess;
    });
}

hipError_t hipGetDevice(int *device) {
    return call(__func__, Needs::device, [&] {
        *device = standin::current_device();
        return hipSuccess;
    });
}

hipError_t hipSetDevice(int device) {
    return call(__func__, Needs::device, [&] {
        if (!exists(device))
            return hipErrorInvalidDevice;
        standin::current_device() = device;
        return hipSuccess;
    });
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
    return call(__func__, Needs::no_capture, [&] {
        if (!runs(image))
            return hipErrorNoBinaryForGpu;
        *module = new ihipModule_t{standin::current_device()};
        return hipSuccess;
    });
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
    return call(__func__, Needs::device, [&] {
        if (!module || module->device != standin::current_device())
            return hipErrorInvalidHandle;
        const standin::Kernel *const kernel = standin::find_kernel(name);
        if (!kernel)
            return hipErrorNotFound;
        *function = new ihipModuleSymbol_t{kernel, module->device};
        return hipSuccess;
    });
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function) {
    return call(__func__, Needs::device, [&] {
        if (!function)
            return hipErrorInvalidHandle;
        if (attribute != HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
            std::fprintf(stderr, "standin: function attribute %d is not known\n", static_cast<int>(attribute));
            return hipErrorInvalidValue;
        }
        *value = 0;
        return hipSuccess;
    });
}

hipError_t hipMalloc(void **memory, size_t bytes) {
    return call(__func__, Needs::no_capture, [&] {
        *memory = bytes == 0 ? nullptr : standin::allocate(bytes);
        return bytes == 0 || *memory ? hipSuccess : hipErrorOutOfMemory;
    });
}

hipError_t hipFree(void *memory) {
    return call(__func__, Needs::no_capture,
                [&] { return !memory || standin::release(memory) ? hipSuccess : hipErrorInvalidValue; });
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    return call(__func__, Needs::no_capture, [&] {
        if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault)
            return hipErrorInvalidMemcpyDirection;
        std::memmove(to, from, bytes);
        return hipSuccess;
    });
}

} // extern "C"
