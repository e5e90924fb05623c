// SPDX-License-Identifier: MIT
// How a warp of the grouped GEMM writes its sums of a row.
#pragma once

#include "group_gemm_stage.cuh"
#include "span_store.cuh"

namespace ct3d::cuda {

// A row of outputs of the tile, for residues of z and y, and eight output channels.
template <class E> struct GroupRow {
    E *y; // first output, of the first channel
    int32_t channels, outputs;
};

// sums[residue of x][16 positions][register]: a lane has two neighbouring channels of positions lane / 4 and 8 further.
template <int residues> using GroupSums = float[residues][2][4];

// NCDHW: rows are put together in shared memory, one of each channel, each at the same place in 16 bytes as in y.
template <class E, int residues> class GroupSpans {
public:
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
    __device__ __forceinline__ void put(const GroupRow<E> &, int32_t first, const GroupSums<residues> &sums,
                                        const float (&bias)[2]) const {
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

// NDHWC: from registers.
template <class E, int residues> class GroupCells {
public:
    __device__ __forceinline__ GroupCells(const GroupGemmParams &p, uint32_t) : p_(p) {}

    __device__ __forceinline__ void begin(const GroupRow<E> &) {}

    __device__ __forceinline__ void put(const GroupRow<E> &row, int32_t first, const GroupSums<residues> &sums,
                                        const float (&bias)[2]) const {
        const int32_t lane = threadIdx.x % 32, channel = lane % 4 * 2;
        if (channel >= row.channels)
            return;
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int h = 0; h < 2; ++h)
#pragma unroll
                for (int r = 0; r < residues; ++r) {
                    const int32_t x = (first + m * 16 + h * 8 + lane / 4) * residues + r;
                    if (x < row.outputs)
                        store(row.y + x * p_.y_x + channel, sums[r][m][2 * h] + bias[0],
                              sums[r][m][2 * h + 1] + bias[1], channel + 1 < row.channels);
                }
    }

    __device__ __forceinline__ void end(const GroupRow<E> &) const {}

private:
    __device__ __forceinline__ void store(E *to, float first, float second, bool both) const {
        if (!p_.pairs) {
            to[0] = from_float<E>(first);
            if (both)
                to[1] = from_float<E>(second);
        } else {
            store_two(to, first, second);
        }
    }

    const GroupGemmParams &p_;
};

} // namespace ct3d::cuda
