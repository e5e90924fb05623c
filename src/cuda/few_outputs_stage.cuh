// SPDX-License-Identifier: MIT
// What a block with few output channels does before it multiplies: find its tile, stage weights and inputs as words.
#pragma once

#include "../gpu/divisor.cuh"
#include "../gpu/span.cuh"
#include "few_outputs_params.hpp"
#include "gpu.hpp"
#include "ptx.cuh"

namespace ct3d::cuda {

template <class Element, void (*multiply)(float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2])> struct Pairs {
    using E = Element;
    static constexpr int channels = 2, chunk = few_outputs_chunk / channels; // of a word; words staged at a time
    static __device__ __forceinline__ uint32_t pack(E low, E high) {
        return low.bits | static_cast<uint32_t>(high.bits) << 16;
    }
    static __device__ __forceinline__ E zero() { return {0}; }
    static __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        multiply(d, a, b);
    }
};
using F16 = Pairs<Half, mma_f16>;
using Bf16 = Pairs<Bfloat, mma_bf16>;

struct Tf32 {
    using E = float;
    static constexpr int channels = 1, chunk = few_outputs_chunk;
    static __device__ __forceinline__ uint32_t pack(float v, float) { return __float_as_uint(round_to_tf32(v)); }
    static __device__ __forceinline__ float zero() { return 0; }
    static __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
        mma_tf32(d, a, b);
    }
};

struct Block {
    int64_t sample;
    int32_t group;
    int32_t first_z, end_z; // outputs
    int32_t first_y, end_y;
    int32_t in_y, in_rows; // input rows that exist
    int32_t in_z, end_in_z;
};

__device__ __forceinline__ int32_t ceil_div(int32_t a, int32_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

__device__ __forceinline__ Block locate_block(const FewOutputsParams &p) {
    const FewOutputsAxis &az = p.axis[0], &ay = p.axis[1];
    uint32_t rest = blockIdx.x;
    Block b;
    const int32_t row_block = rest % p.row_blocks;
    rest /= p.row_blocks;
    const int32_t plane_block = rest % p.plane_blocks;
    rest /= p.plane_blocks;
    b.group = rest % p.groups;
    b.sample = rest / p.groups;
    b.first_z = plane_block * p.planes;
    b.end_z = min(b.first_z + p.planes, az.out);
    const int32_t window = row_block * p.rows;
    b.first_y = window * ay.stride;
    b.end_y = min(b.first_y + p.rows * ay.stride, ay.out);
    b.in_y = max(window + p.reach_low, 0);
    b.in_rows = max(min(window + p.rows - 1 + p.reach_high, ay.in - 1) + 1 - b.in_y, 0);
    b.in_z = max(ceil_div(b.first_z + az.padding - (az.kernel - 1) * az.dilation, az.stride), 0);
    b.end_in_z = min((b.end_z - 1 + az.padding) / az.stride + 1, az.in);
    return b;
}

// [pass][tap z, output channel, tap y, x][word]; zero where there is no such tap or channel.
template <class T>
__device__ __forceinline__ void stage_weights(const FewOutputsParams &p, const Block &b, uint32_t *weights) {
    using E = typename T::E;
    const E *w = static_cast<const E *>(p.w);
    const int32_t kernel_x = p.axis[2].kernel, area = p.axis[1].kernel * kernel_x;
    for (int32_t row = threadIdx.x / 32; row < p.passes * p.pairs; row += few_outputs_threads / 32) {
        const int32_t pair = row % p.pairs, co = pair / area % p.out_channels, kyx = pair % area;
        const int32_t slice = pair / area / p.out_channels, kz = row / p.pairs * p.slices + slice;
        const bool exists = slice < p.slices && kz < p.axis[0].kernel;
        const E *from = w + co * p.w_co + kz * p.w_z + kyx / kernel_x * p.w_y + kyx % kernel_x * p.w_x;
        for (int32_t word = threadIdx.x % 32; word < p.words; word += 32) {
            const auto channel = [&](int32_t c) {
                const int64_t input = static_cast<int64_t>(b.group) * p.in_channels + c;
                return exists && c < p.in_channels ? from[input * p.w_ci] : T::zero();
            };
            weights[row * p.weights_pitch + word] =
                T::pack(channel(word * T::channels), channel(word * T::channels + T::channels - 1));
        }
    }
}

__device__ __forceinline__ uint32_t rounded(uint32_t bits) {
    return __float_as_uint(round_to_tf32(__uint_as_float(bits)));
}

// 16 bytes of one or two channels, as words of consecutive positions.
template <class T> __device__ __forceinline__ void store_positions(uint32_t *to, uint4 low, uint4 high) {
    uint4 *out = reinterpret_cast<uint4 *>(to);
    if constexpr (T::channels == 1) {
        out[0] = make_uint4(rounded(low.x), rounded(low.y), rounded(low.z), rounded(low.w));
    } else {
        out[0] = make_uint4(__byte_perm(low.x, high.x, 0x5410), __byte_perm(low.x, high.x, 0x7632),
                            __byte_perm(low.y, high.y, 0x5410), __byte_perm(low.y, high.y, 0x7632));
        out[1] = make_uint4(__byte_perm(low.z, high.z, 0x5410), __byte_perm(low.z, high.z, 0x7632),
                            __byte_perm(low.w, high.w, 0x5410), __byte_perm(low.w, high.w, 0x7632));
    }
}

// The words first_word .. of a plane's rows, from NCDHW: [word][position].
template <class T> __device__ __forceinline__ void stage_wide_rows(const FewOutputsParams &p, const typename T::E *x,
                                                                   int32_t positions, int32_t first_word, int32_t words,
                                                                   uint32_t *inputs) {
    constexpr int count = vector_count<typename T::E>;
    const uint32_t pieces = words * p.vectors.value;
    const uint4 none = make_uint4(0, 0, 0, 0);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < pieces; i += few_outputs_threads) {
        uint32_t word = i;
        const int32_t position = static_cast<int32_t>(take_remainder(word, p.vectors)) * count;
        if (position >= positions)
            continue;
        const int32_t channel = (first_word + static_cast<int32_t>(word)) * T::channels;
        const typename T::E *from = x + channel * p.x_channel + position;
        const uint4 low = channel < p.in_channels ? *reinterpret_cast<const uint4 *>(from) : none;
        uint4 high = none;
        if (T::channels == 2 && channel + 1 < p.in_channels)
            high = *reinterpret_cast<const uint4 *>(from + p.x_channel);
        store_positions<T>(inputs + word * p.product_pitch + position, low, high);
    }
}

// The same from NDHWC: 16 bytes are four words of one position.
template <class T> __device__ __forceinline__ void stage_wide_positions(const FewOutputsParams &p,
                                                                        const typename T::E *x, int32_t positions,
                                                                        int32_t first_word, int32_t words,
                                                                        uint32_t *inputs) {
    const uint32_t pieces = positions * p.chunk_vectors.value;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < pieces; i += few_outputs_threads) {
        uint32_t position = i;
        const int32_t word = static_cast<int32_t>(take_remainder(position, p.chunk_vectors)) * 4;
        const int32_t channel = (first_word + word) * T::channels;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (channel < p.in_channels)
            v = *reinterpret_cast<const uint4 *>(x + position * p.x_x + channel);
        if (T::channels == 1)
            v = make_uint4(rounded(v.x), rounded(v.y), rounded(v.z), rounded(v.w));
        if (word >= words)
            continue;
        uint32_t *to = inputs + word * p.product_pitch + position;
        to[0] = v.x;
        to[p.product_pitch] = v.y;
        to[2 * p.product_pitch] = v.z;
        to[3 * p.product_pitch] = v.w;
    }
}

// Any alignment and layout.
template <class T> __device__ __forceinline__ void stage_words(const FewOutputsParams &p, const typename T::E *x,
                                                               int32_t positions, int32_t first_word, int32_t words,
                                                               uint32_t *inputs) {
    const uint32_t all = p.channels_last ? positions * p.chunk_words.value : words * p.positions.value;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < all; i += few_outputs_threads) {
        uint32_t word = i, position = i;
        if (p.channels_last)
            word = take_remainder(position, p.chunk_words);
        else
            position = take_remainder(word, p.positions);
        if (static_cast<int32_t>(word) >= words || static_cast<int32_t>(position) >= positions)
            continue;
        const int32_t channel = (first_word + static_cast<int32_t>(word)) * T::channels;
        const typename T::E *from = x + channel * p.x_channel + position * p.x_x;
        const auto low = channel < p.in_channels ? *from : T::zero();
        auto high = T::zero();
        if (T::channels == 2 && channel + 1 < p.in_channels)
            high = from[p.x_channel];
        inputs[word * p.product_pitch + position] = T::pack(low, high);
    }
}

template <class T> __device__ __forceinline__ void stage_inputs(const FewOutputsParams &p, const typename T::E *x,
                                                                int32_t positions, int32_t first_word, int32_t words,
                                                                uint32_t *inputs) {
    if (!p.wide)
        stage_words<T>(p, x, positions, first_word, words, inputs);
    else if (p.channels_last)
        stage_wide_positions<T>(p, x, positions, first_word, words, inputs);
    else
        stage_wide_rows<T>(p, x, positions, first_word, words, inputs);
}

} // namespace ct3d::cuda
