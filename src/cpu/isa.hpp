// SPDX-License-Identifier: MIT
// The loops that are compiled once per instruction set, as tables of functions; the best that the machine has is used.
#pragma once

#include "../phase.hpp"

#include <span>

namespace ct3d::cpu {

// ---- direct: a whole operation from the problem's own tensors, no workspace

using DirectFn = void (*)(const Desc &, const PhaseTable &, const ct3d_buffers &, int32_t threads);

// ---- phase: a register tile of `rows` output channels by `vectors` vectors of lattice positions (lanes)

template <class T> struct TileTask {
    const T *x;              // lane 0 of input channel 0, before a tap's offset
    const T *w;              // packed weights [tap][channel][row]
    const int64_t *x_offset; // per tap
    const int64_t *w_offset; // per tap
    int64_t taps;
    int64_t channels;
    int64_t channel_block;  // taken through all taps while its input is in the first-level cache
    int64_t channel_stride; // of x
    T *out;                 // [row][lane], sums without bias
    int64_t out_stride;
};

template <class T> using TileFn = void (*)(const TileTask<T> &);

// A tile of two residues of x that read the same inputs, written by turns past the caches, as
//     out[row][2 * lane + residue].
template <class T> struct PairTask {
    const T *x;    // lane 0 of input channel 0
    const T *w[2]; // packed weights of the tap, by residue: [channel][row]
    int64_t channels;
    int64_t channel_stride; // of x
    int64_t rows;           // that are written
    const T *bias;          // by row
    T *out;                 // aligned to a cache line, as are its rows
    int64_t out_stride;     // from one row to the next
};

template <class T> using PairFn = void (*)(const PairTask<T> &);

struct TileShape {
    size_t rows;
    size_t vectors; // the most for that many rows; tiles exist for 1 .. vectors
};

template <class T> struct TileSet {
    size_t lanes;                      // of a vector
    std::span<const TileShape> shapes; // by falling rows, ending with 1
    TileFn<T> (*find)(size_t rows, size_t vectors);
    PairFn<T> (*find_pair)(size_t vectors); // with as many rows as the first shape
};

// Runs of outputs along x, one per channel: output q of channel c is
//     sums[q % stride][c * sums_stride + q / stride] + bias[c],
// where a null pointer among the sums stands for a residue without taps, and null sums for outputs that are only bias.
template <class T> struct EmitTask {
    void *out;
    int64_t step, channel_stride; // of `out` along x and channels, in elements
    int64_t count, channels;
    const T *const *sums;
    int64_t stride, sums_stride;
    const T *bias;
    bool stream; // write around the caches where whole cache lines are written
};

template <class T> using EmitFn = void (*)(const EmitTask<T> &);

// Elements of the tensors' type, `stride` apart, to T, side by side.
template <class T> using StageFn = void (*)(const void *from, int64_t stride, T *to, int64_t count);

// Weights of one input channel and a block of output channels, to[tap * step + row], zero in rows past `channels`.
template <class T> struct PackTask {
    const void *from;
    int64_t channel_stride, tap_stride; // of `from`, in elements
    int64_t channels, rows, taps;
    T *to;
    int64_t step;
};

template <class T> using PackFn = void (*)(const PackTask<T> &);

template <class T> struct PhaseLoops {
    TileSet<T> tiles;
    EmitFn<T> (*emit)(Dtype, Layout);
    StageFn<T> (*stage)(Dtype);
    PackFn<T> (*pack)(Dtype);
    void (*finish)(); // after a thread's last emit: orders what was streamed before what comes next
};

struct Isa {
    const char *name;
    double flops_per_thread; // an estimate for cost models
    DirectFn (*direct)(Op, Dtype);
    const PhaseLoops<float> &phase_f32;
    const PhaseLoops<double> &phase_f64;
};

const Isa &best_isa();

} // namespace ct3d::cpu
