// SPDX-License-Identifier: MIT
// The phase GEMM's sums in registers: of a warp's tile, M fragments of 16 positions by N fragments of output channels.
#pragma once

#include "phase_gemm_fragment.cuh"
#include "phase_gemm_operand.cuh"

namespace ct3d::gpu {

constexpr int gemm_fragment_channels = 4 * gemm_lane_channels;

template <int M> using GemmInputWords = uint32_t[M][gemm_input_words];
using GemmWeightWords = uint32_t[2];

// From the bias of the output channels that a lane has in each fragment.
template <int M, int N>
__device__ __forceinline__ void set_all(float (&sum)[M][N][4], const float (&bias)[N][gemm_lane_channels]) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                sum[m][n][i] = bias[n][i % gemm_lane_channels];
}

template <int M, int N> __device__ __forceinline__ void clear(float (&sum)[M][N][4]) {
#pragma unroll
    for (int i = 0; i < M * N * 4; ++i)
        (&sum[0][0][0])[i] = 0;
}

template <int M, int N> __device__ __forceinline__ void add_all(float (&sum)[M][N][4], const float (&part)[M][N][4]) {
#pragma unroll
    for (int i = 0; i < M * N * 4; ++i)
        (&sum[0][0][0])[i] += (&part[0][0][0])[i];
}

template <GemmMath math, int M, int N> struct Sums {
    float sum[M][N][4];

    __device__ __forceinline__ void start(const float (&bias)[N][gemm_lane_channels]) { set_all(sum, bias); }
    __device__ __forceinline__ void add(const GemmInputWords<M> (&a)[1], const GemmWeightWords (&b)[1], int n) {
#pragma unroll
        for (int m = 0; m < M; ++m)
            multiply_fragment<math>(sum[m][n], a[0][m], b[0]);
    }
    __device__ __forceinline__ void end_step() {}
    __device__ __forceinline__ void finish() {}
};

// Tensor cores truncate their sums. So the large products and the small ones are summed up apart, and the large ones
// join a rounded total before the sum is long; of the nine products of two times three bfloat16, the three smallest
// are less than the rounding of the largest.
template <int M, int N> struct Sums<GemmMath::f32, M, N> {
    static constexpr int most_steps = 8; // 128 products

    float sum[M][N][4];
    float large[M][N][4], small[M][N][4];
    int steps;

    __device__ __forceinline__ void start(const float (&bias)[N][gemm_lane_channels]) {
        set_all(sum, bias);
#pragma unroll
        for (int i = 0; i < M * N * 4; ++i) {
            (&large[0][0][0])[i] = 0;
            (&small[0][0][0])[i] = 0;
        }
        steps = 0;
    }
    __device__ __forceinline__ void add(const GemmInputWords<M> (&a)[3], const GemmWeightWords (&b)[3], int n) {
        constexpr int left[] = {1, 2, 0, 1, 0}, right[] = {1, 0, 2, 0, 1};
#pragma unroll
        for (int m = 0; m < M; ++m)
            multiply_fragment<GemmMath::bf16>(large[m][n], a[0][m], b[0]);
#pragma unroll
        for (int i = 0; i < 5; ++i)
#pragma unroll
            for (int m = 0; m < M; ++m)
                multiply_fragment<GemmMath::bf16>(small[m][n], a[left[i]][m], b[right[i]]);
    }
    __device__ __forceinline__ void end_step() {
        if (++steps == most_steps)
            flush();
    }
    __device__ __forceinline__ void flush() {
        add_all(sum, large);
        clear(large);
        steps = 0;
    }
    __device__ __forceinline__ void finish() {
        flush();
        add_all(sum, small);
    }
};

// Rounding errors grow with the length of a sum, so parts of it join the total.
template <int M, int N> struct Sums<GemmMath::single, M, N> {
    static constexpr int most_steps = 8; // 64 products

    float sum[M][N][4];
    float recent[M][N][4];
    int steps;

    __device__ __forceinline__ void start(const float (&bias)[N][gemm_lane_channels]) {
        set_all(sum, bias);
        clear(recent);
        steps = 0;
    }
    __device__ __forceinline__ void add(const GemmInputWords<M> (&a)[1], const GemmWeightWords (&b)[1], int n) {
#pragma unroll
        for (int m = 0; m < M; ++m)
            multiply_fragment<GemmMath::single>(recent[m][n], a[0][m], b[0]);
    }
    __device__ __forceinline__ void end_step() {
        if (++steps == most_steps)
            flush();
    }
    __device__ __forceinline__ void flush() {
        add_all(sum, recent);
        clear(recent);
        steps = 0;
    }
    __device__ __forceinline__ void finish() { flush(); }
};

} // namespace ct3d::gpu
