// SPDX-License-Identifier: MIT
// Forward on the tensor cores of sm_90a, operands in shared memory.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate phase_wgmma_candidate;

} // namespace ct3d::cuda
