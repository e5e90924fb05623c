// SPDX-License-Identifier: MIT
#include "phase_wgmma.cuh"

namespace ct3d::cuda {

#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_KERNEL(f16, residues, n)
#include "phase_wgmma_rows.inc"
#undef CT3D_WGMMA_ROW

} // namespace ct3d::cuda
