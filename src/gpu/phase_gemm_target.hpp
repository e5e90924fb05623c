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

// A row from an entry of a table, after what all entries of the table have in common.
#define CT3D_GEMM_ROW(image, only_arch, fragment_channels, warp, math, m, n, warps_m, warps_n, blocks)                 \
    {GemmMath::math,                                                                                                   \
     m,                                                                                                                \
     n,                                                                                                                \
     fragment_channels,                                                                                                \
     warps_m,                                                                                                          \
     warps_n,                                                                                                          \
     warp,                                                                                                             \
     blocks,                                                                                                           \
     image,                                                                                                            \
     only_arch,                                                                                                        \
     "ct3d_phase_gemm_" #math "_" #m "x" #n "_" #warps_m "x" #warps_n},

// What 32 threads spend on the product of 16 positions, 8 output channels and a step: instructions, and cycles in which
// their matrix unit is busy.
struct GemmProduct {
    double instructions, cycles;
};

struct GemmTarget {
    const char *pack_image;
    std::span<const GemmTileRow> rows;
    int32_t arch;
    GemmMath f32_math; // how f32 is multiplied
    // Of a multiprocessor: cycles per second; cycles between two instructions of a warp; schedulers, with a matrix unit
    // each.
    double clock, issue_cycles, schedulers;
    GemmProduct f16, bf16, tf32, f32;

    const GemmProduct &product(GemmMath math) const {
        switch (math) {
        case GemmMath::f16:
            return f16;
        case GemmMath::bf16:
            return bf16;
        case GemmMath::tf32:
            return tf32;
        default:
            return f32;
        }
    }
};

} // namespace ct3d::gpu
