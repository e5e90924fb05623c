// SPDX-License-Identifier: MIT
// The shape of a phase kernel's work: the padded input box, the tiles, the items that threads take, the workspace.
//
// The input of a sample and group is staged as a box [channel][z][y][x], padded with zeros in y and x so that no tap
// leaves it. Lanes are positions of the box's flattened (y, x) plane: output (jy, jx) of a phase sits in lane
// jy*width + jx, and a tap is a constant offset. Lanes that fall on padding columns are computed and dropped.
//
// Where all phases read just the whole input, one tap each (kernel = stride), nothing is padded: all planes are one row
// of lanes, and an item copies its own lanes into panels [tile][channel][lane] instead ("folded"), once for all phases.
#pragma once

#include "../backend.hpp"
#include "isa.hpp"

namespace ct3d::cpu {

struct PhaseGeometry {
    // box, in elements of the compute type
    int64_t low_y, height;  // input rows low_y .. low_y + height - 1
    int64_t low_x, width;   // likewise
    int64_t columns;        // of a lattice row; the rest of the width is padding
    int64_t plane;          // height * width
    int64_t channel_stride; // from one channel's planes to the next's
    int64_t channel_block;  // see TileTask
    int64_t box;            // one sample and group
    bool unpadded;          // the box is just the input
    bool folded;

    // tiles
    int64_t tile_rows;    // output channels
    int64_t tile_vectors; // at most
    int64_t lanes;        // of a vector
    int64_t tile_lanes() const { return tile_vectors * lanes; }
    // Lanes per tile for a run of lanes: as few tiles as will do, each as wide as the others, since a narrow one loads
    // weights for little.
    int64_t even_tile(int64_t run) const;
    int64_t computed_lanes(int64_t rows_of_run) const;

    int32_t threads; // as many as pay

    // items: samples of a batch part x groups x slabs x row chunks x channel chunks
    int64_t samples;      // staged at once
    int64_t slabs;        // output planes; where folded, all of them are one
    int64_t plane_rows;   // lattice rows of an output plane
    int64_t rows;         // of a slab
    int64_t chunk_rows;   // of an item
    int64_t chunk_blocks; // blocks of tile_rows output channels of an item
    int64_t blocks;       // of a group
    bool stream_planes;   // past the caches, since the output is too large to stay in one
    bool stream_rows;     // likewise, where rows are whole cache lines
    bool prefetch;        // rows of the output before they are written
    int64_t emit_blocks;  // whose sums are kept until they are written

    // workspace, in bytes, each part aligned
    size_t compute_size; // of the compute type
    uint64_t bias_bytes, weights_bytes, boxes_bytes;
    uint64_t panels_bytes, taps_bytes, sums_bytes; // per thread
    uint64_t workspace() const;

    int64_t most_taps; // of all phases of x together

    int64_t row_chunks() const { return (rows + chunk_rows - 1) / chunk_rows; }
    int64_t block_chunks() const { return (blocks + chunk_blocks - 1) / chunk_blocks; }
    double computed_multiplications; // padding lanes and rows of tiles included
};

constexpr int64_t cache_line = 64;
constexpr int64_t most_residues = 1024; // along x, kept in lists on a thread's stack

// Estimated seconds.
double phase_cost(const PlanContext &, const PhaseGeometry &);

// Returns why the kernel cannot take the problem; empty if it can.
std::string make_phase_geometry(const PlanContext &, PhaseGeometry &);

} // namespace ct3d::cpu
