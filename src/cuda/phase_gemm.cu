// SPDX-License-Identifier: MIT
// Block tiles for all devices.
#include "phase_gemm.cuh"

namespace ct3d::cuda {

#include "phase_gemm_tiles.inc"

} // namespace ct3d::cuda
