// SPDX-License-Identifier: MIT
// How the phase GEMM cuts a problem into blocks, and what that is estimated to cost.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "phase_gemm_target.hpp"

#include <array>
#include <optional>
#include <string>

namespace ct3d::gpu {

struct GemmTiling {
    const GemmTileRow *row;
    Extents tile; // lattice positions
    int64_t samples;
    int64_t chunk_words;
    // What follows from these:
    Extents lattice, tiles, box;
    int64_t sample_tiles, out_blocks, chunks, box_rows, box_cells, cell_words, box_bytes, box_buffers, tap_bytes,
        stage_taps;
    bool row_spans;
    int64_t spans, span_bytes, slice, box_offset, ring_offset, output_offset, shared_bytes;
    int64_t blocks; // of the grid
    double seconds; // estimated
};

// The largest part of `extent` up to `most`, such that all parts are about as large.
int64_t even_part(int64_t extent, int64_t most);

GemmMath gemm_math(const Desc &);

// As it stands in the names of kernels.
const char *gemm_math_name(GemmMath);

// Taps of all residues that some position of a tile reads inside the input, on average over the tiles: the others are
// skipped.
double gemm_taps_read(const AxisTable &, int64_t lattice, int64_t positions, int64_t in);

// Input index of the first cell of a box at lattice index 0, for a phase of an axis.
int64_t gemm_low(const PhaseTable &, size_t axis, size_t phase);

// Whether x can be multiplied as it is, if it is aligned to 16 bytes.
bool gemm_takes_input(const Desc &);

// Why a product by phases on tensor cores cannot be had, whatever the tile; empty where it can.
std::string gemm_refusal(const Desc &);

// The tiling with the least estimated time; none if there is none that fits the device.
std::optional<GemmTiling> choose_gemm_tiling(const PlanContext &, const Device &, const GemmTarget &);

} // namespace ct3d::gpu
