// SPDX-License-Identifier: MIT
// What the kernel for one output channel (of a group), kernel 4 and stride 2 is told, by the host and on the device.
//
// Along z and y, window w stands for the outputs 2w + r - padding with r = 0, 1, each of which has two taps: 2t + r
// reads input w - t. Along x each input position is multiplied by all four taps, and outputs add up the products of
// neighbouring positions. So the matrix product is of positions along x by (channel, input row), and of these by
// (residue of z, residue of y, tap of x).
//
// A warp owns a window of y and a piece of x, a block some warps of one sample and group: a column. It walks along z:
// each input plane is staged once, and ends the sums of one window while it begins those of the next. The windows of
// all columns are one list, of which each block has an equal part.
#pragma once

#include "../gpu/divisor.hpp"
#include "../gpu/phase_gemm_params.hpp"
#include "../gpu/tensor_params.hpp"
#include "gpu.hpp"

#include <cstdint>

namespace ct3d::cuda {

constexpr int single_output_most_warps = 11; // of a block, and of a multiprocessor: 184 registers for each thread
constexpr int single_output_most_stages = 4;
constexpr int single_output_cell_bytes = 128; // of a position: its channels in a stage, which is a chunk of them
constexpr int single_output_steps = 4;        // matrix products of a chunk
constexpr int single_output_halo = 8;         // positions beside a piece of x that the neighbouring pieces write

// The same for any type: a chunk is 64 channels of two bytes or 32 of four.
constexpr int single_output_chunk_weights = single_output_steps * 4 * 512; // bytes

struct SingleOutputAxis {
    int32_t in, out, padding;
};

// Shared memory: the weights of all chunks, then the stages, [piece][row][position, channel].
struct SingleOutputParams : TensorAddresses, TensorStrides {
    SingleOutputAxis axis[3];
    int32_t in_channels; // of a group
    int32_t chunks;
    int32_t windows_y;
    int32_t block_windows, block_pieces; // a block has a warp for each of their pairs
    Divisor rows;                        // that a block stages of a piece
    int32_t first_position, piece_step;  // where the first piece begins, and from one to the next
    int32_t pieces;
    WideDivisor windows_z, x_blocks, y_blocks, samples; // the list of windows, the fastest first; then groups
    int32_t block_list, longer_blocks;                  // windows of a block; the first ones have one more
    int32_t stages;
    int32_t row_bytes, stage_bytes, weight_bytes;
    int32_t wide;    // 16 bytes of x can be copied at once
    int32_t two_out; // two outputs along x can be stored at once
};

} // namespace ct3d::cuda
