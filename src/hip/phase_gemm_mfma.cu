// SPDX-License-Identifier: MIT
// The phase GEMM on the matrix units of CDNA.
#include "../gpu/phase_gemm.cuh"

namespace ct3d::gpu {

#include "phase_gemm_mfma_tiles.inc"

} // namespace ct3d::gpu
