// SPDX-License-Identifier: MIT
// Modules, functions and launches of the CUDA driver, as kernels use them.
#pragma once

#include "../gpu/driver.hpp"

namespace ct3d::cuda {

extern const gpu::Driver launch_driver;

} // namespace ct3d::cuda
