// SPDX-License-Identifier: MIT
// The phase GEMM's matrix instructions, MFMA, and which lane has what of their operands: 16 output channels, the rows,
// by 16 positions, as AMD's documents of CDNA 2 and 3 lay them out. A lane has two neighbouring words of each operand;
// where an instruction takes fewer products than a step has, each takes some of every lane's.
#pragma once

#include "../gpu/phase_gemm_params.hpp"
#include "target.cuh"

namespace ct3d::gpu {

constexpr int gemm_wave = 64;
constexpr int gemm_lane_channels = 4; // neighbours that a lane has of its position in a fragment
constexpr int gemm_input_words = 2;   // of a lane, of 16 positions and a step

// The position that a lane has; which of the four lanes that share it it is.
template <class T> __device__ __forceinline__ T gemm_lane_row(T thread) { return thread % 16; }
template <class T> __device__ __forceinline__ T gemm_lane_quarter(T thread) { return thread % 64 / 16; }

// Words of a step, by which lanes address a position's operand.
__device__ __forceinline__ uint32_t gemm_lane_words(uint32_t thread) { return thread % 64 / 16 * 2; }
__device__ __forceinline__ void read_input(uint32_t (&r)[gemm_input_words], uint32_t address) {
    const uint2 v = load_shared_pair(address);
    r[0] = v.x;
    r[1] = v.y;
}

// Fragments of output channels whose weights a lane reads at once.
constexpr int gemm_load_fragments = 1;
__device__ __forceinline__ void read_weights(uint32_t (&words)[1][2], uint32_t address) {
    read_input(words[0], address);
}

// Where a lane's two words of a fragment of packed weights stand in a step.
constexpr int gemm_weight_apart = 1;
__device__ __forceinline__ int32_t gemm_weight_word(int32_t lane) { return lane / 16 * 2; }
__device__ __forceinline__ int32_t gemm_weight_column(int32_t lane) { return lane % 16; }

__device__ __forceinline__ void multiply_floats(float (&d)[4], const uint32_t (&a)[2], const uint32_t (&b)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
        mfma_f32(d, __uint_as_float(b[i]), __uint_as_float(a[i]));
}

__device__ __forceinline__ void multiply_halves_as_floats(float (&d)[4], const uint32_t (&a)[2],
                                                          const uint32_t (&b)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
        mfma_f32(d, half_to_float(static_cast<uint16_t>(b[i / 2] >> i % 2 * 16)),
                 half_to_float(static_cast<uint16_t>(a[i / 2] >> i % 2 * 16)));
}

template <GemmMath math>
__device__ __forceinline__ void multiply_fragment(float (&d)[4], const uint32_t (&a)[2], const uint32_t (&b)[2]) {
    if constexpr (math == GemmMath::f16) {
        if (mfma_keeps_subnormals())
            mfma_f16(d, make_uint2(b[0], b[1]), make_uint2(a[0], a[1]));
        else
            multiply_halves_as_floats(d, a, b);
    } else if constexpr (math == GemmMath::bf16) {
        mfma_bf16(d, make_uint2(b[0], b[1]), make_uint2(a[0], a[1]));
    } else if constexpr (math == GemmMath::tf32) {
        if (mfma_has_xf32())
            mfma_xf32(d, make_uint2(b[0], b[1]), make_uint2(a[0], a[1]));
        else
            multiply_floats(d, a, b);
    } else {
        multiply_floats(d, a, b);
    }
}

// Spans are copied by threads, so many each.
constexpr int32_t gemm_span_lanes = 16;
__device__ __forceinline__ void copy_span(void *to, const unsigned char *shared, uint32_t bytes, int32_t lane) {
#pragma unroll 1
    for (uint32_t at = static_cast<uint32_t>(lane) * 16; at < bytes; at += gemm_span_lanes * 16)
        write_global(reinterpret_cast<uint4 *>(static_cast<unsigned char *>(to) + at),
                     load_shared(shared_address(shared + at)));
}
__device__ __forceinline__ void before_copies() {}
__device__ __forceinline__ void finish_copies() {}

} // namespace ct3d::gpu
