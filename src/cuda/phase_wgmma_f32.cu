// SPDX-License-Identifier: MIT
#include "phase_wgmma.cuh"

namespace ct3d::cuda {

#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_KERNEL(f32, residues, n)
#include "phase_wgmma_rows_f32.inc"
#undef CT3D_WGMMA_ROW

} // namespace ct3d::cuda
