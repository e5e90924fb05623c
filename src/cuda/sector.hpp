// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ct3d::cuda {

// What memory is written in; part of one costs as much.
constexpr int32_t sector_bytes = 32;

} // namespace ct3d::cuda
