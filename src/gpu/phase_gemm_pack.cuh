// SPDX-License-Identifier: MIT
// Packs weights and input for the phase GEMM: weights into the fragments that a warp multiplies, 16 bytes a lane;
// input into channels-last operands.
#pragma once

#include "divisor.cuh"
#include "phase_gemm_fragment.cuh"
#include "phase_gemm_operand.cuh"

namespace ct3d::gpu {

namespace {

struct PhaseTap {
    int32_t phase; // -1: no output reads this tap
    int32_t tap;
};

__device__ PhaseTap find_tap(const GemmAxis &axis, int32_t k) {
    for (int32_t i = 0; i < axis.phases; ++i) {
        const GemmPhase &f = axis.phase[i];
        const int32_t past = k - f.first_tap;
        if (past >= 0 && past % axis.tap_step == 0 && past / axis.tap_step < f.taps)
            return {i, past / axis.tap_step};
    }
    return {-1, 0};
}

// A fragment of weights for each tap.
template <GemmMath math> class WeightPacker {
public:
    using Element = typename Operands<math>::Element;
    static constexpr int planes = gemm_planes(math), packing = gemm_packing(math);

    __device__ WeightPacker(const GemmPackParams &params, int64_t fragment)
        : p(params.weights), channels(params.channels) {
        sixteen = static_cast<int32_t>(take_remainder(fragment, p.block_channels / 16));
        step = static_cast<int32_t>(take_remainder(fragment, channels.chunk_words / gemm_step_words));
        chunk = static_cast<int32_t>(take_remainder(fragment, channels.chunks));
        out_block = static_cast<int32_t>(take_remainder(fragment, channels.out_blocks));
        group = static_cast<int32_t>(fragment);
        const int32_t lane = threadIdx.x % gemm_wave;
        word = chunk * channels.chunk_words + step * gemm_step_words + gemm_weight_word(lane);
        for (int fragment = 0; fragment < gemm_load_fragments; ++fragment)
            out_channel[fragment] =
                out_block * p.block_channels +
                gemm_channel(gemm_lane_channels, gemm_load_fragments * sixteen + fragment, gemm_weight_column(lane),
                             16 / static_cast<int>(sizeof(Element)), p.channels_last != 0);
    }

    __device__ void pack(int32_t tap) const {
        const int32_t kx = tap % p.axis[2].kernel, ky = tap / p.axis[2].kernel % p.axis[1].kernel,
                      kz = tap / p.axis[2].kernel / p.axis[1].kernel;
        const PhaseTap z = find_tap(p.axis[0], kz), y = find_tap(p.axis[1], ky), x = find_tap(p.axis[2], kx);
        if (z.phase < 0 || y.phase < 0 || x.phase < 0)
            return;
        const Element *const w =
            static_cast<const Element *>(p.w) + kz * p.w_step[0] + ky * p.w_step[1] + kx * p.w_step[2];
        LaneWords out[planes];
#pragma unroll
        for (int r = 0; r < lane_words; ++r) {
            uint32_t words[planes];
            read_word(w, word + r % 2 * gemm_weight_apart, out_channel[r / 2], words);
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                out[plane].word[r] = words[plane];
        }
        const int64_t fragment = first_fragment(z, y, x);
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
            write_global(static_cast<LaneWords *>(p.packed) +
                             ((fragment + plane * (p.block_channels / 16)) * gemm_wave + threadIdx.x % gemm_wave),
                         out[plane]);
    }

private:
    static constexpr int lane_words = gemm_fragment_bytes / 4 / gemm_wave;
    struct alignas(4 * lane_words) LaneWords {
        uint32_t word[lane_words];
    };

    // Zero past the last channel.
    __device__ void read_word(const Element *w, int32_t n, int32_t out, uint32_t (&words)[planes]) const {
        Element v[packing];
#pragma unroll
        for (int i = 0; i < packing; ++i) {
            const int32_t in = n * packing + i;
            v[i] = in < channels.in && out < channels.out
                       ? read_global(w + ((int64_t{group} * channels.in + in) * p.w_in + out * p.w_out))
                       : Element{};
        }
        Operands<math>::word(v, words);
    }

    __device__ int64_t first_fragment(PhaseTap z, PhaseTap y, PhaseTap x) const {
        const int64_t tap =
            (int64_t{group} * channels.out_blocks + out_block) * gemm_packed_taps(p.axis, channels.chunks) +
            gemm_packed_tap(p.axis, channels.chunks, {{z.phase, y.phase, x.phase}, chunk, {z.tap, y.tap, x.tap}});
        return (tap * (channels.chunk_words / gemm_step_words) + step) * planes * (p.block_channels / 16) + sixteen;
    }

    const GemmPackWeights &p;
    const GemmChannels &channels;
    int32_t sixteen, step, chunk, out_block, group;
    int32_t word, out_channel[gemm_load_fragments];
};

template <GemmMath math> __device__ __forceinline__ void pack_weights(const GemmPackParams &p) {
    const int32_t taps = p.weights.axis[0].kernel * p.weights.axis[1].kernel * p.weights.axis[2].kernel;
    const int32_t parts = (taps + p.weights.taps_per_thread - 1) / p.weights.taps_per_thread;
    const int64_t warp = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / gemm_wave;
    if (warp >= p.weights.warps)
        return;
    const WeightPacker<math> packer(p, warp / parts);
    const int32_t first = static_cast<int32_t>(warp % parts) * p.weights.taps_per_thread;
    for (int32_t tap = first; tap < min(first + p.weights.taps_per_thread, taps); ++tap)
        packer.pack(tap);
}

// One step of the words of a cell.
template <GemmMath math> __device__ __forceinline__ void pack_input(const GemmPackParams &params) {
    using Element = typename Operands<math>::Element;
    constexpr int planes = gemm_planes(math), packing = gemm_packing(math);
    const GemmPackInput &p = params.input;
    const GemmChannels &channels = params.channels;
    const int64_t thread = (int64_t{blockIdx.x} - params.weight_blocks) * blockDim.x + threadIdx.x;
    if (thread >= p.threads)
        return;
    const int32_t chunk_steps = channels.chunk_words / gemm_step_words;
    const int64_t steps = int64_t{channels.groups} * channels.chunks * chunk_steps;
    int64_t rest = thread, step, cell;
    if (p.channels_last) {
        step = take_remainder(rest, steps);
        cell = take_remainder(rest, p.cells);
    } else {
        cell = take_remainder(rest, p.cells);
        step = take_remainder(rest, steps);
    }
    const int64_t sample = rest, group_step = step % (channels.chunks * chunk_steps),
                  group = step / (channels.chunks * chunk_steps);
    const int32_t first = static_cast<int32_t>(group_step) * gemm_step_words * packing;
    const Element *const from = static_cast<const Element *>(p.x) + sample * p.sample + cell * p.cell +
                                (group * channels.in + first) * p.channel;
    Element v[gemm_step_words][packing];
#pragma unroll
    for (int i = 0; i < gemm_step_words * packing; ++i)
        v[i / packing][i % packing] = first + i < channels.in ? read_global(from + i * p.channel) : Element{};
    uint32_t words[planes][gemm_step_words];
#pragma unroll
    for (int i = 0; i < gemm_step_words; ++i) {
        uint32_t word[planes];
        Operands<math>::word(v[i], word);
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
            words[plane][i] = word[plane];
    }
    uint4 *const to =
        static_cast<uint4 *>(p.packed) +
        (((sample * p.cells + cell) * channels.groups * channels.chunks + step / chunk_steps) * planes * chunk_steps +
         step % chunk_steps) *
            2;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane)
#pragma unroll
        for (int quad = 0; quad < 2; ++quad)
            to[plane * chunk_steps * 2 + quad] = make_uint4(words[plane][4 * quad], words[plane][4 * quad + 1],
                                                            words[plane][4 * quad + 2], words[plane][4 * quad + 3]);
}

template <GemmMath math> __device__ __forceinline__ void pack(const GemmPackParams &p) {
    if (blockIdx.x < p.weight_blocks)
        pack_weights<math>(p);
    else
        pack_input<math>(p);
}

} // namespace

// The kernel for a kind of arithmetic.
#define CT3D_GEMM_PACK(math)                                                                                           \
    extern "C" __global__ void __launch_bounds__(gemm_pack_threads)                                                    \
        ct3d_phase_gemm_pack_##math(const __grid_constant__ GemmPackParams p) {                                        \
        pack<GemmMath::math>(launch_params(p));                                                                        \
    }

} // namespace ct3d::gpu
