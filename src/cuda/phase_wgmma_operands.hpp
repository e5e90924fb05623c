// SPDX-License-Identifier: MIT
// How the phase GEMM for sm_90a divides the taps and channels of a problem, before any tile is chosen.
#pragma once

#include "../backend.hpp"
#include "phase_wgmma_params.hpp"

#include <array>

namespace ct3d::cuda {

// Whether a product can have such rows.
bool wgmma_has_residues(const PlanContext &, WgmmaResidues);

// Widths of a slab that waste little of it, the widest first; 0: none. The narrower one leaves room for larger tiles.
std::array<int32_t, 2> wgmma_slabs(const Desc &);

// With as many tiles of 64 rows as the output channels need.
WgmmaOperands make_wgmma_operands(const PlanContext &, WgmmaResidues, int32_t slab_bytes);

// Matrix instructions of a warpgroup for one tap of all slabs and one plane.
int64_t wgmma_steps(const WgmmaOperands &);

// Bytes of the packed input of a cell.
int64_t wgmma_packed_cell(const Desc &, const WgmmaOperands &);

// Whether x can be multiplied as it is, if it is aligned to 16 bytes.
bool wgmma_takes_input(const Desc &);

} // namespace ct3d::cuda
