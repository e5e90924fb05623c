// SPDX-License-Identifier: MIT
// The phase GEMM's input: which tile a block has, and its box, copied from global memory.
#pragma once

#include "divisor.cuh"
#include "phase_gemm_operand.cuh"

namespace ct3d::gpu {

struct GemmTile {
    int32_t first[3]; // lattice indices
    int32_t residue;  // of z
    int32_t phase;    // of z, or -1 where the residue has no taps
    int32_t out_block, group, sample;

    __device__ __forceinline__ explicit GemmTile(const PhaseGemmParams &p) {
        uint32_t n = blockIdx.x;
        first[2] = take_remainder(n, p.axis[2].tiles) * static_cast<int32_t>(p.axis[2].tile.value);
        first[1] = take_remainder(n, p.axis[1].tiles) * static_cast<int32_t>(p.axis[1].tile.value);
        residue = take_remainder(n, p.axis[0].stride);
        first[0] = take_remainder(n, p.axis[0].tiles) * static_cast<int32_t>(p.axis[0].tile.value);
        out_block = take_remainder(n, p.channels.out_blocks);
        group = take_remainder(n, p.channels.groups);
        sample = static_cast<int32_t>(n * p.tile_samples.value);
        phase = -1;
#pragma unroll 1
        for (int i = 0; i < p.axis[0].phases; ++i)
            if (p.axis[0].phase[i].out == residue)
                phase = i;
    }
};

// The cells that a tap of an axis lies from the first one.
__device__ __forceinline__ int32_t tap_cell(const GemmAxis &axis, int32_t phase, int32_t tap) {
    return axis.phase[phase].first_in - tap * axis.in_step - axis.phase[phase].low;
}

// A position of a tile.
struct GemmIndex {
    int32_t x, y, z, sample;

    __device__ __forceinline__ GemmIndex(uint32_t n, Divisor nx, Divisor ny, Divisor nz) {
        x = static_cast<int32_t>(take_remainder(n, nx));
        y = static_cast<int32_t>(take_remainder(n, ny));
        z = static_cast<int32_t>(take_remainder(n, nz));
        sample = static_cast<int32_t>(n);
    }
};

// Where the rows of a box lie in the input.
__device__ __forceinline__ void find_rows(const PhaseGemmParams &p, const GemmTile &tile, GemmRow *rows) {
    const auto &[az, ay, ax] = p.axis;
    const int32_t z0 = tile.first[0] + az.phase[tile.phase].low, y0 = tile.first[1] + ay.phase[0].low;
#pragma unroll 1
    for (uint32_t row = threadIdx.x; row < static_cast<uint32_t>(p.box_rows); row += blockDim.x) {
        uint32_t rest = row;
        const int32_t y = y0 + static_cast<int32_t>(take_remainder(rest, ay.box));
        const int32_t z = z0 + static_cast<int32_t>(take_remainder(rest, az.box));
        const int32_t sample = static_cast<int32_t>(rest);
        const bool inside = z >= 0 && z < az.in && y >= 0 && y < ay.in && tile.sample + sample < p.batch;
        rows[row] = inside ? sample * p.input.sample + int64_t{z} * p.input.step[0] + int64_t{y} * p.input.step[1] : -1;
    }
}

// Begins to copy a part of the input channels to the box; what lies outside the input is zero. Of 32
// threads each has one place of the rows, which they take in turn with other 32.
__device__ __forceinline__ void copy_box(const PhaseGemmParams &p, const GemmTile &tile, const GemmRow *rows,
                                         int32_t chunk, uint32_t box) {
    const GemmInput &from = p.input;
    const int32_t x0 = tile.first[2] + p.axis[2].phase[0].low;
    const unsigned char *const input = static_cast<const unsigned char *>(from.x) + tile.group * from.group +
                                       chunk * from.chunk + tile.sample * from.sample;
    const int32_t quads = static_cast<int32_t>(p.cell_quads.value), box_x = static_cast<int32_t>(p.axis[2].box.value);
    const int32_t existing = from.quads - chunk * quads;
    const uint32_t cell_bytes = static_cast<uint32_t>(p.cell_words) * 4,
                   row_bytes = cell_bytes * static_cast<uint32_t>(box_x);
    const int32_t team = threadIdx.x / 32, teams = blockDim.x / 32;
#pragma unroll 1
    for (int32_t i = threadIdx.x % 32; i < quads * box_x; i += 32) {
        const int32_t x = static_cast<int32_t>(divide(static_cast<uint32_t>(i), p.cell_quads)), quad = i - x * quads;
        const bool in_row = x0 + x >= 0 && x0 + x < p.axis[2].in && quad < existing;
        const unsigned char *const line = input + int64_t{x0 + x} * from.step[2] + quad * 16;
        uint32_t to = box + static_cast<uint32_t>(x) * cell_bytes + static_cast<uint32_t>(quad) * 16 +
                      static_cast<uint32_t>(team) * row_bytes;
#pragma unroll 4
        for (int32_t row = team; row < p.box_rows; row += teams, to += static_cast<uint32_t>(teams) * row_bytes) {
            const GemmRow offset = rows[row];
            const bool valid = in_row && offset >= 0;
            cp_async_16(to, valid ? line + offset : from.x, valid ? 16 : 0);
        }
    }
}

} // namespace ct3d::gpu
