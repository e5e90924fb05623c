// SPDX-License-Identifier: MIT
// Legal problems drawn at random, small enough to check thousands in a minute.
#pragma once

#include "case.hpp"

namespace ct3d::engine {

// The same case for the same seed and index; to_line() of it and the seed reproduce its run.
Case random_case(uint64_t seed, uint64_t index);

} // namespace ct3d::engine
