// SPDX-License-Identifier: MIT
// What the kernel for few output channels is launched with.
//
// A block owns a range of output planes and of output rows, of one sample and group. It walks through the input planes
// that reach them: the product of the weights, all (output channel, tap) pairs by input channels, with the rows of a
// plane is made on tensor cores, and each output then adds up the products of its own taps. Input channels are held
// as words, of one f32 or two 16-bit channels.
#pragma once

#include "../gpu/divisor.hpp"
#include "../gpu/tensor_params.hpp"
#include "gpu.hpp"

namespace ct3d::cuda {

constexpr int32_t few_outputs_threads = 256;
constexpr int32_t few_outputs_most_stride = 8; // residues that the parameters have room for
constexpr int32_t few_outputs_chunk = 64;      // input channels that are staged at a time

// The outputs o = a*stride + residue: tap t is kernel element first_tap + t*tap_step and reads the input
// a + first_in - t*in_step.
struct FewOutputsResidue {
    int32_t taps, first_tap, first_in;
};

struct FewOutputsAxis {
    int32_t in, out; // extents
    int32_t kernel, stride, padding, dilation;
    int32_t tap_step, in_step;
    FewOutputsResidue residue[few_outputs_most_stride];
};

struct FewOutputsParams : TensorAddresses, TensorStrides {
    int32_t channels_last;
    int32_t wide; // 16 bytes of x can be loaded at once

    FewOutputsAxis axis[3];

    int32_t groups;
    int32_t in_channels, out_channels; // of a group
    int32_t words;                     // of an input position, a multiple of 8
    int32_t slices;                    // taps along z that are multiplied in one pass
    int32_t passes;                    // over a plane
    int32_t pairs;                     // (output channel, tap) pairs of a pass, padded to a multiple of 32

    int32_t planes, rows; // outputs of a block: along z; windows of `stride` rows along y
    int32_t plane_blocks, row_blocks;
    int32_t reach_low, reach_high; // input rows of windows a .. b: a + reach_low .. b + reach_high
    int32_t ring;                  // output planes that are open at once

    int32_t weights_pitch;                   // from one pair to the next
    int32_t product_pitch;                   // from one word, or pair, to the next: 8 more than a multiple of 32
    int32_t sums_pitch;                      // from one open plane's channel to the next
    int32_t inputs_at, products_at, sums_at; // of shared memory, in words; the weights are at 0

    Divisor vectors;                    // NCDHW: 16-byte pieces of the most rows that a block stages
    Divisor positions;                  // elements of the same
    Divisor chunk_words, chunk_vectors; // NDHWC: of one position
    Divisor out_x, stride_y, stride_x;
};

} // namespace ct3d::cuda
