// SPDX-License-Identifier: MIT
// What the phase GEMM is told of a vendor's matrix units: its block tiles, and rates for estimates.
#pragma once

#include "phase_gemm_params.hpp"

#include <span>

namespace ct3d::gpu {

// A row of a vendor's table of block tiles.
struct GemmTileRow {
    GemmMath math;
    int32_t m, n; // fragments of a warp: of 16 positions, of so many output channels:
    int32_t fragment_channels;
    int32_t warps_m, warps_n, warp; // threads of one
    int32_t blocks;                 // of a multiprocessor, as registers allow
    const char *image;
    int32_t only_arch; // of the devices that have code for it, see GemmTarget; 0: all
    const char *kernel;

    int32_t positions() const { return 16 * m * warps_m; }
    int32_t channels() const { return fragment_channels * n * warps_n; }
    int32_t warps() const { return warps_m * warps_n; }
    int32_t threads() const { return warp * warps(); }
};

struct GemmTarget {
    const char *pack_image;
    std::span<const GemmTileRow> rows;
    int32_t arch;
    GemmMath f32; // how f32 is multiplied
    // Of a multiprocessor: cycles per second; cycles between two instructions of a warp; cycles that the product of 16
    // positions, 8 output channels and a step keeps a matrix unit busy; schedulers, with a unit each.
    double clock, issue_cycles, matrix_cycles, schedulers;
};

} // namespace ct3d::gpu
