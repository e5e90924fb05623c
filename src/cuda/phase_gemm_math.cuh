// SPDX-License-Identifier: MIT
// The phase GEMM's kinds of arithmetic: how elements become words of operands, how words are multiplied.
#pragma once

#include "element.cuh"
#include "phase_gemm_params.hpp"
#include "ptx.cuh"

namespace ct3d::cuda {

// One value as the operands that stand for it, a plane each, for each channel of a word.
template <GemmMath> struct Operands;

template <class E> struct PackedOperands {
    using Element = E;
    static __device__ __forceinline__ void word(const E (&v)[2], uint32_t (&planes)[1]) {
        planes[0] = v[0].bits | static_cast<uint32_t>(v[1].bits) << 16;
    }
};

template <> struct Operands<GemmMath::f16> : PackedOperands<Half> {
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_f16(d, a, b);
    }
};

template <> struct Operands<GemmMath::bf16> : PackedOperands<Bfloat> {
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_bf16(d, a, b);
    }
};

template <> struct Operands<GemmMath::tf32> {
    using Element = float;
    static __device__ __forceinline__ void word(const float (&v)[1], uint32_t (&planes)[1]) {
        planes[0] = __float_as_uint(round_to_tf32(v[0]));
    }
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_tf32(d, a, b);
    }
};

// An f32 is the exact sum of three bfloat16 of falling size.
template <> struct Operands<GemmMath::f32> {
    using Element = float;
    static __device__ __forceinline__ void word(const float (&v)[2], uint32_t (&planes)[3]) {
        float rest[2] = {v[0], v[1]};
#pragma unroll
        for (int p = 0; p < 3; ++p) {
            planes[p] = as_word(Bfloat{}, rest[0], rest[1]);
            rest[0] -= __uint_as_float(planes[p] << 16);
            rest[1] -= __uint_as_float(planes[p] & 0xffff0000u);
        }
    }
    static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_bf16(d, a, b);
    }
};

template <int M, int N> __device__ __forceinline__ void set_all(float (&sum)[M][N][4], const float (&bias)[N][2]) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
        for (int n = 0; n < N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                sum[m][n][i] = bias[n][i % 2];
}

// Sums of a warp's tile: M fragments of 16 positions by N fragments of 8 output channels.
template <GemmMath math, int M, int N> struct Sums {
    float sum[M][N][4];

    // From the bias of the two output channels that a lane has in each fragment.
    __device__ __forceinline__ void start(const float (&bias)[N][2]) { set_all(sum, bias); }
    __device__ __forceinline__ void add(const uint32_t (&a)[1][M][4], const uint32_t (&b)[1][2], int n) {
#pragma unroll
        for (int m = 0; m < M; ++m)
            Operands<math>::multiply(sum[m][n], a[0][m], b[0]);
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

    __device__ __forceinline__ void start(const float (&bias)[N][2]) {
        set_all(sum, bias);
#pragma unroll
        for (int i = 0; i < M * N * 4; ++i) {
            (&large[0][0][0])[i] = 0;
            (&small[0][0][0])[i] = 0;
        }
        steps = 0;
    }
    __device__ __forceinline__ void add(const uint32_t (&a)[3][M][4], const uint32_t (&b)[3][2], int n) {
        constexpr int left[] = {1, 2, 0, 1, 0}, right[] = {1, 0, 2, 0, 1};
#pragma unroll
        for (int m = 0; m < M; ++m)
            Operands<GemmMath::f32>::multiply(large[m][n], a[0][m], b[0]);
#pragma unroll
        for (int i = 0; i < 5; ++i)
#pragma unroll
            for (int m = 0; m < M; ++m)
                Operands<GemmMath::f32>::multiply(small[m][n], a[left[i]][m], b[right[i]]);
    }
    __device__ __forceinline__ void end_step() {
        if (++steps == most_steps)
            flush();
    }
    __device__ __forceinline__ void flush() {
#pragma unroll
        for (int i = 0; i < M * N * 4; ++i) {
            (&sum[0][0][0])[i] += (&large[0][0][0])[i];
            (&large[0][0][0])[i] = 0;
        }
        steps = 0;
    }
    __device__ __forceinline__ void finish() {
        flush();
#pragma unroll
        for (int i = 0; i < M * N * 4; ++i)
            (&sum[0][0][0])[i] += (&small[0][0][0])[i];
    }
};

} // namespace ct3d::cuda
