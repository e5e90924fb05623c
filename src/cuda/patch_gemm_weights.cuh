// SPDX-License-Identifier: MIT
// A block's weights, and the bias of its columns, from global memory into the order in which they are multiplied.
#pragma once

#include "patch_gemm_job.cuh"
#include "patch_gemm_operand.cuh"

namespace ct3d::cuda {

template <GemmMath math, bool channels_last> class PatchWeights {
public:
    __device__ __forceinline__ PatchWeights(const PatchGemmParams &params, const PatchAddresses &addresses)
        : p(params), at(addresses), block(params),
          w_(static_cast<const Element *>(params.w) + int64_t{block.group} * params.in_channels * params.w_ci) {}

    // By so many threads; another warpgroup's may read when all have returned and met.
    __device__ __forceinline__ void pack(int32_t thread, int32_t threads) const {
        if (p.w_order == PatchWeightsOrder::scattered)
            pack_parts<PatchWeightsOrder::scattered>(thread, threads);
        else if (channels_last && p.w_order == PatchWeightsOrder::taps)
            pack_parts<PatchWeightsOrder::taps>(thread, threads);
        else
            pack_parts<PatchWeightsOrder::columns>(thread, threads);
#pragma unroll 1
        for (int32_t column = thread; column < p.slice_columns; column += threads)
            store_shared(at.bias(p, column), bias_of(place(column)));
        fence_proxy_async();
    }

private:
    using Operand = PatchOperand<math, channels_last>;
    using Element = typename Operands<math>::Element;
    static constexpr int slab = patch_slab_bytes(math), slab_parts = slab / 16;
    static constexpr int count = 4 * gemm_packing(math); // channels of a part
    static constexpr int word_values = count / 4;

    __device__ __forceinline__ PatchColumn place(int32_t column) const {
        return PatchColumn::of<math, channels_last>(p, block.slice * p.slice_columns + column);
    }

    // Parts of 16 bytes of as many columns as lie together in w. Neighbouring threads read what lies together, or write
    // to different banks.
    template <PatchWeightsOrder order>
    __device__ __forceinline__ void pack_parts(int32_t thread, int32_t threads) const {
        const uint32_t vectors = p.slice_columns / vector<order>, parts = p.chunks * slab_parts * vectors;
#pragma unroll 2
        for (uint32_t i = thread; i < parts; i += threads) {
            if constexpr (order == PatchWeightsOrder::scattered)
                pack_part<order>(i / vectors / slab_parts, i / vectors % slab_parts, i % vectors);
            else
                pack_part<order>(i / slab_parts / vectors, i % slab_parts, i / slab_parts % vectors);
        }
    }

    template <PatchWeightsOrder order>
    static constexpr int vector = order == PatchWeightsOrder::scattered ? 1 : patch_vector(math);

    // Of the slice, the one that element i of a vector belongs to.
    template <PatchWeightsOrder order> __device__ __forceinline__ int32_t column_of(int32_t index, int i) const {
        constexpr int block = patch_block_channels(math), count = vector<order>;
        if constexpr (order == PatchWeightsOrder::taps) {
            const int32_t element = index * count + i, taps_bits = 1 + p.z_bits + p.y_bits;
            const int32_t channel = element >> taps_bits, tap = element & ((1 << taps_bits) - 1);
            const int32_t in = channel % count; // of the thread that has the channel, of four
            return ((channel / block << taps_bits) + tap) * block + channel % block / count * 2 + in / 2 * 8 + in % 2;
        } else if constexpr (order == PatchWeightsOrder::columns && channels_last) {
            return index / 4 * block + index % 4 * 2 + i / 2 * 8 + i % 2;
        } else {
            return index * count + i;
        }
    }

    template <PatchWeightsOrder order>
    __device__ __forceinline__ void pack_part(int32_t chunk, int32_t part, int32_t index) const {
        const PatchColumn c = place(column_of<order>(index, 0));
        const int32_t first = chunk * patch_channels(math);
        const Element *const w = w_ + first * p.w_ci + c.channel * p.w_co + c.z * p.w_z + c.y * p.w_y + c.x * p.w_x;
        const int32_t channels = c.channel < p.out_channels ? p.in_channels - first : 0;
        Element v[count][vector<order>];
#pragma unroll
        for (int k = 0; k < count; ++k)
            load(Operand::channel(part * count + k), channels, w, v[k]);
#pragma unroll
        for (int i = 0; i < vector<order>; ++i)
            store(chunk, part, column_of<order>(index, i), [&](int k) { return v[k][i]; });
    }

    template <int vector> __device__ __forceinline__ void load(int32_t channel, int32_t channels, const Element *w,
                                                               Element (&v)[vector]) const {
        if constexpr (vector > 1) {
            uint4 bits{};
            if (channel < channels)
                bits = *reinterpret_cast<const uint4 *>(w + channel * p.w_ci);
            memcpy(&v, &bits, sizeof v);
        } else {
            v[0] = channel < channels ? w[channel * p.w_ci] : Element{};
        }
    }

    // value(k): of a column and the part's channel k.
    template <class Value>
    __device__ __forceinline__ void store(int32_t chunk, int32_t part, int32_t column, const Value &value) const {
        uint32_t words[4][Operand::planes];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            Element of_word[word_values];
#pragma unroll
            for (int k = 0; k < word_values; ++k)
                of_word[k] = value(i * word_values + k);
            Operands<math>::word(of_word, words[i]);
        }
#pragma unroll
        for (int plane = 0; plane < Operand::planes; ++plane)
            store_shared(at.base + (chunk * Operand::planes + plane) * p.slice_columns * slab +
                             wgmma_swizzle(column, part * 16, slab),
                         make_uint4(words[0][plane], words[1][plane], words[2][plane], words[3][plane]));
    }

    __device__ __forceinline__ float bias_of(const PatchColumn &c) const {
        if (!p.bias || c.channel >= p.out_channels)
            return 0;
        return to_float(static_cast<const Element *>(p.bias)[block.group * p.out_channels + c.channel]);
    }

    const PatchGemmParams &p;
    const PatchAddresses at;
    const PatchBlock block;
    const Element *const w_;
};

} // namespace ct3d::cuda
