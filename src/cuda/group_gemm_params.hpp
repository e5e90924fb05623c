// SPDX-License-Identifier: MIT
// What the grouped GEMM is launched with, by the host and on the device.
//
// For groups of few channels. A block has a tile of lattice positions of one group, or, with channels last, of some
// whose channels fill sectors of y, and in shared memory: its box, the input that its taps read, eight channels of a
// cell together; the weights of all taps, as operands of the matrix instruction. A warp takes a row of the tile, one
// residue of z and y and eight output channels at a time (with channels last: after the other): it sums 32 positions
// for all residues of x in registers, tap by tap, so that no product is made that the output does not have.
#pragma once

#include "../gpu/divisor.hpp"
#include "../gpu/tensor_params.hpp"
#include "gpu.hpp"

namespace ct3d::cuda {

constexpr int32_t group_threads = 256; // of a block
constexpr int32_t group_blocks = 4;    // of a multiprocessor
constexpr int32_t group_channels = 8;  // inputs that one matrix instruction multiplies, outputs that it makes
constexpr int32_t group_positions = 32;
constexpr int32_t group_most_stride = 8;   // of z and y
constexpr int32_t group_most_stride_x = 2; // whose residues are summed together

// The outputs of a tile's positions for one residue: tap t is the element first_tap + t*tap_step of the kernel, and
// reads the cell first_cell + position - t*in_step of the box.
struct GroupResidue {
    int32_t taps, first_tap, first_cell;
    int32_t earlier; // taps of the residues before it
};

struct GroupAxis {
    int32_t in, out, stride;
    int32_t all_taps; // that some residue has
    int32_t tap_step, in_step;
    int32_t low;       // input index of a box's first cell, for lattice position 0
    int32_t tile, box; // positions, cells
    GroupResidue residue[group_most_stride];
};

// Taps of all residues in the order in which they are multiplied: [residue z][residue y][residue x][tap z][tap y][tap
// x]. The first one of residues of z and y, and how many there are of a residue of x.
constexpr int32_t first_group_tap(const GroupAxis (&axis)[3], const GroupResidue &z, const GroupResidue &y) {
    return axis[2].all_taps * (z.earlier * axis[1].all_taps + z.taps * y.earlier);
}
constexpr int32_t group_taps(const GroupResidue &z, const GroupResidue &y, const GroupResidue &x) {
    return z.taps * y.taps * x.taps;
}

struct GroupGemmParams : TensorAddresses, TensorStrides {
    GroupAxis axis[3];
    int32_t in_channels, out_channels; // of a group
    int32_t joined;                    // groups of a block; several: of a multiple of eight channels each
    int32_t steps;                     // of eight input channels, of a group
    int32_t channel_tiles;             // of eight output channels, of a group
    int32_t taps;                      // of all residues
    int32_t cells;                     // of the box
    int32_t units;                     // rows, residues of z and y; NCDHW: channel tiles
    int32_t plane_bytes;               // of 16 bytes of each cell, and what is read past the last
    int32_t cells_at, box_at, rows_at; // bytes of shared memory: which cell each tap reads; the weights are at 0
    int32_t row_bytes;                 // of what a warp puts together there before it writes
    int32_t span_bytes;                // NCDHW: of a row of one channel; NDHWC: of the block's channels of a cell
    int32_t vectors;                   // NDHWC: they are written 16 bytes at once
    Divisor cell_vectors;              // NDHWC: of a cell
    int32_t wide;                      // NDHWC: eight channels of x can be loaded 16 bytes at once
    int32_t pairs;                     // NDHWC: two channels of y can be stored at once
    Divisor box_x, box_y;              // cells
    Divisor tile_rows, tile_y;         // rows of a tile; of one z
    WideDivisor x_tiles, groups, y_tiles, z_tiles; // groups: of `joined` each
};

} // namespace ct3d::cuda
