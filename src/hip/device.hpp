// SPDX-License-Identifier: MIT
// The HIP devices of this machine.
#pragma once

#include "../gpu/device.hpp"
#include "gpu.hpp"

namespace ct3d::hip {

// The device of a plan; throws Error where it cannot be used.
const Device &device(int32_t index);

// How many there are, at least 1; throws Error with the reason where none can be used.
int32_t device_count();

// A device that need not be usable.
const Device &device_properties(int32_t index);

} // namespace ct3d::hip
