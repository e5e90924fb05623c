// SPDX-License-Identifier: MIT
// What the phase GEMM and its packing of weights are told, by the host and on the device.
//
// A block computes a tile of lattice positions (samples, z, y, x) for one residue of z and a block of output channels.
// It keeps the input that all taps of the tile read, its box, in shared memory with channels last: [sample][z][y][x]
// [words], a word being one f32 or two 16-bit elements of neighbouring channels. One tap's operand is then the box
// shifted by the tap. The box is copied from a tensor with channels last whose elements are operands already: x itself
// where it is one, or else the packed input, which a launch before makes together with the packed weights.
#pragma once

#include "divisor.hpp"

#include <cstdint>

namespace ct3d::gpu {

constexpr int phase_gemm_most_stride = 8; // of an axis, and so residues

// The element types of tensors and products. In the f32 mode each f32 is the sum of three bfloat16, each of which is a
// plane of words; single is f32 where matrix instructions multiply it.
enum class GemmMath { f16, bf16, tf32, f32, single };

constexpr int gemm_planes(GemmMath math) { return math == GemmMath::f32 ? 3 : 1; }
// Channels in a word.
constexpr int gemm_packing(GemmMath math) { return math == GemmMath::tf32 || math == GemmMath::single ? 1 : 2; }
constexpr int gemm_element_bytes(GemmMath math) { return math == GemmMath::f16 || math == GemmMath::bf16 ? 2 : 4; }

constexpr int gemm_step_words = 8;        // of a position that are multiplied at once
constexpr int gemm_fragment_bytes = 512;  // weights of 16 output channels and a step
constexpr int gemm_ring_stages = 3;       // each holds the weights of some taps:
constexpr int gemm_stage_bytes = 8 << 10; // at most, where one tap has no more

// One residue of an axis that has taps.
struct GemmPhase {
    int32_t out; // the residue, which is its first output
    int32_t taps;
    int32_t first_in; // input index of tap 0 at lattice index 0
    int32_t low;      // input index of a box's first cell at lattice index 0
    int32_t earlier;  // taps of the phases before it
    int32_t first_tap;
};

struct GemmAxis {
    int32_t in, out, stride, kernel;
    int32_t tap_step; // of the kernel, from one tap of a phase to the next
    int32_t in_step;  // of the input, from one tap down to the next
    int32_t phases, all_taps;
    int32_t lattice;   // indices of the whole axis
    int32_t tiles;     // of the whole axis
    Divisor tile, box; // positions of a tile, cells of a box
    GemmPhase phase[phase_gemm_most_stride];
};

struct GemmChannels {
    int32_t in, out; // of a group
    int32_t groups;
    int32_t out_blocks;  // blocks of output channels in a group
    int32_t chunks;      // parts of the input channels that are in a box at once
    int32_t chunk_words; // of a part, per plane: a multiple of gemm_step_words
};

// Where a box is copied from: [sample][z][y][x][group][chunk][quad], with strides in bytes; a quad is four words.
struct GemmInput {
    const void *x;
    int64_t sample, group, chunk;
    int32_t step[3];
    int32_t quads; // of a group; a chunk's quads past them are zero
};

// Tables that a block makes for itself at the start of shared memory: bias of its channels (f32), then one of these for
// each row of the box and each position of the tile.
struct GemmPlace {
    int32_t offset;         // of the position's output for residues 0, see GemmOutput
    uint8_t y_room, x_room; // residues of y and x for which there is an output; 0: none
    uint8_t start;          // of its span in y, modulo 16
};
using GemmRow = int64_t; // bytes from the tile's sample in the input; negative: outside

struct PhaseGemmParams {
    GemmInput input;
    const void *weights, *bias; // packed weights; bias: null where there is none
    void *y;
    GemmAxis axis[3];
    GemmChannels channels;
    int64_t y_sample, y_channel, y_step[3]; // strides, in elements
    int32_t batch;
    Divisor tile_samples;
    int32_t tile_positions;         // samples * z * y * x
    int32_t box_rows;               // samples * z * y
    Divisor cell_quads;             // of a cell of the box, in all planes
    int32_t cell_words;             // from one cell to the next: an odd multiple of 4, so that rows use all banks
    int32_t box_bytes, box_buffers; // two: the next chunk is copied while one is multiplied
    int32_t box_offset, ring_offset, output_offset; // bytes of shared memory, after the tables
    int32_t stage_taps;                             // of a stage of the ring
    // Output with channels first: a span is what a tile writes of one channel, sample and z without a gap, or, with
    // row spans, of one row; then the rows of one residue of y are written at once.
    int32_t spans;      // of one channel
    int32_t span_bytes; // from one to the next in shared memory
    int32_t row_spans;
    int32_t slice; // output channels that are written at once
    int32_t channels_last;
    int32_t y_aligned; // 16 bytes at once, channels last
};

// Packed weights: [group][block of output channels][phase z][phase y][phase x][chunk][tap z][tap y][tap x]
// [step][plane][16 channels][lane][4 words].
struct GemmPackWeights {
    const void *w;
    void *packed;
    GemmAxis axis[3];
    int64_t w_in, w_out, w_step[3]; // strides, in elements
    int32_t block_channels;         // output channels of a block
    int32_t taps_per_thread;
    int64_t warps;
    int32_t channels_last; // order of output channels in a fragment, see gemm_channel()
};

// How many taps of packed weights a block of output channels has, and which of them one is.
constexpr int64_t gemm_packed_taps(const GemmAxis (&axis)[3], int32_t chunks) {
    return int64_t{axis[0].all_taps} * axis[1].all_taps * axis[2].all_taps * chunks;
}
struct GemmTap {
    int32_t phase[3], chunk, tap[3];
};
constexpr int32_t gemm_packed_tap(const GemmAxis (&axis)[3], int32_t chunks, const GemmTap &t) {
    const GemmPhase &z = axis[0].phase[t.phase[0]], &y = axis[1].phase[t.phase[1]], &x = axis[2].phase[t.phase[2]];
    const int32_t before =
        z.earlier * axis[1].all_taps * axis[2].all_taps + z.taps * (y.earlier * axis[2].all_taps + y.taps * x.earlier);
    return before * chunks + (t.chunk * z.taps + t.tap[0]) * (y.taps * x.taps) + t.tap[1] * x.taps + t.tap[2];
}

// Packed input: [sample][z][y][x][group][chunk][plane][word].
struct GemmPackInput {
    const void *x;
    void *packed;
    int64_t cells;                 // of a sample
    int64_t sample, channel, cell; // strides, in elements
    int64_t threads;               // each packs one step of one cell
    int32_t channels_last;
};

// The first blocks pack weights, the others input.
struct GemmPackParams {
    GemmChannels channels;
    GemmPackWeights weights;
    GemmPackInput input;
    uint32_t weight_blocks;
};

constexpr int64_t gemm_table_bytes(int64_t channels, int64_t box_rows, int64_t positions) {
    const int64_t bytes = channels * 4 + box_rows * static_cast<int64_t>(sizeof(GemmRow)) +
                          positions * static_cast<int64_t>(sizeof(GemmPlace));
    return (bytes + 127) / 128 * 128;
}

constexpr int gemm_pack_threads = 128;

// Which output channel of a block stands in a column of a fragment, of whose columns a lane has `own` neighbours. With
// channels last, the order lets a lane hold 16 bytes, `vector` elements, of neighbouring channels.
constexpr int gemm_channel(int own, int fragment, int column, int vector, bool channels_last) {
    if (!channels_last)
        return 4 * own * fragment + column;
    const int parts = vector / own; // fragments that share a run of 4 lanes * vector channels
    return fragment / parts * 4 * vector + column / own * vector + fragment % parts * own + column % own;
}

} // namespace ct3d::gpu
