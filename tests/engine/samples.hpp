// SPDX-License-Identifier: MIT
// Which elements of a tensor too large to check whole are checked.
#pragma once

#include "geometry.hpp"

#include <vector>

namespace ct3d::engine {

// `count` different elements of a tensor that has more: every corner of its five dimensions, elements on each edge of
// its box, elements that a tap reaches, and others. The same for the same seed.
std::vector<Index> sample(const ct3d_problem &, Role, int64_t count, uint64_t seed);

} // namespace ct3d::engine
