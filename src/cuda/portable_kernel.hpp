// SPDX-License-Identifier: MIT
// The kernel that takes everything.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate portable_candidate;

} // namespace ct3d::cuda
