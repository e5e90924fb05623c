// SPDX-License-Identifier: MIT
// AMD GPUs as a backend.
#pragma once

#include "../backend.hpp"

namespace ct3d::hip {

extern const Backend backend;

} // namespace ct3d::hip
