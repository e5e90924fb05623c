// SPDX-License-Identifier: MIT
// The data of a case, each value exactly one of the element type; the same for the same seed on any machine.
#pragma once

#include "case.hpp"
#include "geometry.hpp"

namespace ct3d::engine {

// The first operand is what the op reads as x (dy for BACKWARD_DATA), the second what it reads as w (dy for
// BACKWARD_WEIGHTS).
enum class Operand { first, second, bias };

FillValue make_fill(const Case &, uint64_t seed, Operand, Role);

// Fills a dense tensor of the role's shape; returns the largest absolute value.
double fill_tensor(const Case &, uint64_t seed, Operand, Role, void *host);

// No value of the fill is larger in magnitude, and at least 1.
double largest_value(Fill);

// Whether the fill says anything of the op; if not, why.
const char *fill_refusal(const Case &); // nullptr if it does

} // namespace ct3d::engine
