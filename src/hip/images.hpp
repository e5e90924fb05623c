// SPDX-License-Identifier: MIT
// The device code that the build has compiled and embedded: one code object per architecture and .cu file.
#pragma once

#include <string>

namespace ct3d::hip {

// Whether there is code for an architecture.
bool has_images(const char *arch);

// Those that there is code for, as "gfx90a, gfx942".
std::string image_architectures();

// The code of `name`.cu for an architecture. Throws Error(CT3D_INTERNAL) where there is none.
const void *find_image(const char *arch, const char *name);

} // namespace ct3d::hip
