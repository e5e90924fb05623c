// SPDX-License-Identifier: MIT
// The kernel for groups of few channels, on tensor cores.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate group_gemm_candidate;

} // namespace ct3d::cuda
