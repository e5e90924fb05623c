// SPDX-License-Identifier: MIT
// What both ways of writing share: where the columns of a warpgroup's sums are in the output, bias, conversion.
#pragma once

#include "phase_gemm_math.cuh"
#include "phase_wgmma_job.cuh"

namespace ct3d::cuda {

// Of a column. Channels last: elements from the tile's first output; channels first: bytes from a channel's first span.
struct WgmmaPlace {
    int32_t offset;
    uint8_t y_room, x_room; // residues of y and x for which there is an output; 0: none
    uint8_t start;          // row spans: of the row's address for residue 0 of y, from the tile's first, modulo 16
    uint8_t unused;
};

// Two elements in a word.
__device__ __forceinline__ uint32_t as_word(Half, float x, float y) {
    const __half2 v = __floats2half2_rn(x, y);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
__device__ __forceinline__ uint32_t as_word(Bfloat, float x, float y) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

// One warpgroup's part of a job. Its tables in shared memory: places of N columns, then the bias of its channels.
template <GemmMath math, WgmmaResidues residues, int N> class WgmmaOutputTile {
public:
    using Element = typename Operands<math>::Element;
    static constexpr int bytes = static_cast<int>(sizeof(Element));
    static constexpr int table_bytes = N * static_cast<int>(sizeof(WgmmaPlace)) + wgmma_rows * 4;

    __device__ __forceinline__ WgmmaOutputTile(const PhaseWgmmaParams &params, uint32_t tables, int32_t warpgroup)
        : p(params), o(params.operands), places(tables), warpgroup(warpgroup) {}

    // By all threads of the warpgroup.
    __device__ __forceinline__ void begin(const WgmmaJob &j) {
        job = j;
        first_y = job.y + warpgroup * p.tile.second_y;
        first_channel = (job.row_tile + warpgroup * p.tile.second_row_tile) * wgmma_tile_channels(o);
        y = static_cast<Element *>(p.y) + int64_t{job.group} * o.out_channels * p.out.channel;
        meet();
#pragma unroll 1
        for (int32_t i = thread(); i < N; i += 128)
            store_place(i, place_of(i));
        if (thread() < wgmma_tile_channels(o))
            store_shared(places + N * sizeof(WgmmaPlace) + thread() * 4, bias_of(thread()));
        meet();
    }

    __device__ __forceinline__ static int32_t thread() { return static_cast<int32_t>(threadIdx.x) % 128; }
    __device__ __forceinline__ void meet() const { group_barrier(1 + warpgroup, 128); }

    __device__ __forceinline__ float bias(int32_t channel) const {
        return load_shared_float(places + N * sizeof(WgmmaPlace) + channel * 4);
    }

    // Elements from `y` to the tile's first output of a channel, for residues 0 of x and y.
    __device__ __forceinline__ int64_t origin(int32_t z, int32_t z_residue) const {
        return job.sample * p.out.sample + (int64_t{z} * o.axis[0].stride + z_residue) * p.out.z +
               int64_t{first_y} * o.axis[1].stride * p.out.y + int64_t{job.x} * o.axis[2].stride * p.out.x;
    }

    // How many of the channels there are.
    __device__ __forceinline__ int32_t room() const {
        return min(wgmma_tile_channels(o), o.out_channels - first_channel);
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const uint32_t places;
    const int32_t warpgroup;
    WgmmaJob job;
    int32_t first_y, first_channel; // of this warpgroup, in its group
    Element *y;                     // of the group

private:
    __device__ __forceinline__ float bias_of(int32_t channel) const {
        return p.bias && channel < room() ? to_float(static_cast<const Element *>(
                                                p.bias)[job.group * o.out_channels + first_channel + channel])
                                          : 0.f;
    }

    __device__ __forceinline__ WgmmaPlace place_of(int32_t column) const {
        const auto &[az, ay, ax] = o.axis;
        const int32_t row = column / p.tile.row_y, sample = column % p.tile.row_y % p.tile.samples,
                      cell = column % p.tile.row_y / p.tile.samples;
        const int32_t oy = (first_y + row) * ay.stride, ox = (job.x + cell) * ax.stride;
        if (row >= p.tile.y || cell >= p.tile.x || oy >= ay.out || ox >= ax.out || job.sample + sample >= p.batch)
            return {};
        WgmmaPlace place{};
        place.y_room = static_cast<uint8_t>(min(ay.out - oy, ay.stride));
        place.x_room = static_cast<uint8_t>(min(ax.out - ox, ax.stride));
        if (p.out.channels_last) {
            place.offset =
                static_cast<int32_t>(sample * p.out.sample + row * ay.stride * p.out.y + cell * ax.stride * p.out.x);
        } else if (p.out.row_spans) {
            place.start = static_cast<uint8_t>(static_cast<uint32_t>(row * ay.stride * p.out.y) * bytes % 16);
            place.offset = (sample * p.tile.y + row) * p.out.span_bytes + cell * ax.stride * bytes;
        } else {
            place.offset = sample * p.out.span_bytes + (row * ay.stride * ax.out + cell * ax.stride) * bytes;
        }
        return place;
    }

    __device__ __forceinline__ void store_place(int32_t column, WgmmaPlace place) const {
        uint2 words;
        memcpy(&words, &place, sizeof words);
        store_shared(places + column * sizeof(WgmmaPlace), words);
    }
};

} // namespace ct3d::cuda
