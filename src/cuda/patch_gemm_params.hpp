// SPDX-License-Identifier: MIT
// What the patch GEMM for sm_90a is told, by the host and on the device.
//
// Where the kernel is as large as the stride, each cell of the input becomes a patch of outputs that no other cell
// adds to: one matrix product, of cells by input channels and of input channels by (output channel, tap). Cells are the
// rows of the product, taken from registers, so that x is multiplied in the order in which it lies in memory; columns
// are ordered such that what a thread has of a cell is contiguous in y, where it goes straight from registers.
//
// A block keeps the weights of some columns in shared memory, which it brings into order by itself, and goes through
// tiles of cells. One warpgroup loads entries (some channels of a tile) into rings; the others multiply and write, each
// its own tiles from its own ring.
#pragma once

#include "../gpu/divisor.hpp"
#include "../gpu/phase_gemm_params.hpp"
#include "../gpu/tensor_params.hpp"
#include "gpu.hpp"
#include "tensor_map_params.hpp"
#include "wgmma_operand.hpp"

#include <cstdint>

namespace ct3d::cuda {

constexpr int patch_warpgroups = 3; // that multiply
constexpr int patch_threads = 128 * (patch_warpgroups + 1);
constexpr int patch_cells = 64; // of a tile: consecutive ones of a sample
constexpr int patch_row_bytes = 128;
constexpr int patch_entry_bytes = patch_cells * patch_row_bytes;

constexpr int patch_depth(GemmMath math) { return wgmma_step_bytes / 4 * gemm_packing(math); } // of a step
// Of an entry:
constexpr int patch_channels(GemmMath math) { return patch_row_bytes / gemm_element_bytes(math); }
constexpr int patch_steps(GemmMath math) { return patch_channels(math) / patch_depth(math); }  // matrix instructions
constexpr int patch_slab_bytes(GemmMath math) { return patch_steps(math) * wgmma_step_bytes; } // of a column's weights

// Columns, of one group. Channels first: [output channel][tap of z][of y][of x], the latter being two. Channels last:
// [block of output channels][tap of z][of y][of x][channel], the last such that each of four threads has 16 bytes of y.
constexpr int patch_vector(GemmMath math) { return 16 / gemm_element_bytes(math); } // elements
constexpr int patch_block_channels(GemmMath math) { return 4 * patch_vector(math); }

// What 16 bytes of w are.
//   scattered: not columns of one slice, or not aligned
//   columns:   neighbouring columns
//   taps:      taps of one output channel, or all taps of some, where slices have whole channels
enum class PatchWeightsOrder { scattered, columns, taps };

struct PatchShared { // bytes from the first multiple of wgmma_row_alignment
    int32_t bias;    // of each column
    int32_t ring, barriers;
};

// Weights in shared memory, from there on: [entry of channels][plane][column][patch_slab_bytes], swizzled.
struct PatchGemmParams : TensorAddresses, TensorStrides {
    TensorMap x_map;                   // where `copies`
    int32_t in_channels, out_channels; // of a group
    int32_t cells;                     // of a sample
    WideDivisor in_plane, in_row;      // cells of a plane, of a row
    int32_t z_bits, y_bits;            // strides 1, 2 or 4, as powers of two
    int32_t slice_columns;             // of a block
    WideDivisor slices, group_slices;  // of all groups, of one
    WideDivisor sample_tiles;
    int32_t tiles, tile_step; // of all samples, and from one tile of a block to the next
    int32_t chunks;           // entries of a tile
    int32_t warpgroups;       // that multiply
    WideDivisor entries;      // slots of the ring of each
    PatchShared shared;
    int32_t copies;  // whether the copy engine loads entries; else threads do
    int32_t vectors; // elements that may be written at once: channels first 4, 2 or 1, channels last 16 bytes or 1
    PatchWeightsOrder w_order;
};

} // namespace ct3d::cuda
