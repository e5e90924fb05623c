// SPDX-License-Identifier: MIT
// Output with channels last. A warpgroup turns 128 columns at a time around in shared memory and writes the channels of
// a position together, 16 bytes a thread.
#pragma once

#include "../gpu/span.cuh"
#include "gpu.hpp"
#include "phase_wgmma_multiply.cuh"
#include "phase_wgmma_write.cuh"

namespace ct3d::cuda {

template <GemmMath math, WgmmaResidues residues, int N> class WgmmaLast {
public:
    using Tile = WgmmaOutputTile<math, residues, N>;
    using Element = typename Tile::Element;
    static constexpr int bytes = Tile::bytes, vector = 16 / bytes;
    static constexpr int chunk = wgmma_last_columns;
    static constexpr int pitch = wgmma_last_pitch(bytes);

    __device__ __forceinline__ WgmmaLast(const Tile &tile, uint32_t shared)
        : t(tile), p(tile.p), o(tile.o), staging(shared),
          whole(p.out.vectors && reinterpret_cast<uintptr_t>(p.y) % 16 == 0) {}

    // By all threads of the warpgroup, when the tile begins a job.
    __device__ __forceinline__ void begin() {
        lanes_log = 0;
        while (vector << lanes_log < t.room())
            ++lanes_log;
        bias_log = 0;
        while (vector << bias_log < wgmma_tile_channels(o))
            ++bias_log;
    }

    __device__ __forceinline__ void put(const WgmmaMultiplier<math, residues, N> &m, const WgmmaPass &pass, int32_t z,
                                        int32_t z_residue, int32_t y_residue) const {
        Element *const to = t.output(z, z_residue, y_residue);
#pragma unroll
        for (int s = 0; s < m.sets; ++s)
            if (s == 0 || pass.residues == 2)
#pragma unroll
                for (int first = 0; first < N; first += chunk) {
                    t.meet();
                    turn(m.sums[s].d, first);
                    t.meet();
                    write(to + pass.residue[s] * p.out.x, first, y_residue, pass.residue[s]);
                }
    }

    // Outputs of residues that no tap reaches.
    __device__ __forceinline__ void put_bias(int32_t z, int32_t z_residue, int32_t y_residue, int32_t x_residue) const {
        const int32_t channel = (t.thread() & ((1 << bias_log) - 1)) * vector;
        Element v[vector];
#pragma unroll
        for (int i = 0; i < vector; ++i)
            v[i] = from_float<Element>(t.bias(channel + i));
        Element *const to = t.output(z, z_residue, y_residue) + x_residue * p.out.x + channel;
        const WgmmaRoom room(y_residue, x_residue);
#pragma unroll 2
        for (int32_t column = t.thread() >> bias_log; column < N; column += 128 >> bias_log) {
            const uint2 place = load_shared_pair(t.places + column * static_cast<int32_t>(sizeof(WgmmaPlace)));
            if (room.is_in(place.y))
                write_vector(to + static_cast<int32_t>(place.x), channel, v);
        }
    }

private:
    // Channels of columns first .. first + chunk, each column's next to each other.
    __device__ __forceinline__ void turn(const float (&d)[N / 2], int first) const {
        const int32_t warp = t.thread() / 32, lane = t.thread() % 32;
        if (warp * o.warp_channels >= t.room())
            return;
        float b[2];
        int32_t row[2]; // where the lane's rows stand in a column
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            b[h] = t.bias(o.warp_channels * warp + 8 * h + lane / 4);
            row[h] = o.warp_channels * warp + 8 * h;
        }
        const bool one = o.warp_channels == 8; // half of the rows have channels
        if (bytes == 2 && one) {
            turn_half(d, first, lane, row[0], b[0]);
        } else if constexpr (bytes == 2) {
            const int32_t half = lane / 8 % 2, column = lane / 16 * 8 + lane % 8;
            const uint32_t to = staging + column * pitch + (half ? row[1] : row[0]) * bytes;
#pragma unroll
            for (int j = 0; j < chunk / 8; j += 2) {
                if (first + 8 * j >= N)
                    break;
                uint32_t words[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int at = 4 * (first / 8 + j + i / 2) + 2 * (i % 2);
                    words[i] = at < N / 2 ? as_word(Element{}, d[at] + b[i % 2], d[at + 1] + b[i % 2]) : 0;
                }
                matrix_store_x4_transposed(to + 8 * j * pitch, words);
            }
        } else {
#pragma unroll
            for (int j = 0; j < chunk / 8; ++j) {
                if (first + 8 * j >= N)
                    break;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (i < 2 || !one)
                        store_shared(staging + (8 * j + lane % 4 * 2 + i % 2) * pitch + (row[i / 2] + lane / 4) * bytes,
                                     d[4 * (first / 8 + j) + i] + b[i / 2]);
            }
        }
    }

    // Of two-byte elements, where only the first eight rows of a warp have channels.
    __device__ __forceinline__ void turn_half(const float (&d)[N / 2], int first, int32_t lane, int32_t row,
                                              float b) const {
        if constexpr (bytes == 2) {
            const uint32_t to = staging + lane * pitch + row * bytes;
#pragma unroll
            for (int j = 0; j < chunk / 8; j += 4) {
                if (first + 8 * j >= N)
                    break;
                uint32_t words[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int at = 4 * (first / 8 + j + i);
                    words[i] = at < N / 2 ? as_word(Element{}, d[at] + b, d[at + 1] + b) : 0;
                }
                matrix_store_x4_transposed(to + 8 * j * pitch, words);
            }
        }
    }

    __device__ __forceinline__ void write(Element *to, int32_t first, int32_t y_residue, int32_t x_residue) const {
        const WgmmaRoom room(y_residue, x_residue);
        if (whole)
            write_vectors(to, first, room);
        else
            write_elements(to, first, room);
    }

    __device__ __forceinline__ void write_vectors(Element *to, int32_t first, const WgmmaRoom &room) const {
        const int32_t channel = (t.thread() & ((1 << lanes_log) - 1)) * vector;
        const int32_t step = 128 >> lanes_log, count = min(chunk, N - first);
        constexpr int together = 4; // whose latency counts once
#pragma unroll 1
        for (int32_t column = t.thread() >> lanes_log; column < count; column += together * step) {
            uint2 place[together];
            uint4 quad[together];
#pragma unroll
            for (int i = 0; i < together; ++i) {
                const int32_t c = min(column + i * step, count - 1);
                place[i] = load_shared_pair(t.places + (first + c) * static_cast<int32_t>(sizeof(WgmmaPlace)));
                quad[i] = load_shared(staging + c * pitch + channel * bytes);
            }
#pragma unroll
            for (int i = 0; i < together; ++i)
                if (column + i * step < count && room.is_in(place[i].y) && channel < t.room())
                    *reinterpret_cast<uint4 *>(to + static_cast<int32_t>(place[i].x) + channel) = quad[i];
        }
    }

    // A column a warp, its channels by neighbouring lanes.
    __device__ __forceinline__ void write_elements(Element *to, int32_t first, const WgmmaRoom &room) const {
        const int32_t lane = t.thread() % 32, count = min(chunk, N - first);
#pragma unroll 4
        for (int32_t column = t.thread() / 32; column < count; column += 4) {
            const uint2 place =
                load_shared_pair(t.places + (first + column) * static_cast<int32_t>(sizeof(WgmmaPlace)));
            Element v[wgmma_rows / 32];
#pragma unroll
            for (int i = 0; i < wgmma_rows / 32; ++i)
                v[i] = load_shared_element<Element>(staging + column * pitch + (lane + 32 * i) * bytes);
#pragma unroll
            for (int i = 0; i < wgmma_rows / 32; ++i)
                if (room.is_in(place.y) && lane + 32 * i < t.room())
                    to[static_cast<int32_t>(place.x) + lane + 32 * i] = v[i];
        }
    }

    // Channels that follow each other, `channel` the first.
    __device__ __forceinline__ void write_vector(Element *to, int32_t channel, const Element (&v)[vector]) const {
        if (whole && channel + vector <= t.room()) {
            store_vector(to, v);
        } else {
#pragma unroll
            for (int i = 0; i < vector; ++i)
                if (channel + i < t.room())
                    to[i] = v[i];
        }
    }

    const Tile &t;
    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const uint32_t staging;
    const bool whole;
    // Threads that write a column, a power of two: one of sums, and one of bias.
    int32_t lanes_log = 0, bias_log = 0;
};

} // namespace ct3d::cuda
