// SPDX-License-Identifier: MIT
// Sums and bias, from registers into y. A thread has two cells: rows h of the product.
#pragma once

#include "patch_gemm_job.cuh"
#include "patch_gemm_operand.cuh"

namespace ct3d::cuda {

template <GemmMath math, bool channels_last, int N> class PatchWriter {
public:
    __device__ __forceinline__ PatchWriter(const PatchGemmParams &params, const PatchAddresses &addresses, int32_t warp,
                                           int32_t lane)
        : p(params), at(addresses), block(params), warp_(warp), lane_(lane), q_(lane % 4) {}

    __device__ __forceinline__ void begin(PatchTile tile) {
        Element *const group = static_cast<Element *>(p.y) + tile.sample * p.y_sample +
                               int64_t{block.group} * p.out_channels * p.y_channel;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int32_t cell = tile.cell + PatchOperand<math, channels_last>::cell(warp_, lane_, h);
            inside_[h] = cell < p.cells;
            uint32_t z = cell, y = take_remainder(z, p.in_plane);
            const uint32_t x = take_remainder(y, p.in_row);
            to_[h] = group + (z << p.z_bits) * p.y_z + (y << p.y_bits) * p.y_y + 2 * x * p.y_x;
        }
    }

    // Of the block's columns from `first` on.
    __device__ __forceinline__ void write(const float (&d)[N / 2], int32_t first) const {
        if constexpr (channels_last)
            write_channels(d, first);
        else if (p.vectors == 4)
            write_patches<bytes == 2>(d, first);
        else
            write_patches<false>(d, first);
    }

private:
    using Element = typename Operands<math>::Element;
    static constexpr int bytes = gemm_element_bytes(math), vector = patch_vector(math);

    // Channels first: two neighbouring columns are neighbours along x; joined: both cells' are four, of two bytes.
    template <bool joined> __device__ __forceinline__ void write_patches(const float (&d)[N / 2], int32_t first) const {
        const PatchColumn c = PatchColumn::of<math, channels_last>(p, block.slice * p.slice_columns + first + 2 * q_);
        const int32_t step_bits = 2 - p.z_bits - p.y_bits; // of the channels from eight columns to the next
        const int64_t offset = c.channel * p.y_channel + c.z * p.y_z + c.y * p.y_y;
        const int64_t step = p.y_channel << step_bits;
        Element *to[2] = {to_[0] + offset, to_[1] + offset};
        const int32_t end = min((p.out_channels - c.channel + (1 << step_bits) - 1) >> step_bits, N / 8);
        const int32_t ends[2] = {inside_[0] ? end : 0, inside_[1] ? end : 0};
#pragma unroll
        for (int j = 0; j < N / 8; ++j) {
            const float b = load_shared_float(at.bias(p, first + 8 * j + 2 * q_));
            const float v[4] = {d[4 * j] + b, d[4 * j + 1] + b, d[4 * j + 2] + b, d[4 * j + 3] + b};
            if constexpr (joined) {
                if (j < ends[0])
                    *reinterpret_cast<uint2 *>(to[0]) =
                        make_uint2(as_word(Element{}, v[0], v[1]), as_word(Element{}, v[2], v[3]));
            } else {
#pragma unroll
                for (int h = 0; h < 2; ++h)
                    if (j < ends[h])
                        store_columns(to[h], v[2 * h], v[2 * h + 1]);
            }
            to[0] += step;
            to[1] += step;
        }
    }

    __device__ __forceinline__ void store_columns(Element *to, float first, float second) const {
        if (p.vectors > 1) {
            store_two(to, first, second);
        } else {
            to[0] = from_float<Element>(first);
            to[1] = from_float<Element>(second);
        }
    }

    // Channels last: a thread has a vector of channels of a cell and tap.
    __device__ __forceinline__ void write_channels(const float (&d)[N / 2], int32_t first) const {
        constexpr int32_t columns = patch_block_channels(math);
#pragma unroll
        for (int m = 0; m < N / columns; ++m) {
            const int32_t column = first + m * columns;
            const PatchColumn c =
                PatchColumn::of<math, channels_last>(p, block.slice * p.slice_columns + column + 2 * q_);
            const int64_t offset = c.z * p.y_z + c.y * p.y_y + c.x * p.y_x + c.channel;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                uint32_t words[4];
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    words[i] = word_of(d + 4 * (m * columns / 8) + 2 * h, at.bias(p, column + 2 * q_), i);
                if (inside_[h])
                    store_channels(to_[h] + offset, words, p.out_channels - c.channel);
            }
        }
    }

    // Word i of a vector, of sums in pairs and their columns' bias in shared memory.
    static __device__ __forceinline__ uint32_t word_of(const float *sums, uint32_t bias, int i) {
        const auto value = [&](int k) {
            return sums[k / 2 * 4 + k % 2] + load_shared_float(bias + k / 2 * 32 + k % 2 * 4);
        };
        if constexpr (vector == 4)
            return __float_as_uint(value(i));
        else
            return as_word(Element{}, value(2 * i), value(2 * i + 1));
    }

    __device__ __forceinline__ void store_channels(Element *to, const uint32_t (&words)[4], int32_t room) const {
        if (p.vectors > 1) { // as many channels as vectors hold
            if (room > 0)
                *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
            return;
        }
        Element v[vector];
        memcpy(&v, &words, sizeof v);
#pragma unroll
        for (int i = 0; i < vector; ++i)
            if (i < room)
                to[i] = v[i];
    }

    const PatchGemmParams &p;
    const PatchAddresses at;
    const PatchBlock block;
    const int32_t warp_, lane_, q_;
    Element *to_[2];
    bool inside_[2];
};

} // namespace ct3d::cuda
