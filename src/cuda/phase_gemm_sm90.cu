// SPDX-License-Identifier: MIT
// Block tiles that only sm_90 has registers for.
#include "../gpu/phase_gemm.cuh"

namespace ct3d::gpu {

#include "phase_gemm_tiles_sm90.inc"

} // namespace ct3d::gpu
