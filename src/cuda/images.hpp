// SPDX-License-Identifier: MIT
// The device code that the build has compiled and embedded, one image per .cu file.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

// The least compute capability that an image was compiled for, 80 for 8.0.
extern const int32_t oldest_compute_capability;

// The fatbin of `name`.cu. Throws Error(CT3D_INTERNAL) where there is none.
const void *find_image(const char *name);

} // namespace ct3d::cuda
