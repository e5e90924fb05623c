// SPDX-License-Identifier: MIT
#include "runtime_state.hpp"

#include <cstdint>

namespace standin {

namespace {

thread_local hipError_t last_error = hipSuccess;

} // namespace

int device_count() { return static_cast<int>(environment("CT3D_STANDIN_DEVICES", 1)); }

int &current_device() {
    thread_local int device = 0;
    return device;
}

const void *owner() { return reinterpret_cast<const void *>(static_cast<uintptr_t>(current_device()) + 1); }

hipError_t refuse(const char *function, Needs needs) {
    const std::lock_guard lock(state().mutex);
    if (const int failure = told_to_fail(function))
        return static_cast<hipError_t>(failure);
    if (needs != Needs::nothing && device_count() == 0)
        return hipErrorNoDevice;
    if (needs == Needs::no_capture && capturing())
        return hipErrorStreamCaptureUnsupported;
    return hipSuccess;
}

hipError_t remember(hipError_t error) {
    if (error != hipSuccess)
        last_error = error;
    return error;
}

hipError_t forget() { return std::exchange(last_error, hipSuccess); }

hipError_t result(Enqueued enqueued) {
    switch (enqueued) {
    case Enqueued::foreign:
        return hipErrorInvalidHandle;
    case Enqueued::implicit:
        return hipErrorStreamCaptureImplicit;
    default:
        return hipSuccess;
    }
}

} // namespace standin
