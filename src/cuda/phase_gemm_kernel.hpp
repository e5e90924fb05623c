// SPDX-License-Identifier: MIT
// Forward on tensor cores, by mma.sync.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate phase_gemm_candidate;

} // namespace ct3d::cuda
