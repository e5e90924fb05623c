// SPDX-License-Identifier: MIT
// The data of a case, each value exactly one of the element type; the same for the same seed on any machine.
#pragma once

#include "case.hpp"
#include "geometry.hpp"

namespace ct3d::engine {

// The first operand is what the op reads as x (dy for BACKWARD_DATA), the second what it reads as w (dy for
// BACKWARD_WEIGHTS).
enum class Operand { first, second, bias };

// Fills a dense tensor of the role's shape; returns the largest absolute value.
double fill_tensor(const Case &, uint64_t seed, Operand, Role, void *host);

// Whether the fill says anything of the op; if not, why.
const char *fill_refusal(const Case &); // nullptr if it does

} // namespace ct3d::engine
