// SPDX-License-Identifier: MIT
// How elements become words of operands, for each of the phase GEMM's kinds of arithmetic.
#pragma once

#include "element.cuh"
#include "phase_gemm_params.hpp"

namespace ct3d::gpu {

// One value as the operands that stand for it, a plane each, for each channel of a word.
template <GemmMath> struct Operands;

template <class E> struct PackedOperands {
    using Element = E;
    static __device__ __forceinline__ void word(const E (&v)[2], uint32_t (&planes)[1]) {
        planes[0] = v[0].bits | static_cast<uint32_t>(v[1].bits) << 16;
    }
};

template <> struct Operands<GemmMath::f16> : PackedOperands<Half> {};

template <> struct Operands<GemmMath::bf16> : PackedOperands<Bfloat> {};

template <> struct Operands<GemmMath::tf32> {
    using Element = float;
    static __device__ __forceinline__ void word(const float (&v)[1], uint32_t (&planes)[1]) {
        planes[0] = __float_as_uint(round_to_tf32(v[0]));
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
};

template <> struct Operands<GemmMath::single> {
    using Element = float;
    static __device__ __forceinline__ void word(const float (&v)[1], uint32_t (&planes)[1]) {
        planes[0] = __float_as_uint(v[0]);
    }
};

} // namespace ct3d::gpu
