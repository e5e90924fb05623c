// SPDX-License-Identifier: MIT
// Output with channels first and a stride of 2 along x, straight from registers: what two neighbouring columns have of
// both residues is contiguous, and four lanes fill sectors of memory. Rows of the tile begin at any even column of the
// product; so that the four lanes have the same sectors, some of them take their columns from the next eight.
#pragma once

#include "phase_wgmma_multiply.cuh"
#include "phase_wgmma_write.cuh"

namespace ct3d::cuda {

template <GemmMath math, int N> class WgmmaStraight {
public:
    using Tile = WgmmaOutputTile<math, WgmmaResidues::two, N>;
    using Multiplier = WgmmaMultiplier<math, WgmmaResidues::two, N>;
    using Element = typename Tile::Element;

    __device__ __forceinline__ explicit WgmmaStraight(const Tile &tile)
        : t(tile), vectors_(reinterpret_cast<uintptr_t>(tile.p.y) % (4 * Tile::bytes) == 0) {}

    __device__ __forceinline__ void put(const Multiplier &m, int32_t z, int32_t z_residue, int32_t y_residue) const {
        if (vectors_)
            put_outputs<true>(m, z, z_residue, y_residue);
        else
            put_outputs<false>(m, z, z_residue, y_residue);
    }

private:
    template <bool vectors> __device__ __forceinline__ void put_outputs(const Multiplier &m, int32_t z,
                                                                        int32_t z_residue, int32_t y_residue) const {
        const int32_t warp = t.thread() / 32, lane = t.thread() % 32, channels = t.o.warp_channels;
        const WgmmaRoom room(y_residue);
        Element *const first = t.output(z, z_residue, y_residue);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int32_t of_warp = lane / 4 + 8 * h, channel = warp * channels + of_warp;
            if (of_warp >= channels || channel >= t.room())
                continue;
            Element *const to = first + channel * t.p.out.channel;
            const float b = t.bias(channel);
            t.each_place([&](int j, const uint4 &place) {
                const bool next = (place.y & 0xff) != 0;
                const auto sum = [&](int residue, int i) {
                    const float *const d = m.sums[residue].d + 2 * h + i;
                    return (next && j + 1 < N / 8 ? d[4 * j + 4] : d[4 * j]) + b;
                };
                if (room.is_in(place.y))
                    store<vectors>(to + static_cast<int32_t>(place.x), {sum(0, 0), sum(1, 0), sum(0, 1), sum(1, 1)});
            });
        }
    }

    template <bool vectors> static __device__ __forceinline__ void store(Element *to, const float (&v)[4]) {
        if constexpr (!vectors) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                to[i] = from_float<Element>(v[i]);
        } else if constexpr (Tile::bytes == 4) {
            *reinterpret_cast<float4 *>(to) = make_float4(v[0], v[1], v[2], v[3]);
        } else {
            *reinterpret_cast<uint2 *>(to) = make_uint2(as_word(Element{}, v[0], v[1]), as_word(Element{}, v[2], v[3]));
        }
    }

    const Tile &t;
    const bool vectors_;
};

} // namespace ct3d::cuda
