// SPDX-License-Identifier: MIT
// An entry as operands in registers: rows of a matrix instruction are cells, and which channel is which of its products
// is chosen such that a thread finds its own in few words, without conflicts of banks.
#pragma once

#include "../gpu/phase_gemm_operand.cuh"
#include "gpu.hpp"
#include "patch_gemm_params.hpp"

namespace ct3d::cuda {

// Rows of patch_row_bytes, swizzled; channels first: of a channel, halves of the cells one after the other where a row
// has 32; channels last: of a cell.
template <GemmMath math, bool channels_last> class PatchOperand {
public:
    static constexpr int steps = patch_steps(math), planes = gemm_planes(math), depth = patch_depth(math);
    uint32_t a[steps][planes][4];

    // The cell of a tile that row 16 * warp + lane / 4 + 8 * h is.
    static __device__ __forceinline__ int32_t cell(int32_t warp, int32_t lane, int32_t h) {
        const int32_t i = lane / 4;
        if constexpr (channels_last)
            return 16 * warp + (i >> 1 | (i & 1) << 2) + 8 * h;
        else // eight bytes of y at once are the widest of which each half of a warp writes whole sectors
            return 16 * warp + (gemm_element_bytes(math) == 2 ? 2 * i + h : i + 8 * h);
    }

    // The channel of an entry that is number k of its products.
    static constexpr int channel(int k) {
        const int step = k / depth, in = k % depth;
        if constexpr (depth == 8) { // a thread has products q and q + 4
            const int q = in % 4, high = in / 4;
            return channels_last ? step / 2 * 16 + 4 * q + 2 * (step % 2) + high : step * 8 + 2 * q + high;
        } else { // products 2 * q, the next, and eight later
            const int q = in % 8 / 2, high = in / 8, odd = in % 2;
            if constexpr (!channels_last)
                return k;
            else if constexpr (gemm_element_bytes(math) == 2)
                return step / 2 * 32 + 8 * q + 4 * (step % 2) + 2 * high + odd;
            else
                return step * 16 + 4 * q + 2 * high + odd;
        }
    }

    __device__ __forceinline__ void load(uint32_t entry, int32_t warp, int32_t lane) {
        if constexpr (channels_last)
            load_cells(entry, warp, lane);
        else
            load_channels(entry, warp, lane);
    }

private:
    static constexpr int row = patch_row_bytes;

    __device__ __forceinline__ void load_channels(uint32_t entry, int32_t warp, int32_t lane) {
        constexpr int bytes = gemm_element_bytes(math);
        const int32_t in_row = cell(warp, lane, 0) * bytes, q = lane % 4;
        // Eight cells on, in 32 bytes, the swizzle exchanges by a bit.
        const uint32_t half = entry + in_row / row * (row * patch_channels(math));
        const uint32_t even = half + wgmma_swizzle(2 * q, in_row % row, row),
                       odd = half + wgmma_swizzle(2 * q + 1, in_row % row, row);
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const int32_t at = step * depth * row;
            if constexpr (math == GemmMath::tf32) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    put_word(step, h, {load_shared_float((even ^ 32 * h) + at)});
                    put_word(step, 2 + h, {load_shared_float((odd ^ 32 * h) + at)});
                }
            } else {
#pragma unroll
                for (int high = 0; high < 2; ++high) {
                    const uint32_t further = at + high * 8 * row;
                    if constexpr (bytes == 2) {
                        const uint32_t first = load_shared_word(even + further),
                                       second = load_shared_word(odd + further);
                        a[step][0][2 * high] = __byte_perm(first, second, 0x5410);
                        a[step][0][2 * high + 1] = __byte_perm(first, second, 0x7632);
                    } else {
#pragma unroll
                        for (int h = 0; h < 2; ++h)
                            put_word(step, 2 * high + h,
                                     {load_shared_float((even ^ 32 * h) + further),
                                      load_shared_float((odd ^ 32 * h) + further)});
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void load_cells(uint32_t entry, int32_t warp, int32_t lane) {
        const int32_t first = cell(warp, lane, 0), q = lane % 4;
        const uint32_t at = entry + wgmma_swizzle(first, 16 * q, row);
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int part = 0; part < row / 64; ++part) { // which the swizzle exchanges by a bit of the cell
                const uint4 v = load_shared((at ^ 64 * part) + h * 8 * row);
                if constexpr (math == GemmMath::f32) {
                    put_word(part, h, {__uint_as_float(v.x), __uint_as_float(v.y)});
                    put_word(part, 2 + h, {__uint_as_float(v.z), __uint_as_float(v.w)});
                } else if constexpr (math == GemmMath::tf32) {
                    put_word(2 * part, h, {__uint_as_float(v.x)});
                    put_word(2 * part, 2 + h, {__uint_as_float(v.y)});
                    put_word(2 * part + 1, h, {__uint_as_float(v.z)});
                    put_word(2 * part + 1, 2 + h, {__uint_as_float(v.w)});
                } else {
                    a[2 * part][0][h] = v.x;
                    a[2 * part][0][2 + h] = v.y;
                    a[2 * part + 1][0][h] = v.z;
                    a[2 * part + 1][0][2 + h] = v.w;
                }
            }
    }

    static constexpr int word_values = gemm_packing(math);
    __device__ __forceinline__ void put_word(int step, int i, const float (&v)[word_values]) {
        uint32_t words[planes];
        Operands<math>::word(v, words);
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
            a[step][plane][i] = words[plane];
    }
};

} // namespace ct3d::cuda
