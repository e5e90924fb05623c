// SPDX-License-Identifier: MIT
// Division of whole numbers with a stated rounding, whose divisors are positive; conversions of what is known to fit.
#pragma once

#include <cstdint>

namespace ct3d {

constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

constexpr int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }
constexpr double real(int64_t value) { return static_cast<double>(value); }

} // namespace ct3d
