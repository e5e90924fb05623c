// SPDX-License-Identifier: MIT
// Shapes, strides and counts of a problem, derived from the definition and not from the library.
#pragma once

#include <ct3d/ct3d.h>

#include <array>
#include <cstdint>

namespace ct3d::engine {

// Activations: n, c, z, y, x. Weights: in channel, out channel within its group, z, y, x. Bias: channel, 0, 0, 0, 0.
using Index = std::array<int64_t, 5>;

enum class Role { x, w, bias, y };

Index shape(const ct3d_problem &, Role);
int64_t elements(const ct3d_problem &, Role);
int64_t elements(const Index &shape);
Index strides(const ct3d_problem &, Role); // in elements, by the problem's layouts

// Dimensions from the outermost in memory to the innermost.
using Order = std::array<size_t, 5>;
Order memory_order(const ct3d_problem &, Role);

// What the coordinates add to an element's number, the last dimension counting fastest whatever the layouts are.
Index numbering(const Index &shape);
Index index_of(const Index &shape, int64_t number);

int64_t output_extent(const ct3d_problem &, int axis);

// Products of the whole problem, the same for each op: (input, tap) pairs that land in the output, times channels.
double products(const ct3d_problem &);

// Bytes of the tensors that the op reads and writes.
double tensor_bytes(const ct3d_problem &);

} // namespace ct3d::engine
