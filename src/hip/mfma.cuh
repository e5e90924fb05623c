// SPDX-License-Identifier: MIT
// Matrix instructions of a wave of 64 as functions: d += a * b, where d has 16 rows and 16 columns. A lane has rows
// 4 * (lane / 16) + i of column lane % 16 of d.
#pragma once

#include "language.cuh"

namespace ct3d::gpu {

namespace mfma {
using Float4 = float __attribute__((ext_vector_type(4)));
using Float2 = float __attribute__((ext_vector_type(2)));
using Half4 = _Float16 __attribute__((ext_vector_type(4)));
using Short4 = short __attribute__((ext_vector_type(4)));
} // namespace mfma

#define CT3D_MFMA(name, Given, Taken, instruction)                                                                     \
    __device__ __forceinline__ void name(float(&d)[4], Given a, Given b) {                                             \
        const mfma::Float4 sum =                                                                                       \
            __builtin_amdgcn_mfma_f32_##instruction(__builtin_bit_cast(Taken, a), __builtin_bit_cast(Taken, b),        \
                                                    mfma::Float4{d[0], d[1], d[2], d[3]}, 0, 0, 0);                    \
        d[0] = sum[0], d[1] = sum[1], d[2] = sum[2], d[3] = sum[3];                                                    \
    }
// Four elements k = 4 * (lane / 16) + e of a's row, and of b's column, lane % 16.
CT3D_MFMA(mfma_f16, uint2, mfma::Half4, 16x16x16f16)
CT3D_MFMA(mfma_bf16, uint2, mfma::Short4, 16x16x16bf16_1k)
// k = lane / 16.
CT3D_MFMA(mfma_f32, float, float, 16x16x4f32)
// k = 2 * (lane / 16) + e; the low 13 bits do not count. On gfx942 alone.
#ifdef __gfx942__
CT3D_MFMA(mfma_xf32, uint2, mfma::Float2, 16x16x8_xf32)
__device__ constexpr bool mfma_has_xf32() { return true; }
#else
__device__ __forceinline__ void mfma_xf32(float (&)[4], uint2, uint2) { __builtin_trap(); }
__device__ constexpr bool mfma_has_xf32() { return false; }
#endif
#undef CT3D_MFMA

// CDNA 2 takes subnormal f16 and bf16 for zeros.
#ifdef __gfx90a__
__device__ constexpr bool mfma_keeps_subnormals() { return false; }
#else
__device__ constexpr bool mfma_keeps_subnormals() { return true; }
#endif

} // namespace ct3d::gpu
