// SPDX-License-Identifier: MIT
// What the direct kernel is launched with: how outputs are cut into tiles, and what a block stages of its inputs.
//
// On each axis, window a is the outputs a*stride - shift + c, c = 0 .. stride-1. A tile is a box of windows of one
// sample and of some output channels. A block stages the input box that its tile reads and the weights as f32 in
// shared memory, collects the sums of the tile there, and writes them out as long contiguous spans.
#pragma once

#include "divisor.hpp"
#include "tensor_params.hpp"

namespace ct3d::gpu {

constexpr int32_t direct_f32 = 1, direct_f16 = 2, direct_bf16 = 3; // as the public enum
constexpr int32_t direct_most_threads = 256;                       // of a block
constexpr int32_t direct_run = 4;                                  // windows along x that a thread computes
constexpr int32_t direct_most_stride = 8;                          // residues that the parameters have room for

// The outputs of a window with one remainder c, where shift is 0.
struct DirectResidue {
    int32_t taps; // 0: only bias
    int32_t first_tap;
    int32_t first_in; // of tap 0 of the tile's first window, in the staged box
};

struct DirectAxis {
    int32_t in, out; // extents
    int32_t kernel;
    int32_t stride, shift;
    int32_t tap_step, in_step; // from one tap of a residue to the next; in_step goes down
    int32_t tiles;
    int32_t windows;   // of a tile
    int32_t box;       // staged extent
    int32_t box_first; // the input at the box's start, from the tile's first window
    DirectResidue residue[direct_most_stride];
};

struct DirectParams : TensorAddresses, TensorStrides {
    int32_t dtype; // direct_f32 ...
    int32_t channels_last;

    DirectAxis axis[3];

    int32_t groups;
    int32_t in_channels, out_channels; // of a group
    int32_t block_groups;              // groups of a tile
    int32_t block_outputs;             // output channels of each of its groups
    int32_t output_blocks;             // tiles that share a group's outputs
    int32_t channel_blocks;            // tiles that share the channels

    int32_t row_pitch, channel_pitch;    // of the staged box
    int32_t tap_pitch;                   // of the staged weights: from one (z, y) pair of taps to the next
    int32_t sums_pitch;                  // from one output channel's sums to the next
    int32_t weights_at, box_at, sums_at; // of shared memory, in f32; the bias is at 0

    int32_t row_lanes_log; // threads that read a row of x, as a power of two; NDHWC: that read a position
    int32_t vector;        // NDHWC: channels that are stored at once

    Divisor box_y, box_z; // extents of the box
    Divisor staged, kernel_x, kernel_y;
    Divisor runs, windows_y;              // of the tile: runs of windows along x, rows
    Divisor items, channel_tiles;         // warps' worth of runs; register tiles of output channels
    Divisor stride_x, stride_y, stride_z; // residues
    Divisor vectors;                      // NDHWC: of one position
    int32_t units;                        // a warp's pieces of work in the block
};

} // namespace ct3d::gpu
