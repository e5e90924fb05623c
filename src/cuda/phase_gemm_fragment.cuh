// SPDX-License-Identifier: MIT
// The phase GEMM's matrix instructions, mma.sync, and which lane has what of their operands: 16 positions by 8 output
// channels, as the PTX ISA lays fragments out.
#pragma once

#include "../gpu/phase_gemm_params.hpp"
#include "target.cuh"

namespace ct3d::gpu {

constexpr int gemm_wave = 32;
constexpr int gemm_lane_channels = 2; // neighbours that a lane has of each of its positions in a fragment
constexpr int gemm_input_words = 4;   // of a lane, of 16 positions and a step

// Of the positions that a lane has, 8 apart, the first; which of the four lanes that share them it is.
template <class T> __device__ __forceinline__ T gemm_lane_row(T thread) { return thread % 32 / 4; }
template <class T> __device__ __forceinline__ T gemm_lane_quarter(T thread) { return thread % 4; }

// Words of a step, by which lanes address a position's operand.
__device__ __forceinline__ uint32_t gemm_lane_words(uint32_t thread) { return thread % 32 / 16 * 4; }
__device__ __forceinline__ void read_input(uint32_t (&r)[gemm_input_words], uint32_t address) {
    cuda::ldmatrix_x4(r, address);
}

// Fragments of output channels whose weights a lane reads at once.
constexpr int gemm_load_fragments = 2;
__device__ __forceinline__ void read_weights(uint32_t (&words)[2][2], uint32_t address) {
    const uint4 v = load_shared(address);
    words[0][0] = v.x;
    words[0][1] = v.y;
    words[1][0] = v.z;
    words[1][1] = v.w;
}

// Where a lane's two words of a fragment of packed weights stand in a step.
constexpr int gemm_weight_apart = 4;
__device__ __forceinline__ int32_t gemm_weight_word(int32_t lane) { return lane % 4; }
__device__ __forceinline__ int32_t gemm_weight_column(int32_t lane) { return lane / 4; }

template <GemmMath math>
__device__ __forceinline__ void multiply_fragment(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    if constexpr (math == GemmMath::f16)
        cuda::mma_f16(d, a, b);
    else if constexpr (math == GemmMath::bf16)
        cuda::mma_bf16(d, a, b);
    else if constexpr (math == GemmMath::tf32)
        cuda::mma_tf32(d, a, b);
}

// Spans are copied by the copy engine, each told by one thread.
constexpr int32_t gemm_span_lanes = 1;
__device__ __forceinline__ void copy_span(void *to, const unsigned char *shared, uint32_t bytes, int32_t) {
    cuda::bulk_store(to, shared_address(shared), bytes);
}
__device__ __forceinline__ void before_copies() { cuda::fence_proxy_async(); }
__device__ __forceinline__ void finish_copies() {
    cuda::bulk_commit();
    cuda::bulk_wait_read<0>();
}

} // namespace ct3d::gpu
