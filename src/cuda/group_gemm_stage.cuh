// SPDX-License-Identifier: MIT
// What a block of the grouped GEMM does before it multiplies: finds its tile, stages weights and box.
#pragma once

#include "../gpu/divisor.cuh"
#include "gpu.hpp"
#include "group_gemm_operand.cuh"
#include "group_gemm_params.hpp"

namespace ct3d::cuda {

struct GroupTile {
    int64_t sample;
    int32_t group, z, y, x; // the first group; first lattice positions
};

// Tiles of neighbouring groups run together, since with channels last they share lines.
__device__ __forceinline__ GroupTile locate_group_tile(const GroupGemmParams &p) {
    uint32_t rest = blockIdx.x;
    const auto take = [&](WideDivisor d) { return static_cast<int32_t>(take_remainder(rest, d)); };
    GroupTile t;
    t.x = take(p.x_tiles) * p.axis[2].tile;
    t.group = take(p.groups) * p.joined;
    t.y = take(p.y_tiles) * p.axis[1].tile;
    t.z = take(p.z_tiles) * p.axis[0].tile;
    t.sample = rest;
    return t;
}

struct GroupTap {
    int32_t kernel[3], cell; // element of the kernel; cell of the box for position 0, from its first
};

// By subtraction, since residues and taps of an axis are few.
__device__ __forceinline__ GroupTap locate_group_tap(const GroupGemmParams &p, int32_t index) {
    const GroupAxis *const a = p.axis;
    const int32_t further[3] = {a[1].all_taps * a[2].all_taps, a[2].all_taps, 1}; // taps of the axes after
    const GroupResidue *residue[3];
    int32_t taps = 1; // of the residues of the axes before
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        residue[axis] = a[axis].residue;
        for (int32_t own; index >= (own = taps * residue[axis]->taps * further[axis]); ++residue[axis])
            index -= own;
        taps *= residue[axis]->taps;
    }
    const int32_t each[3] = {residue[1]->taps * residue[2]->taps, residue[2]->taps, 1}; // taps of the axes after
    GroupTap tap{};
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        int32_t t = 0;
        for (; index >= each[axis]; ++t)
            index -= each[axis];
        tap.kernel[axis] = residue[axis]->first_tap + t * a[axis].tap_step;
        tap.cell = tap.cell * a[axis].box + residue[axis]->first_cell - t * a[axis].in_step;
    }
    return tap;
}

// Weights: [group][tile of output channels][step][tap][lane]; zero past the last channels. Some taps at once, so that
// their latency counts once.
template <class Math>
__device__ __forceinline__ void stage_group_weights(const GroupGemmParams &p, int32_t group, uint32_t shared) {
    using E = typename Math::Element;
    constexpr int together = 4, warps = group_threads / 32;
    const int32_t lane = threadIdx.x % 32, co = lane / 4;
    const int64_t group_step = p.in_channels * p.w_ci;
    const E *const w = static_cast<const E *>(p.w) + group * group_step + co * p.w_co;
#pragma unroll 1
    for (int32_t first = threadIdx.x / 32; first < p.taps; first += together * warps) {
        const E *from[together];
#pragma unroll
        for (int i = 0; i < together; ++i) {
            const int32_t number = min(first + i * warps, p.taps - 1); // past the last one: that one again
            const GroupTap tap = locate_group_tap(p, number);
            if (lane == 0)
                store_shared(shared + p.cells_at + number * 4, static_cast<uint32_t>(tap.cell) * 16);
            from[i] = w + tap.kernel[0] * p.w_z + tap.kernel[1] * p.w_y + tap.kernel[2] * p.w_x;
        }
        uint32_t to = shared + lane * Math::fragment_bytes;
#pragma unroll 1
        for (int32_t joined = 0; joined < p.joined; ++joined)
#pragma unroll 1
            for (int32_t tile = 0; tile < p.out_channels; tile += group_channels)
#pragma unroll 1
                for (int32_t step = 0; step < p.in_channels; step += group_channels) {
                    const int64_t further = joined * group_step + step * p.w_ci + tile * p.w_co;
                    typename Math::Fragment fragment[together];
#pragma unroll
                    for (int i = 0; i < together; ++i)
                        fragment[i] = Math::fragment(lane, [&](int32_t channel) {
                            return step + channel < p.in_channels && tile + co < p.out_channels
                                       ? from[i][further + channel * p.w_ci]
                                       : E{};
                        });
#pragma unroll
                    for (int i = 0; i < together; ++i)
                        Math::store(to + min(first + i * warps, p.taps - 1) * 32 * Math::fragment_bytes, fragment[i]);
                    to += p.taps * 32 * Math::fragment_bytes;
                }
    }
}

// Eight channels of a cell, of which so many exist; zero past them, and where there is no cell.
template <class E> __device__ __forceinline__ void load_group_channels(const GroupGemmParams &p, const E *from,
                                                                       int32_t channels, E (&v)[group_channels]) {
    if (from && p.wide && channels >= group_channels) {
        uint4 words[sizeof v / 16];
#pragma unroll
        for (size_t i = 0; i < sizeof v / 16; ++i)
            words[i] = reinterpret_cast<const uint4 *>(from)[i];
        memcpy(v, words, sizeof v);
    } else {
#pragma unroll
        for (int i = 0; i < group_channels; ++i)
            v[i] = from && i < channels ? from[i * p.x_channel] : E{};
    }
}

// The first channel of a cell of the box; null where it is outside the input.
template <class E> class GroupCellSource {
public:
    __device__ __forceinline__ GroupCellSource(const GroupGemmParams &p, const GroupTile &t)
        : p_(p), z_(t.z + p.axis[0].low), y_(t.y + p.axis[1].low), x_(t.x + p.axis[2].low),
          from_(static_cast<const E *>(p.x) + t.sample * p.x_sample + int64_t{t.group} * p.in_channels * p.x_channel) {}

    __device__ __forceinline__ const E *operator()(uint32_t cell) const {
        const int32_t x = x_ + static_cast<int32_t>(take_remainder(cell, p_.box_x));
        const int32_t y = y_ + static_cast<int32_t>(take_remainder(cell, p_.box_y));
        const int32_t z = z_ + static_cast<int32_t>(cell);
        const bool inside = is_inside(x, p_.axis[2]) && is_inside(y, p_.axis[1]) && is_inside(z, p_.axis[0]);
        return inside ? from_ + z * p_.x_z + y * p_.x_y + x * p_.x_x : nullptr;
    }

private:
    static __device__ __forceinline__ bool is_inside(int32_t at, const GroupAxis &axis) {
        return at >= 0 && at < axis.in;
    }

    const GroupGemmParams &p_;
    const int32_t z_, y_, x_; // of the box
    const E *const from_;
};

// [group][step][plane][cell] of 16 bytes; cells outside the input are zero. Some at once, so that their latency counts
// once.
template <class Math>
__device__ __forceinline__ void stage_group_box(const GroupGemmParams &p, const GroupTile &t, uint32_t shared) {
    using E = typename Math::Element;
    constexpr int together = 2;
    const GroupCellSource<E> source(p, t);
#pragma unroll 1
    for (int32_t cell = threadIdx.x; cell < p.cells; cell += together * group_threads) {
        const E *from[together];
#pragma unroll
        for (int i = 0; i < together; ++i)
            from[i] = cell + i * group_threads < p.cells ? source(cell + i * group_threads) : nullptr;
        uint32_t to = shared + cell * 16;
#pragma unroll 1
        for (int32_t step = 0; step < p.joined * p.steps; ++step, to += Math::planes * p.plane_bytes) {
            E v[together][group_channels];
            const int32_t first = step * group_channels;
#pragma unroll
            for (int i = 0; i < together; ++i)
                load_group_channels(p, from[i] ? from[i] + first * p.x_channel : nullptr,
                                    p.joined * p.in_channels - first, v[i]);
#pragma unroll
            for (int i = 0; i < together; ++i) {
                uint4 words[Math::planes];
                Math::pack(v[i], words);
                if (cell + i * group_threads < p.cells)
#pragma unroll
                    for (int plane = 0; plane < Math::planes; ++plane)
                        store_shared(to + i * group_threads * 16 + plane * p.plane_bytes, words[plane]);
            }
        }
    }
}

} // namespace ct3d::cuda
