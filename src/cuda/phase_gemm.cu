// SPDX-License-Identifier: MIT
// Block tiles for all devices.
#include "../gpu/phase_gemm.cuh"

namespace ct3d::gpu {

#include "phase_gemm_tiles.inc"

} // namespace ct3d::gpu
