// SPDX-License-Identifier: MIT
// What the stand-in for the HIP runtime keeps from call to call.
#pragma once

#pragma GCC visibility push(default)
#include "hip/hip_api.h"
#pragma GCC visibility pop

#include "calls.hpp"
#include "work.hpp"

#include <optional>
#include <utility>

// What the handles of hip_api.h point to.
struct ihipStream_t : standin::Stream {};
struct ihipEvent_t : standin::Event {};
struct ihipGraph : standin::Graph {};
struct hipGraphExec : standin::Graph {};
struct ihipModule_t {
    int device;
};
struct ihipModuleSymbol_t {
    const standin::Kernel *kernel;
    int device;
};

namespace standin {

int device_count();
int &current_device(); // of the calling thread

// Stands for the current device where streams tell their owner.
const void *owner();

enum class Needs { nothing, device, no_capture };

// The result of a call that does not take place: it was told to fail, or something that it needs is missing.
hipError_t refuse(const char *function, Needs);

hipError_t remember(hipError_t); // for hipGetLastError(), unless it is success
hipError_t forget();

hipError_t result(Enqueued);

// Every function of the runtime is one of these.
template <class Body> hipError_t call(const char *function, Needs needs, const Body &body) {
    const hipError_t refused = refuse(function, needs);
    return remember(refused != hipSuccess ? refused : body());
}

} // namespace standin
