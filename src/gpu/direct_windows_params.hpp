// SPDX-License-Identifier: MIT
// What the direct kernel is launched with where stride and kernel are compiled in.
//
// On each axis, window a is the outputs a*stride - shift + c, c = 0 .. stride-1. A thread computes a few windows (an
// item) of a few output channels of one group (a cell) in registers, and reads its inputs from global memory; only
// weights are staged.
#pragma once

#include "divisor.hpp"
#include "tensor_params.hpp"

namespace ct3d::gpu {

constexpr int32_t windows_most_threads = 128; // of a block
constexpr int32_t windows_blocks = 3;         // of a multiprocessor
constexpr int32_t windows_outputs_x = 4;      // of an item along x
constexpr int32_t windows_tap_words = 32;     // NDHWC: of one tap's staged weights, of all cells

struct WindowsAxis {
    int32_t in, out; // extents
    int32_t shift;
    int32_t first_in; // window a reads the inputs a + first_in and on
};

struct WindowsParams : TensorAddresses {
    int64_t x_sample, x_channel; // distances in elements
    int32_t x_z, x_y, x_x;       // an item's inputs, and its outputs, are less than 2^31 apart
    int64_t y_sample;
    int32_t y_channel, y_z, y_y, y_x;
    int32_t w_ci, w_co, w_tap;

    WindowsAxis axis[3];

    int32_t in_channels, out_channels; // of a group
    int32_t cells;                     // of the whole problem
    int32_t items_z;
    int32_t steps;       // items that a thread computes in turn
    int32_t weights;     // staged at a time
    int32_t exchange_at; // of shared memory, in f32; the weights are at 0
    int32_t vector;      // four outputs may be stored at once
    int32_t lines;       // NCDHW: the items of a warp lie in one row of one channel

    Divisor block_cells, block_items;
    Divisor staged;                 // input channels at a time
    WideDivisor runs, items_y;      // items along x and y
    WideDivisor tiles;              // cells of a group
    WideDivisor cell_blocks, parts; // blocks for all cells; blocks that share a cell's items
};

} // namespace ct3d::gpu
