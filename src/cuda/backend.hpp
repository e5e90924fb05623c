// SPDX-License-Identifier: MIT
// NVIDIA GPUs as a backend.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Backend backend;

} // namespace ct3d::cuda
