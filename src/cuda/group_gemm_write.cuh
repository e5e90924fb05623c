// SPDX-License-Identifier: MIT
// How a warp of the grouped GEMM writes its sums of a row.
#pragma once

#include "group_gemm_stage.cuh"

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
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int32_t channel = lane() % 4 * 2 + i;
            to_[i] = shared_ + channel * p_.span_bytes + (past(row, channel) + lane() / 4 * residues) * bytes;
        }
        __syncwarp(); // what was there has been written
    }

    __device__ __forceinline__ void put(const GroupRow<E> &, int32_t first, const GroupSums<residues> &sums,
                                        const float (&bias)[2]) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint32_t to = to_[i] + first * residues * bytes;
#pragma unroll
            for (int r = 0; r < residues; ++r)
#pragma unroll
                for (int m = 0; m < 2; ++m)
#pragma unroll
                    for (int h = 0; h < 2; ++h)
                        store(to + ((m * 16 + h * 8) * residues + r) * bytes, sums[r][m][2 * h + i] + bias[i]);
        }
    }

    __device__ __forceinline__ void end(const GroupRow<E> &row) const {
        __syncwarp();
        // Half of the lanes have an element of the first 16 bytes, half one of the last.
        const bool is_last = lane() >= 16;
        const int32_t element = lane() % 16;
#pragma unroll 2
        for (int32_t channel = 0; channel < row.channels; ++channel) {
            const int32_t past = this->past(row, channel), end = past + row.outputs;
            E *const to = row.y + channel * p_.y_channel - past;
            const uint32_t from = shared_ + channel * p_.span_bytes;
            for (int32_t at = lane() * vector; at + vector <= end; at += 32 * vector)
                if (at >= past)
                    *reinterpret_cast<uint4 *>(to + at) = load_shared(from + at * bytes);
            const int32_t at = element + (is_last ? end / vector * vector : 0);
            if (element < vector && (is_last || past > 0 || end < vector) && at >= past && at < end)
                copy(from + at * bytes, to + at);
        }
    }

private:
    static constexpr int bytes = sizeof(E), vector = 16 / bytes;

    static __device__ __forceinline__ int32_t lane() { return threadIdx.x % 32; }

    // Elements between a multiple of 16 bytes and the first output of a channel.
    __device__ __forceinline__ int32_t past(const GroupRow<E> &row, int32_t channel) const {
        const auto first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row.y) / bytes);
        return static_cast<int32_t>((first + channel * static_cast<uint32_t>(p_.y_channel)) % vector);
    }

    static __device__ __forceinline__ void store(uint32_t to, float v) {
        if constexpr (bytes == 4)
            store_shared(to, v);
        else
            store_shared(to, from_float<E>(v).bits);
    }
    static __device__ __forceinline__ void copy(uint32_t from, E *to) {
        if constexpr (bytes == 4)
            *to = load_shared_float(from);
        else
            to->bits = load_shared_half(from);
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
        } else if constexpr (sizeof(E) == 4) {
            *reinterpret_cast<float2 *>(to) = make_float2(first, second);
        } else {
            *reinterpret_cast<uint32_t *>(to) = as_word(E{}, first, second);
        }
    }

    const GroupGemmParams &p_;
};

} // namespace ct3d::cuda
