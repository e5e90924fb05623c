// SPDX-License-Identifier: MIT
// How the phase GEMM for sm_90a cuts a problem into jobs, and what that is estimated to cost.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "phase_wgmma_operands.hpp"

#include <optional>

namespace ct3d::cuda {

// A row of phase_wgmma_rows.inc.
struct WgmmaRow {
    GemmMath math;
    WgmmaResidues residues;
    int32_t n;          // columns of a warpgroup's product
    const char *kernel; // its name without the layout
};

// How many jobs there are along each dimension; residues: 1 where a job has them all.
struct WgmmaCuts {
    int64_t y_residues, z_residues, row_tiles, groups, x, y, z, samples;
    int64_t full_y, full_z; // of y and z, those where all residues with taps have outputs
    int64_t z_planes;       // of a job

    int64_t jobs(int64_t of_y, int64_t of_z) const {
        return y_residues * z_residues * row_tiles * groups * x * of_y * of_z * samples;
    }
};

struct WgmmaTiling {
    const WgmmaRow *row;
    WgmmaOperands operands;
    WgmmaTile tile;
    WgmmaShared shared;
    WgmmaOutput out;
    WgmmaCuts cuts;
    int64_t shared_bytes; // of a block
    bool aligned_spans;   // outputs in shared memory begin and end at sectors where y does
    double seconds;       // estimated
};

// The tiling with the least estimated time; none if there is none that fits the device.
std::optional<WgmmaTiling> choose_wgmma_tiling(const PlanContext &, const Device &);

} // namespace ct3d::cuda
