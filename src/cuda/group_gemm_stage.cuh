// SPDX-License-Identifier: MIT
// What a block of the grouped GEMM does before it multiplies: finds its tile, stages weights and box.
#pragma once

#include "divisor.cuh"
#include "group_gemm_operand.cuh"
#include "group_gemm_params.hpp"

namespace ct3d::cuda {

struct GroupTile {
    int64_t sample;
    int32_t group, z, y, x; // first lattice positions
};

// Tiles of neighbouring groups run together, since with channels last they share lines.
__device__ __forceinline__ GroupTile locate_group_tile(const GroupGemmParams &p) {
    uint32_t rest = blockIdx.x;
    const auto take = [&](WideDivisor d) { return static_cast<int32_t>(take_remainder(rest, d)); };
    GroupTile t;
    t.x = take(p.x_tiles) * p.axis[2].tile;
    t.group = take(p.groups);
    t.y = take(p.y_tiles) * p.axis[1].tile;
    t.z = take(p.z_tiles) * p.axis[0].tile;
    t.sample = rest;
    return t;
}

// [tile of output channels][step][tap][lane]; zero past the last channels.
template <class Math>
__device__ __forceinline__ void stage_group_weights(const GroupGemmParams &p, int32_t group, uint32_t shared) {
    using E = typename Math::Element;
    const int32_t lane = threadIdx.x % 32, kernel_x = p.axis[2].kernel, kernel_y = p.axis[1].kernel;
    const E *const w = static_cast<const E *>(p.w) + int64_t{group} * p.in_channels * p.w_ci;
    const uint32_t all = p.channel_tiles * p.steps * p.taps;
#pragma unroll 4
    for (uint32_t i = threadIdx.x / 32; i < all; i += group_threads / 32) {
        uint32_t rest = i;
        const int32_t tap = static_cast<int32_t>(take_remainder(rest, p.tile_taps));
        const int32_t tile = static_cast<int32_t>(rest) / p.steps, step = static_cast<int32_t>(rest) % p.steps;
        const int32_t kz = tap / (kernel_y * kernel_x), ky = tap / kernel_x % kernel_y, kx = tap % kernel_x;
        const int32_t co = tile * group_channels + lane / 4;
        const E *const from = w + co * p.w_co + kz * p.w_z + ky * p.w_y + kx * p.w_x;
        store_shared(shared + (i * 32 + lane) * static_cast<uint32_t>(sizeof(typename Math::Fragment)),
                     Math::fragment(lane, [&](int32_t channel) {
                         const int32_t ci = step * group_channels + channel;
                         return ci < p.in_channels && co < p.out_channels ? from[ci * p.w_ci] : Math::zero();
                     }));
    }
}

// Eight channels of a cell; zero past the last.
template <class Math>
__device__ __forceinline__ void load_group_channels(const GroupGemmParams &p, const typename Math::Element *from,
                                                    int32_t channels, uint4 (&words)[Math::planes]) {
    using E = typename Math::Element;
    if (p.wide && channels >= group_channels) {
#pragma unroll
        for (int i = 0; i < Math::planes; ++i)
            words[i] = Math::operands(reinterpret_cast<const uint4 *>(from)[i]);
        return;
    }
    E v[group_channels];
#pragma unroll
    for (int i = 0; i < group_channels; ++i)
        v[i] = i < channels ? from[i * p.x_channel] : Math::zero();
    Math::pack(v, words);
}

// [step][plane][cell] of 16 bytes; cells outside the input are zero.
template <class Math>
__device__ __forceinline__ void stage_group_box(const GroupGemmParams &p, const GroupTile &t, uint32_t shared) {
    using E = typename Math::Element;
    const E *const x =
        static_cast<const E *>(p.x) + t.sample * p.x_sample + int64_t{t.group} * p.in_channels * p.x_channel;
    const int32_t first_z = t.z + p.axis[0].low, first_y = t.y + p.axis[1].low, first_x = t.x + p.axis[2].low;
#pragma unroll 1
    for (int32_t cell = threadIdx.x; cell < p.cells; cell += group_threads) {
        uint32_t rest = cell;
        const int32_t x_in = first_x + static_cast<int32_t>(take_remainder(rest, p.box_x));
        const int32_t y_in = first_y + static_cast<int32_t>(take_remainder(rest, p.box_y));
        const int32_t z_in = first_z + static_cast<int32_t>(rest);
        const auto inside = [](int32_t at, int32_t extent) { return at >= 0 && at < extent; };
        const bool exists = inside(x_in, p.axis[2].in) && inside(y_in, p.axis[1].in) && inside(z_in, p.axis[0].in);
        const E *const from = x + z_in * p.x_z + y_in * p.x_y + x_in * p.x_x;
        uint32_t to = shared + cell * 16;
#pragma unroll 1
        for (int32_t step = 0; step < p.steps; ++step) {
            uint4 words[Math::planes] = {};
            const int32_t first = step * group_channels;
            if (exists)
                load_group_channels<Math>(p, from + first * p.x_channel, p.in_channels - first, words);
#pragma unroll
            for (int i = 0; i < Math::planes; ++i, to += p.plane_bytes)
                store_shared(to, words[i]);
        }
    }
}

} // namespace ct3d::cuda
