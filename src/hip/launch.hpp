// SPDX-License-Identifier: MIT
// Modules, functions and launches of the HIP runtime, as kernels use them.
#pragma once

#include "../gpu/driver.hpp"

namespace ct3d::hip {

extern const gpu::Driver launch_driver;

} // namespace ct3d::hip
