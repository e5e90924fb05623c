// SPDX-License-Identifier: MIT
// Forward on the matrix units of CDNA.
#pragma once

#include "../backend.hpp"

namespace ct3d::hip {

extern const Candidate phase_gemm_mfma_candidate;

} // namespace ct3d::hip
