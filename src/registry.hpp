// SPDX-License-Identifier: MIT
// The backends of this build.
#pragma once

#include "backend.hpp"

namespace ct3d {

// AUTO is the CPU. Throws Error(CT3D_INVALID_ARGUMENT) for a number that names no backend.
ct3d_backend_info backend_info(int32_t id);

// The backend, once it is known to have the device; throws Error otherwise.
const Backend &backend_with_device(int32_t id, int32_t device);

} // namespace ct3d
