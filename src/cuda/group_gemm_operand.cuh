// SPDX-License-Identifier: MIT
// The arithmetic of the grouped GEMM: how eight channels lie in shared memory, and how they are multiplied.
#pragma once

#include "../gpu/element.cuh"
#include "gpu.hpp"
#include "ptx.cuh"

namespace ct3d::cuda {

// planes: how many times 16 bytes eight channels of a cell take. Fragment: the weights that a lane has of one tap.
// Cells: the operands that a lane has of 32 cells, from an address of the lane.
template <class E, void (*multiply)(float (&)[4], const uint32_t (&)[2], uint32_t)> struct GroupHalves {
    using Element = E;
    using Fragment = uint32_t;
    using Cells = uint32_t[4];
    static constexpr int planes = 1, fragment_bytes = sizeof(Fragment);

    static __device__ __forceinline__ void pack(const E (&v)[8], uint4 (&words)[planes]) {
        const auto pair = [&](int i) { return v[i].bits | static_cast<uint32_t>(v[i + 1].bits) << 16; };
        words[0] = make_uint4(pair(0), pair(2), pair(4), pair(6));
    }
    // From element(input channel).
    template <class Source> static __device__ __forceinline__ Fragment fragment(int32_t lane, const Source &element) {
        return element(lane % 4 * 2).bits | static_cast<uint32_t>(element(lane % 4 * 2 + 1).bits) << 16;
    }
    static __device__ __forceinline__ void store(uint32_t to, Fragment w) { store_shared(to, w); }
    static __device__ __forceinline__ Fragment load(uint32_t from) { return load_shared_word(from); }

    static __device__ __forceinline__ uint32_t cell_offset(uint32_t lane, uint32_t) { return lane * 16; }
    static __device__ __forceinline__ void load(Cells &cells, uint32_t from) { ldmatrix_x4(cells, from); }
    static __device__ __forceinline__ void add(float (&sums)[2][4], const Cells &cells, Fragment w) {
#pragma unroll
        for (int m = 0; m < 2; ++m)
            multiply(sums[m], {cells[2 * m], cells[2 * m + 1]}, w);
    }
};

struct GroupTf32 {
    using Element = float;
    using Fragment = uint2;
    using Cells = uint32_t[2][4];
    static constexpr int planes = 2, fragment_bytes = sizeof(Fragment);

    static __device__ __forceinline__ uint32_t word(float v) { return __float_as_uint(round_to_tf32(v)); }
    static __device__ __forceinline__ void pack(const float (&v)[8], uint4 (&words)[planes]) {
#pragma unroll
        for (int i = 0; i < planes; ++i)
            words[i] = make_uint4(word(v[4 * i]), word(v[4 * i + 1]), word(v[4 * i + 2]), word(v[4 * i + 3]));
    }
    template <class Source> static __device__ __forceinline__ Fragment fragment(int32_t lane, const Source &element) {
        return make_uint2(word(element(lane % 4)), word(element(lane % 4 + 4)));
    }
    static __device__ __forceinline__ void store(uint32_t to, Fragment w) { store_shared(to, w); }
    static __device__ __forceinline__ Fragment load(uint32_t from) { return load_shared_pair(from); }

    static __device__ __forceinline__ uint32_t cell_offset(uint32_t lane, uint32_t plane_bytes) {
        return lane % 16 * 16 + lane / 16 * plane_bytes;
    }
    static __device__ __forceinline__ void load(Cells &cells, uint32_t from) {
#pragma unroll
        for (int m = 0; m < 2; ++m)
            ldmatrix_x4(cells[m], from + m * 16 * 16);
    }
    static __device__ __forceinline__ void add(float (&sums)[2][4], const Cells &cells, Fragment w) {
#pragma unroll
        for (int m = 0; m < 2; ++m)
            mma_tf32(sums[m], cells[m], {w.x, w.y});
    }
};

using GroupF16 = GroupHalves<Half, mma_f16_k8>;
using GroupBf16 = GroupHalves<Bfloat, mma_bf16_k8>;

} // namespace ct3d::cuda
