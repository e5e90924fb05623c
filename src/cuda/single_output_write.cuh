// SPDX-License-Identifier: MIT
// Adds up the products of neighbouring positions and writes them to y.
#pragma once

#include "single_output_job.cuh"

namespace ct3d::cuda {

// Of a warp's window: products of 16 positions by two matrices of columns.
template <int tiles> using SingleOutputSums = float[tiles][2][4];

// Lane l has the products of residue l%4 of z and y, at position l/4 of each group of eight.
template <GemmMath math, int tiles> class SingleOutputWriter {
public:
    __device__ __forceinline__ SingleOutputWriter(const SingleOutputParams &params, int32_t window, int32_t piece,
                                                  int32_t lane)
        : p(params), window_(window), piece_(piece), lane_(lane) {}

    __device__ __forceinline__ void begin(const SingleOutputRuns &run) {
        const int32_t residue_z = lane_ / 2 % 2, residue_y = lane_ % 2, window = run.window_y + window_;
        const int32_t piece = run.piece + piece_;
        const int32_t y = 2 * (p.axis[1].padding / 2 + window) + residue_y - p.axis[1].padding;
        z_ = residue_z - p.axis[0].padding;
        x_ = 2 * (p.first_position + piece * p.piece_step + lane_ / 4 - p.axis[2].padding / 2);
        y_ = static_cast<Element *>(p.y) + run.sample * p.y_sample + run.group * p.y_channel + z_ * p.y_z + y * p.y_y +
             x_ * p.y_x;
        bias_ = p.bias ? to_float(static_cast<const Element *>(p.bias)[run.group]) : 0.0f;
        const bool row = y >= 0 && y < p.axis[1].out && window < p.windows_y && piece < p.pieces;
        const int32_t first = piece > 0 ? 1 : 0, end = piece + 1 < p.pieces ? groups - 1 : groups;
        written_ = 0;
#pragma unroll
        for (int g = 0; g < groups; ++g)
            if (row && g >= first && g < end && x_ + 16 * g >= 0 && x_ + 16 * g < p.axis[2].out)
                written_ |= 1u << g;
    }

    // The outputs of a window of z.
    __device__ __forceinline__ void write(const SingleOutputSums<tiles> &sums, int32_t window) const {
        const int32_t z = 2 * window + z_;
        const bool odd = p.axis[2].padding % 2, at_end = lane_ / 4 == (odd ? 7 : 0);
        const int32_t before = (lane_ + 28) & 31, beside = odd ? (lane_ + 4) & 31 : before;
        float own[2][groups], other[2][groups];
#pragma unroll
        for (int g = 0; g < groups; ++g)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                own[i][g] = sums[g / 2][i][g % 2 * 2];
                other[i][g] = __shfl_sync(0xffffffff, sums[g / 2][i][g % 2 * 2 + 1], i ? beside : before);
            }
#pragma unroll
        for (int g = 0; g < groups; ++g) {
            const float previous = g > 0 ? other[0][g - 1] : 0, low = g > 0 ? other[1][g - 1] : 0;
            const float high = g + 1 < groups ? other[1][g + 1] : 0;
            own[0][g] += (lane_ < 4 ? previous : other[0][g]) + bias_;
            own[1][g] += (at_end ? (odd ? high : low) : other[1][g]) + bias_;
        }
        if (z >= 0 && z < p.axis[0].out)
            store(y_ + int64_t{2 * window} * p.y_z, own);
    }

private:
    using Element = typename Operands<math>::Element;
    static constexpr int groups = 2 * tiles; // of eight positions

    __device__ __forceinline__ void store(Element *to, const float (&sums)[2][groups]) const {
        if (p.two_out) {
#pragma unroll
            for (int g = 0; g < groups; ++g)
                if (written_ >> g & 1)
                    store_two(to + 16 * g, sums[0][g], sums[1][g]);
            return;
        }
#pragma unroll
        for (int g = 0; g < groups; ++g, to += 16 * p.y_x) {
            if (written_ >> g & 1)
                to[0] = from_float<Element>(sums[0][g]);
            if ((written_ >> g & 1) && x_ + 16 * g + 1 < p.axis[2].out)
                to[p.y_x] = from_float<Element>(sums[1][g]);
        }
    }

    const SingleOutputParams &p;
    const int32_t window_, piece_, lane_;
    Element *y_;       // the first output, in window 0 of z
    int32_t z_, x_;    // where that is
    uint32_t written_; // the groups that are inside y, a bit each
    float bias_;
};

} // namespace ct3d::cuda
