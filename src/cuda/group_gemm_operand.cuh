// SPDX-License-Identifier: MIT
// The arithmetic of the grouped GEMM: how eight channels lie in shared memory, and how they are multiplied.
#pragma once

#include "element.cuh"
#include "ptx.cuh"

namespace ct3d::cuda {

// planes: of 16 bytes that eight channels of a cell take. Fragment: the weights that a lane has of one tap.
template <class E, void (*multiply)(float (&)[4], const uint32_t (&)[2], uint32_t)> struct GroupHalves {
    using Element = E;
    using Fragment = uint32_t;
    static constexpr int planes = 1;

    static __device__ __forceinline__ E zero() { return {0}; }
    static __device__ __forceinline__ uint4 operands(uint4 words) { return words; }
    static __device__ __forceinline__ void pack(const E (&v)[8], uint4 (&words)[planes]) {
        const auto pair = [&](int i) { return v[i].bits | static_cast<uint32_t>(v[i + 1].bits) << 16; };
        words[0] = make_uint4(pair(0), pair(2), pair(4), pair(6));
    }
    // From element(input channel).
    template <class Source> static __device__ __forceinline__ Fragment fragment(int32_t lane, const Source &element) {
        return element(lane % 4 * 2).bits | static_cast<uint32_t>(element(lane % 4 * 2 + 1).bits) << 16;
    }
    static __device__ __forceinline__ Fragment load(uint32_t address) { return load_shared_word(address); }
    // Cells 16 * m and on.
    static __device__ __forceinline__ void add(float (&sum)[4], const uint32_t (&cells)[planes][4], int m, Fragment w) {
        const uint32_t a[2] = {cells[0][2 * m], cells[0][2 * m + 1]};
        multiply(sum, a, w);
    }
};

struct GroupTf32 {
    using Element = float;
    using Fragment = uint2;
    static constexpr int planes = 2;

    static __device__ __forceinline__ float zero() { return 0; }
    static __device__ __forceinline__ uint32_t word(float v) { return __float_as_uint(round_to_tf32(v)); }
    static __device__ __forceinline__ uint32_t word(uint32_t v) { return word(__uint_as_float(v)); }
    static __device__ __forceinline__ uint4 operands(uint4 v) {
        return make_uint4(word(v.x), word(v.y), word(v.z), word(v.w));
    }
    static __device__ __forceinline__ void pack(const float (&v)[8], uint4 (&words)[planes]) {
#pragma unroll
        for (int i = 0; i < planes; ++i)
            words[i] = make_uint4(word(v[4 * i]), word(v[4 * i + 1]), word(v[4 * i + 2]), word(v[4 * i + 3]));
    }
    template <class Source> static __device__ __forceinline__ Fragment fragment(int32_t lane, const Source &element) {
        return make_uint2(word(element(lane % 4)), word(element(lane % 4 + 4)));
    }
    static __device__ __forceinline__ Fragment load(uint32_t address) { return load_shared_pair(address); }
    static __device__ __forceinline__ void add(float (&sum)[4], const uint32_t (&cells)[planes][4], int m, Fragment w) {
        const uint32_t a[4] = {cells[0][2 * m], cells[0][2 * m + 1], cells[1][2 * m], cells[1][2 * m + 1]};
        const uint32_t b[2] = {w.x, w.y};
        mma_tf32(sum, a, b);
    }
};

using GroupF16 = GroupHalves<Half, mma_f16_k8>;
using GroupBf16 = GroupHalves<Bfloat, mma_bf16_k8>;

} // namespace ct3d::cuda
