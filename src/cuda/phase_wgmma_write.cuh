// SPDX-License-Identifier: MIT
// What both ways of writing share: where the columns of a warpgroup's sums are in the output, bias, conversion.
#pragma once

#include "../gpu/phase_gemm_operand.cuh"
#include "gpu.hpp"
#include "phase_wgmma_job.cuh"

namespace ct3d::cuda {

// Of a column. Channels last, or straight: elements from the tile's first output; else: bytes from a channel's first
// span.
struct WgmmaPlace {
    int32_t offset;
    // Straight: whether the place is that of the column eight further. Row spans: of the row's address for residue 0 of
    // y, from the tile's first, in a sector.
    uint8_t start;
    uint8_t x_room; // residues of x for which there is an output
    // Residues of y for which there is one; for residues of x after the first, and for all. 0: none. Words compare as
    // the last does.
    uint8_t later_y_room, y_room;
};

// Compares the second word of places with residues of y and x.
class WgmmaRoom {
public:
    __device__ __forceinline__ WgmmaRoom() : least_(~0u), x_residue_(0) {} // there is none
    __device__ __forceinline__ explicit WgmmaRoom(int32_t y_residue, int32_t x_residue = 0)
        : least_(static_cast<uint32_t>(y_residue + 1) << 24), x_residue_(x_residue) {}

    __device__ __forceinline__ bool is_in(uint32_t place) const {
        return place >= least_ && static_cast<int32_t>(place >> 8 & 0xff) > x_residue_;
    }
    // Residues of x for which there is an output.
    __device__ __forceinline__ int32_t outputs(uint32_t place) const {
        return place >= least_ ? static_cast<int32_t>(place >> 8 & 0xff) : 0;
    }
    // Where there is an output of the first residue of x, or of the second; without a branch.
    template <class Word> __device__ __forceinline__ void store_first(uint32_t place, uint32_t to, Word v) const {
        store_shared_from(place, least_, to, v);
    }
    template <class Word> __device__ __forceinline__ void store_second(uint32_t place, uint32_t to, Word v) const {
        store_shared_from(place << 8, least_, to, v);
    }

private:
    uint32_t least_;
    int32_t x_residue_;
};

// One warpgroup's part of a job. Its tables in shared memory: places of N columns, then the bias of its channels.
template <GemmMath math, WgmmaResidues residues, int N> class WgmmaOutputTile {
public:
    using Element = typename Operands<math>::Element;
    static constexpr int bytes = static_cast<int>(sizeof(Element));
    static constexpr int table_bytes = N * static_cast<int>(sizeof(WgmmaPlace)) + wgmma_rows * 4;

    __device__ __forceinline__ WgmmaOutputTile(const PhaseWgmmaParams &params, uint32_t tables)
        : p(params), o(params.operands), places(tables) {}

    // By all threads of the warpgroup.
    __device__ __forceinline__ void begin(const WgmmaJob &j) {
        const int32_t warpgroup = this->warpgroup();
        job = j;
        first_y = job.y + warpgroup * p.tile.second_y;
        first_channel = (job.row_tile + warpgroup * p.tile.second_row_tile) * wgmma_tile_channels(o);
        y = static_cast<Element *>(p.y) + (int64_t{job.group} * o.out_channels + first_channel) * p.out.channel +
            job.sample * p.out.sample + int64_t{first_y} * o.axis[1].stride * p.out.y +
            int64_t{job.x} * o.axis[2].stride * p.out.x;
        meet();
#pragma unroll 1
        for (int32_t i = thread(); i < N; i += 128)
            store_place(i, p.out.straight ? straight_place(i) : place_of(i));
        if (thread() < wgmma_tile_channels(o))
            store_shared(places + N * sizeof(WgmmaPlace) + thread() * 4, bias_of(thread()));
        meet();
    }

    __device__ __forceinline__ static int32_t thread() { return static_cast<int32_t>(threadIdx.x) % 128; }
    // Asked for again each time, rather than kept beside the sums.
    __device__ __forceinline__ static int32_t warpgroup() {
        return __shfl_sync(0xffffffff, static_cast<int32_t>(threadIdx.x) / 128, 0);
    }
    __device__ __forceinline__ void meet() const { group_barrier(1 + warpgroup(), 128); }

    __device__ __forceinline__ float bias(int32_t channel) const {
        return load_shared_float(places + N * sizeof(WgmmaPlace) + channel * 4);
    }

    // The places of the lane's columns 8 * j + 2 * (lane % 4) and the next, some at once, so that their latency counts
    // once: body(j, places).
    template <class Body> __device__ __forceinline__ void each_place(const Body &body) const {
        constexpr int together = residues == WgmmaResidues::two ? 2 : 4; // as registers allow
#pragma unroll
        for (int first = 0; first < N / 8; first += together) {
            uint4 place[together];
#pragma unroll
            for (int j = first; j < first + together && j < N / 8; ++j)
                place[j - first] =
                    load_shared(places + (8 * j + thread() % 4 * 2) * static_cast<int32_t>(sizeof(WgmmaPlace)));
#pragma unroll
            for (int j = first; j < first + together && j < N / 8; ++j)
                body(j, place[j - first]);
        }
    }

    // The tile's first output for residue 0 of x.
    __device__ __forceinline__ Element *output(int32_t z, int32_t z_residue, int32_t y_residue) const {
        return y + (int64_t{z} * o.axis[0].stride + z_residue) * p.out.z + y_residue * p.out.y;
    }

    // How many of the channels there are.
    __device__ __forceinline__ int32_t room() const {
        return min(wgmma_tile_channels(o), o.out_channels - first_channel);
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const uint32_t places;
    WgmmaJob job;
    int32_t first_y, first_channel; // of this warpgroup, in its group
    Element *y;                     // the tile's first output, in plane 0

private:
    __device__ __forceinline__ float bias_of(int32_t channel) const {
        return p.bias && channel < room() ? to_float(static_cast<const Element *>(
                                                p.bias)[job.group * o.out_channels + first_channel + channel])
                                          : 0.f;
    }

    __device__ __forceinline__ WgmmaPlace place_of(int32_t column) const {
        const auto &[az, ay, ax] = o.axis;
        const int32_t row = column / p.tile.row_y, sample = column % p.tile.row_y / p.tile.box_x,
                      cell = column % p.tile.box_x;
        const int32_t oy = (first_y + row) * ay.stride, ox = (job.x + cell) * ax.stride;
        if (row >= p.tile.y || cell >= p.tile.x || oy >= ay.out || ox >= ax.out || job.sample + sample >= p.batch)
            return {};
        WgmmaPlace place{};
        place.y_room = static_cast<uint8_t>(min(ay.out - oy, ay.stride));
        place.x_room = static_cast<uint8_t>(min(ax.out - ox, ax.stride));
        place.later_y_room = place.x_room > 1 ? place.y_room : uint8_t{0};
        if (p.out.channels_last || p.out.straight) {
            place.offset =
                static_cast<int32_t>(sample * p.out.sample + row * ay.stride * p.out.y + cell * ax.stride * p.out.x);
        } else if (p.out.row_spans) {
            place.start = static_cast<uint8_t>(static_cast<uint32_t>(row * ay.stride * p.out.y) * bytes % sector_bytes);
            place.offset =
                (sample * p.tile.y + row) * p.out.span_bytes + cell * ax.stride * static_cast<int32_t>(p.out.x) * bytes;
        } else {
            place.offset = sample * p.out.span_bytes + (row * ay.stride * ax.out + cell * ax.stride) * bytes;
        }
        return place;
    }

    // Eight columns of a row that lie together in the output are written together, by lanes of the eight columns of the
    // product in which they begin.
    __device__ __forceinline__ WgmmaPlace straight_place(int32_t slot) const {
        constexpr int32_t columns = 8;
        if (p.tile.x % columns != 0)
            return place_of(slot);
        const int32_t first = slot / columns * columns;
#pragma unroll 1
        for (int32_t column = slot; column <= slot + columns; column += columns) {
            const int32_t cell = column % p.tile.box_x, begin = column - cell % columns;
            if (cell < p.tile.x && begin >= first && begin < first + columns) {
                WgmmaPlace place = place_of(column);
                place.start = column != slot;
                return place;
            }
        }
        return {};
    }

    __device__ __forceinline__ void store_place(int32_t column, WgmmaPlace place) const {
        uint2 words;
        memcpy(&words, &place, sizeof words);
        store_shared(places + column * sizeof(WgmmaPlace), words);
    }
};

} // namespace ct3d::cuda
