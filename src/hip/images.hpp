// SPDX-License-Identifier: MIT
// The device code that the build has compiled and embedded: one code object per architecture and .cu file.
#pragma once

#include <string>

namespace ct3d::hip {

struct Device;

// Whether there is code for an architecture.
bool has_code(const char *arch);

// Those that there is code for, as "gfx90a, gfx942".
std::string code_architectures();

// Whether there is code of `name`.cu for the device.
bool has_image(const Device &, const char *name);

// That code. Throws Error(CT3D_INTERNAL) where there is none.
const void *find_image(const Device &, const char *name);

} // namespace ct3d::hip
