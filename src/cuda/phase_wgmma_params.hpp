// SPDX-License-Identifier: MIT
// What the phase GEMM for sm_90a and its packing are told, by the host and on the device.
//
// A block walks along z over tiles of lattice positions. A tile's box, the input that its taps read, lies in shared
// memory with channels last, one row per cell [y][sample][x], so that the operand of a tap is the box from another row
// on. A row holds one slab of input channels, swizzled as the matrix instruction reads it. Output channels are the
// rows of the product, positions its columns; columns between the tile's rows of x are computed and not written.
//
// Two warps load, by the copy engine: one entries (one slab of the box at one z) into a ring, the other stages (the
// weights of one slab of some taps of x) into another. Two warpgroups multiply and write: other rows of y, or other
// output channels. With channels first, two more warps write planes and row spans that are only bias and, where that is
// faster, what the warpgroups have put together.
#pragma once

#include "../gpu/divisor.hpp"
#include "../gpu/phase_gemm_params.hpp"
#include "gpu.hpp"
#include "sector.hpp"
#include "tensor_map_params.hpp"
#include "wgmma_operand.hpp"

#include <cstdint>

namespace ct3d::cuda {

constexpr int wgmma_rows = 64;                              // of a product: of one warpgroup's output channels
constexpr int wgmma_warpgroups = 2;                         // that multiply
constexpr int wgmma_threads = 128 * (wgmma_warpgroups + 1); // the last warpgroup loads

constexpr int wgmma_last_columns = 128; // that are written at once with channels last
constexpr int wgmma_last_pitch(int element_bytes) { return wgmma_rows * element_bytes + 16; } // of a column, in bytes

// Whether sums of so many columns leave registers for a warp of its own to write spans, or row spans of bias.
constexpr bool wgmma_hands_over(GemmMath math, int columns) { return math != GemmMath::f32 || columns <= 72; }

// What the rows of a product stand for.
//   one: up to 64 output channels, for one residue of x at a time
//   two: the same; two sets of sums, for two residues of x
enum class WgmmaResidues { one, two };

// Residues 0 .. stride-1 of an axis.
struct WgmmaPhase {
    int32_t taps;    // 0: outputs are only bias
    int32_t first;   // cell of the box that tap 0 of lattice position 0 of the tile reads; tap t: t * in_step before it
    int32_t earlier; // taps of the residues before it
    int32_t kernel;  // tap 0 of the residue, as an index of the kernel; tap t: t * tap_step after it
};

struct WgmmaAxis {
    int32_t in, out, stride;
    int32_t lattice;          // positions: out / stride, rounded up
    WideDivisor in_step;      // cells from one tap of a residue down to the next
    int32_t tap_step;         // of the kernel, from one tap of a residue to the next
    int32_t low;              // input index of a box's first cell for lattice position 0
    int32_t reach;            // cells of a box besides the tile's positions
    int32_t all_taps, kernel; // taps that some residue reads, extent of the kernel
    WgmmaPhase phase[phase_gemm_most_stride];
};

// Residues of x that are multiplied together: one, or two.
struct WgmmaPass {
    int32_t residues; // how many
    int32_t residue[2];
    int32_t taps;    // stages of weights for a slab, a tap of z and one of y
    int32_t earlier; // of the passes before
};

// Packed weights: stages in the order in which they are multiplied,
// [group][64 rows][residue z][residue y][pass][slab][tap z][tap y][residue of the pass][tap x][plane][row][slab_bytes],
// each plane of a stage swizzled (see wgmma_swizzle()); input channels past the last are zero, and so are rows of
// output channels past it. Rows without an output channel of their own are not written.
// Packed input: [sample][z][y][x][group][plane][slab_elements * slabs, cut to whole steps].
struct WgmmaOperands {
    WgmmaAxis axis[3];
    WgmmaPass pass[phase_gemm_most_stride];
    int32_t passes, pass_taps; // pass_taps: of all passes
    WgmmaResidues residues;
    int32_t groups, in_channels, out_channels; // channels of a group
    int32_t row_tiles;                         // of 64 rows, of a group
    int32_t warp_channels;                     // of a warp's 16 rows: 16; or 8, so that all warps have some
    int32_t slabs, slab_bytes;                 // 32, 64 or 128
    int32_t slab_elements, plane_elements;     // plane_elements: of a group in one plane, a multiple of a step
    int32_t last_steps;                        // matrix instructions of the last slab; the others have slab_bytes / 32
    int32_t stage_bytes;                       // planes * 64 * slab_bytes
};

// Output channels of a tile of 64 rows.
constexpr int32_t wgmma_tile_channels(const WgmmaOperands &o) { return 4 * o.warp_channels; }

// How many taps of weights a tile of 64 rows has, and which of them the first one of a pass is; those of the pass
// follow, by slab, tap of z, tap of y, and then as above.
constexpr int64_t wgmma_stages(const WgmmaOperands &o) {
    return int64_t{o.axis[0].all_taps} * o.axis[1].all_taps * o.pass_taps * o.slabs;
}
constexpr int32_t wgmma_first_stage(const WgmmaOperands &o, int32_t z_residue, int32_t y_residue, const WgmmaPass &x) {
    const WgmmaPhase &z = o.axis[0].phase[z_residue], &y = o.axis[1].phase[y_residue];
    return o.slabs *
           (z.earlier * o.axis[1].all_taps * o.pass_taps + z.taps * (y.earlier * o.pass_taps + y.taps * x.earlier));
}

struct WgmmaTile {
    int32_t samples, y, x;   // positions of one warpgroup: y * x * samples
    int32_t row_y;           // rows of the box from one y to the next: box_x * samples
    int32_t box_x, box_y;    // cells; box_x: x + reach, rounded up to even; box_y: of both warpgroups
    int32_t second_y;        // first y of the second warpgroup's positions: 0 where it has other channels
    int32_t second_row_tile; // 1 where the second warpgroup has the next 64 rows, else 0
};

// Work is cut into jobs, in the order of the divisors from the fastest: residue y, residue z, row tiles, group,
// x, y, z, and then samples. A job has `z_planes` lattice planes, and all residues of an axis unless they are jobs of
// their own. Jobs at the end of y or z where the last residue with taps has no output have less to do: they come after
// all others, so that blocks share both kinds evenly.
struct WgmmaJobs {
    WideDivisor y_residues, z_residues, row_tiles, groups, x; // value 1 where residues are not split
    int32_t z_planes;
    uint32_t count;
    // Those of all residues; those at the end of y; those at the end of z alone.
    struct Part {
        uint32_t first; // job
        int32_t first_y, first_z;
        WideDivisor y, z;
    } part[3];
};

struct WgmmaShared {                       // bytes of shared memory
    int32_t entry_bytes;                   // of all planes, each a multiple of 1024
    int32_t plane_bytes;                   // of an entry
    int32_t box_bytes;                     // that a load of one plane of an entry brings
    int32_t entries, stages;               // slots of the rings
    int32_t stage_taps;                    // that a stage has room for, of those of a pass
    int32_t stages_offset;                 // entries begin at 0
    int32_t staging_offset, staging_bytes; // one of a warpgroup after the other
    int32_t tables_offset;
    // Whether entries stay for all residues and, along z, for the next planes; then they are one of each z and slab.
    int32_t keep;
};

// Output with channels first is collected in shared memory as spans, which have no gap in y: of one channel, sample and
// z; or, with row spans, of one row of y, where those of one residue of y are written at once. With channels last,
// columns are collected, wgmma_last_columns at a time, or row spans of cells.
struct WgmmaOutput {
    int64_t sample, channel, z, y, x; // strides, in elements
    int32_t channels_last;            // and written as such
    int32_t cell_spans;               // channels last, but row spans that have all channels of each cell
    int32_t straight;  // channels first, but from registers into y, two columns and two residues of x at once
    int32_t row_spans; // also where `straight`
    int32_t handed;    // spans are written by a warp of their own
    int32_t span_bytes, channel_bytes;   // from one span to the next in shared memory, from one channel to the next
    Divisor channel_spans, sample_spans; // spans of one channel; of one channel and sample
    Divisor span_quads;                  // 16 bytes each, of short spans
    int32_t short_spans; // they begin and end at sectors where y does, and are written in pieces of 16 bytes
    int32_t fill;        // outputs of a span that are only bias exist: spans begin as bias
    // What two neighbouring columns write lies together, and begins at a multiple of its bytes where y is one. With
    // channels last: vectors of 16 bytes of channels.
    int32_t vectors;
};

struct PhaseWgmmaParams {
    TensorMap x;
    const void *weights, *bias; // packed weights; bias: null where there is none
    void *y;
    WgmmaOperands operands;
    WgmmaTile tile;
    WgmmaJobs jobs;
    WgmmaShared shared;
    WgmmaOutput out;
    int32_t batch;
};

struct WgmmaPackParams {
    WgmmaOperands operands;
    const void *x, *w;
    void *packed_x, *packed_weights;
    int64_t w_in, w_out, w_step[3];      // strides, in elements
    int64_t x_sample, x_channel, x_cell; // strides, in elements; cells [z][y][x] have one stride
    int64_t cells;                       // of a sample
    int32_t batch;
    int32_t channels_last;
    uint32_t weight_blocks; // the first blocks pack weights, the others input
};

} // namespace ct3d::cuda
