// SPDX-License-Identifier: MIT
// How a warp of the grouped GEMM writes its sums of a row.
#pragma once

#include "../gpu/span.cuh"
#include "group_gemm_stage.cuh"
#include "span_store.cuh"

namespace ct3d::cuda {

// A row of outputs of the tile, for residues of z and y, and eight output channels or all of the block.
template <class E> struct GroupRow {
    E *y;             // first output, of the first channel
    int32_t channel;  // the first
    int32_t channels; // of the first tile
    int32_t outputs;
};

// sums[residue of x][16 positions][register]: a lane has two neighbouring channels of positions lane / 4 and 8 further.
template <int residues> using GroupSums = float[residues][2][4];

// NCDHW: rows are put together in shared memory, one of each channel, each at the same place in 16 bytes as in y.
template <class E, int residues> class GroupSpans {
public:
    static constexpr bool all_channels = false; // of a block, in one row

    __device__ __forceinline__ GroupSpans(const GroupGemmParams &p, uint32_t shared) : p_(p), shared_(shared) {}

    __device__ __forceinline__ void begin(const GroupRow<E> &row) {
        const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row.y));
        const auto channel_bytes = static_cast<uint32_t>(p_.y_channel) * bytes;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t channel = lane() % 4 * 2 + i;
            const uint32_t past = (address + channel * channel_bytes) % 16;
            to_[i] = opaque(shared_ + channel * p_.span_bytes + past + lane() / 4 * residues * bytes);
        }
        __syncwarp(); // what was there has been written
    }

    // Of two words of a position every other lane stores the second one first, so that all banks are used.
    __device__ __forceinline__ void put(int32_t first, const GroupSums<residues> &sums, const float (&bias)[2]) const {
        const bool swapped = residues * bytes == 8 && lane() % 2 > 0;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t to = to_[i] + first * residues * bytes;
            const uint32_t at[2] = {to + (swapped ? bytes : 0), to + (swapped ? 0 : bytes)};
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int h = 0; h < 2; ++h)
#pragma unroll
                    for (int r = 0; r < residues; ++r) {
                        const float v = swapped ? sums[residues - 1 - r][m][2 * h + i] : sums[r][m][2 * h + i];
                        store(at[r] + (m * 16 + h * 8) * residues * bytes, v + bias[i]);
                    }
        }
    }

    __device__ __forceinline__ void end(const GroupRow<E> &row) const {
        __syncwarp();
        const int64_t step = p_.y_channel * bytes;
        const int32_t length = row.outputs * bytes;
        uintptr_t at = span_address(row.y);
        uint32_t from = shared_;
#pragma unroll 2
        for (int32_t channel = 0; channel < row.channels; ++channel, at += step, from += p_.span_bytes)
            store_span<E, false>(at, length, SpanCopy<E>(from, at));
    }

private:
    static constexpr int bytes = sizeof(E);

    static __device__ __forceinline__ int32_t lane() { return threadIdx.x % 32; }

    static __device__ __forceinline__ void store(uint32_t to, float v) {
        if constexpr (bytes == 4)
            store_shared(to, v);
        else
            store_shared(to, from_float<E>(v).bits);
    }

    const GroupGemmParams &p_;
    const uint32_t shared_; // of the warp
    uint32_t to_[2];        // of the lane's two channels: of its first position
};

// NDHWC: channels of 32 positions are put together in shared memory, [residue of x][position], and written 16 bytes a
// lane. Where 16 bytes do not divide them, or y is not aligned: from registers.
template <class E, int residues> class GroupCells {
public:
    static constexpr bool all_channels = true;

    __device__ __forceinline__ GroupCells(const GroupGemmParams &p, uint32_t shared)
        : p_(p), shared_(shared), to_(shared + lane() / 4 * p.span_bytes + lane() % 4 * 2 * bytes) {}

    __device__ __forceinline__ void begin(const GroupRow<E> &) const {}

    // Sums of a tile of channels, from `channel` of the row on.
    __device__ __forceinline__ void put(const GroupRow<E> &row, int32_t first, int32_t channel, int32_t channels,
                                        const GroupSums<residues> &sums, const float (&bias)[2]) const {
        const int32_t own = lane() % 4 * 2;
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int h = 0; h < 2; ++h)
#pragma unroll
                for (int r = 0; r < residues; ++r) {
                    const float v[2] = {sums[r][m][2 * h] + bias[0], sums[r][m][2 * h + 1] + bias[1]};
                    const int32_t position = m * 16 + h * 8;
                    if (p_.vectors) {
                        store_shared_two(to_ + (r * group_positions + position) * p_.span_bytes + channel * bytes, v);
                    } else {
                        const int32_t x = (first + position + lane() / 4) * residues + r;
                        if (x < row.outputs && own < channels)
                            store(row.y + x * p_.y_x + channel + own, v, own + 1 < channels);
                    }
                }
    }

    // All channels of 32 positions have been put.
    __device__ __forceinline__ void end_positions(const GroupRow<E> &row, int32_t first) const {
        if (!p_.vectors)
            return;
        __syncwarp();
        const int32_t x = first * residues, cells = min(row.outputs - x, group_positions * residues);
        const int32_t vectors = cells * static_cast<int32_t>(p_.cell_vectors.value);
        E *const to = row.y + x * p_.y_x;
#pragma unroll 4
        for (int32_t i = lane(); i < vectors; i += 32) {
            uint32_t cell = i;
            const int32_t part = static_cast<int32_t>(take_remainder(cell, p_.cell_vectors));
            const uint32_t slot = cell % residues * group_positions + cell / residues;
            store_global(to + static_cast<int32_t>(cell) * p_.y_x + part * vector_count<E>,
                         load_shared(shared_ + slot * p_.span_bytes + part * 16));
        }
        __syncwarp(); // before it is overwritten
    }

    __device__ __forceinline__ void end(const GroupRow<E> &) const {}

private:
    static constexpr int bytes = sizeof(E);

    static __device__ __forceinline__ int32_t lane() { return threadIdx.x % 32; }

    static __device__ __forceinline__ void store_shared_two(uint32_t to, const float (&v)[2]) {
        if constexpr (bytes == 4)
            store_shared(to, make_uint2(__float_as_uint(v[0]), __float_as_uint(v[1])));
        else
            store_shared(to, as_word(E{}, v[0], v[1]));
    }

    __device__ __forceinline__ void store(E *to, const float (&v)[2], bool both) const {
        if (p_.pairs) {
            store_two(to, v[0], v[1]);
            return;
        }
        to[0] = from_float<E>(v[0]);
        if (both)
            to[1] = from_float<E>(v[1]);
    }

    const GroupGemmParams &p_;
    const uint32_t shared_, to_; // of the warp; of the lane's first position and channels
};

} // namespace ct3d::cuda
