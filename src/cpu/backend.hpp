// SPDX-License-Identifier: MIT
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu {

extern const Backend backend;

} // namespace ct3d::cpu
