// SPDX-License-Identifier: MIT
// The CUDA devices of this machine.
#pragma once

#include "../gpu/device.hpp"
#include "gpu.hpp"

namespace ct3d::cuda {

struct Device : gpu::Device {
    int32_t major, minor; // compute capability
    void *context;        // CUcontext: the primary context, retained

    int32_t compute_capability() const { return 10 * major + minor; } // 90 for 9.0
};

// The device of a plan; throws Error where it cannot be used.
const Device &device(int32_t index);

// How many there are, at least 1; throws Error with the reason where none can be used.
int32_t device_count();

// A device that need not be usable: `context` may be null.
const Device &device_properties(int32_t index);

} // namespace ct3d::cuda
