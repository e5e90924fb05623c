// SPDX-License-Identifier: MIT
// Forward where the kernel is as large as the stride, on the tensor cores of sm_90a.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate patch_gemm_candidate;

} // namespace ct3d::cuda
