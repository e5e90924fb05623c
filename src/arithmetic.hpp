// SPDX-License-Identifier: MIT
// Division of whole numbers with a stated rounding; divisors are positive.
#pragma once

#include <cstdint>

namespace ct3d {

constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

} // namespace ct3d
