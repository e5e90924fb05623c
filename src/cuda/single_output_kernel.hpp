// SPDX-License-Identifier: MIT
// The kernel for one output channel of a group, kernel 4 and stride 2, on tensor cores.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate single_output_candidate;

} // namespace ct3d::cuda
