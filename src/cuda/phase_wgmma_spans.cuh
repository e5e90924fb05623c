// SPDX-License-Identifier: MIT
// Output in spans: each warp puts its own channels' spans together in shared memory, or its own channels into spans of
// cells. A span stands at the same place in a sector as in global memory.
#pragma once

#include "phase_wgmma_multiply.cuh"
#include "phase_wgmma_span_store.cuh"

namespace ct3d::cuda {

template <GemmMath math, WgmmaResidues residues, int N> class WgmmaSpans {
public:
    using Tile = WgmmaOutputTile<math, residues, N>;
    using Element = typename Tile::Element;
    static constexpr int bytes = Tile::bytes;
    static constexpr int halves = 2; // channels of a lane, at most

    __device__ __forceinline__ WgmmaSpans(const Tile &tile, uint32_t shared, uint32_t barriers)
        : ring(barriers, 1), t(tile), p(tile.p), o(tile.o), warp(__shfl_sync(0xffffffff, tile.thread() / 32, 0)),
          lane(tile.thread() % 32), channels(o.warp_channels), staging(shared + warp * channels * p.out.channel_bytes),
          vectors(p.out.vectors && reinterpret_cast<uintptr_t>(p.y) % (2 * o.axis[2].stride * bytes) == 0) {}

    // Before anything is put into spans: what was in them has been read. `fill`: they become bias.
    __device__ __forceinline__ void begin(bool fill) const {
        if (wgmma_hands_over(math, N) && p.out.handed)
            ring.wait_emptied();
        else
            bulk_wait_read<0>();
        __syncwarp();
        if (!fill)
            return;
        const int32_t quads = spans() * p.out.span_bytes / 16;
#pragma unroll 1
        for (int32_t channel = 0; channel < own_channels(); ++channel) {
            const uint4 bias = bias_quad(channel);
            const uint32_t to = staging + channel * quads * 16;
#pragma unroll 1
            for (int32_t i = lane; i < quads; i += 32)
                store_shared(to + i * 16, bias);
        }
        __syncwarp();
    }

    // The sums of a pass.
    __device__ __forceinline__ void put(const WgmmaMultiplier<math, residues, N> &m, const WgmmaPass &pass, int32_t z,
                                        int32_t z_residue, int32_t y_residue) const {
        if (own_channels() <= 0)
            return;
        if (channels == 16)
            put_halves<2>(m, pass, z, z_residue, y_residue);
        else
            put_halves<1>(m, pass, z, z_residue, y_residue);
    }

    // Spans are complete: the writer may have them, or the warp writes its own. Row spans: those of a residue of y.
    __device__ __forceinline__ void end(int32_t z, int32_t z_residue, int32_t y_residue) {
        fence_proxy_async();
        if (wgmma_hands_over(math, N) && p.out.handed) {
            mbarrier_arrive(ring.filled(0));
            ring.advance();
        } else {
            __syncwarp();
            const int32_t row = p.out.row_spans ? y_residue : 0;
            WgmmaSpanStore<Element>(p, t.job, staging, lane)
                .write(t.output(z, z_residue, row) + warp * channels * p.out.channel,
                       t.first_y * o.axis[1].stride + row, own_channels());
        }
    }

    // Before the block ends.
    __device__ __forceinline__ void finish() const { bulk_wait_read<0>(); }

private:
    // Of this warp; not positive: it has none.
    __device__ __forceinline__ int32_t own_channels() const { return min(channels, t.room() - warp * channels); }
    // Of a channel.
    __device__ __forceinline__ int32_t spans() const { return static_cast<int32_t>(p.out.channel_spans.value); }

    __device__ __forceinline__ uint4 bias_quad(int32_t channel) const {
        const uint32_t word = repeated(from_float<Element>(t.bias(warp * channels + channel)));
        return make_uint4(word, word, word, word);
    }

    // Of the lane's channel h: its first span, and its bias.
    __device__ __forceinline__ uint32_t span(int h) const { return staging + (lane / 4 + 8 * h) * p.out.channel_bytes; }
    __device__ __forceinline__ float bias(int h) const { return t.bias(warp * channels + lane / 4 + 8 * h); }

    __device__ __forceinline__ bool has_channel(int h) const { return lane / 4 + 8 * h < own_channels(); }

    // A lane has sums of one channel, or of two.
    template <int used> __device__ __forceinline__ void put_halves(const WgmmaMultiplier<math, residues, N> &m,
                                                                   const WgmmaPass &pass, int32_t z, int32_t z_residue,
                                                                   int32_t y_residue) const {
        if (p.out.row_spans)
            put_spans<used, true>(m, pass, z, z_residue, y_residue);
        else
            put_spans<used, false>(m, pass, z, z_residue, y_residue);
    }

    template <int used, bool row_spans>
    __device__ __forceinline__ void put_spans(const WgmmaMultiplier<math, residues, N> &m, const WgmmaPass &pass,
                                              int32_t z, int32_t z_residue, int32_t y_residue) const {
        uint32_t to[used], past[used]; // past: of the span of the tile's first row, in a sector
        float b[used];
        const auto origin =
            static_cast<uint32_t>(reinterpret_cast<uintptr_t>(t.output(z, z_residue, row_spans ? y_residue : 0)));
#pragma unroll
        for (int h = 0; h < used; ++h) {
            const int32_t channel = warp * channels + lane / 4 + 8 * h;
            past[h] = origin;
            if (!p.out.cell_spans)
                past[h] += static_cast<uint32_t>(channel) * static_cast<uint32_t>(p.out.channel) * bytes;
            to[h] = span(h) + (row_spans ? 0 : y_residue * o.axis[2].out * bytes + past[h] % sector_bytes);
            b[h] = bias(h);
        }
        const auto address = [&](int h, uint32_t offset, uint32_t rooms) {
            return to[h] + offset + (row_spans ? (past[h] + (rooms & 0xff)) % sector_bytes : 0);
        };
        WgmmaRoom room[used];
#pragma unroll
        for (int h = 0; h < used; ++h)
            if (has_channel(h))
                room[h] = WgmmaRoom(y_residue);
        const bool quads = m.sets == 2 && o.axis[2].stride == 2 && pass.residues == 2;
        if (vectors && o.axis[2].stride == 1)
            put_pairs(m, room, address, b);
        else if (vectors && quads)
            put_quads(m, room, address, b);
        else if (quads)
            put_twos(m, room, address, b);
        else
            put_each(m, pass, room, address, b);
    }

    // Stride 1 of x: both columns are neighbours.
    template <int used, class Address>
    __device__ __forceinline__ void put_pairs(const WgmmaMultiplier<math, residues, N> &m,
                                              const WgmmaRoom (&room)[used], const Address &address,
                                              const float (&b)[used]) const {
        if constexpr (residues == WgmmaResidues::one)
            t.each_place([&](int j, const uint4 &place) {
#pragma unroll
                for (int h = 0; h < used; ++h) {
                    const float *const d = m.sums[0].d + 4 * j + 2 * h;
                    const uint32_t to = address(h, place.x, place.y);
                    if constexpr (bytes == 4)
                        room[h].store_first(place.y, to, make_uint2(word(d[0] + b[h]), word(d[1] + b[h])));
                    else
                        room[h].store_first(place.y, to, as_word(Element{}, d[0] + b[h], d[1] + b[h]));
                }
            });
    }

    // Sums of channel h of the lane, and column 8 * j + i of the two: for the first residue, and for the second.
    static __device__ __forceinline__ float first(const WgmmaMultiplier<math, residues, N> &m, int j, int h, int i) {
        return m.sums[0].d[4 * j + 2 * h + i];
    }
    static __device__ __forceinline__ float second(const WgmmaMultiplier<math, residues, N> &m, int j, int h, int i) {
        return m.sums[m.sets - 1].d[4 * j + 2 * h + i];
    }

    // Stride 2 of x: both columns' outputs for both residues are neighbours.
    template <int used, class Address>
    __device__ __forceinline__ void put_quads(const WgmmaMultiplier<math, residues, N> &m,
                                              const WgmmaRoom (&room)[used], const Address &address,
                                              const float (&b)[used]) const {
        t.each_place([&](int j, const uint4 &place) {
#pragma unroll
            for (int h = 0; h < used; ++h) {
                const float v[4] = {first(m, j, h, 0) + b[h], second(m, j, h, 0) + b[h], first(m, j, h, 1) + b[h],
                                    second(m, j, h, 1) + b[h]};
                const uint32_t to = address(h, place.x, place.y);
                if constexpr (bytes == 4)
                    room[h].store_first(place.y, to, make_uint4(word(v[0]), word(v[1]), word(v[2]), word(v[3])));
                else
                    room[h].store_first(place.y, to,
                                        make_uint2(as_word(Element{}, v[0], v[1]), as_word(Element{}, v[2], v[3])));
            }
        });
    }

    // The same where they are not aligned.
    template <int used, class Address>
    __device__ __forceinline__ void put_twos(const WgmmaMultiplier<math, residues, N> &m, const WgmmaRoom (&room)[used],
                                             const Address &address, const float (&b)[used]) const {
        t.each_place([&](int j, const uint4 &place) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const uint32_t offset = i == 0 ? place.x : place.z, rooms = i == 0 ? place.y : place.w;
#pragma unroll
                for (int h = 0; h < used; ++h) {
                    const float x = first(m, j, h, i) + b[h], y = second(m, j, h, i) + b[h];
                    const uint32_t to = address(h, offset, rooms);
                    if constexpr (bytes == 4) {
                        room[h].store_first(rooms, to, word(x));
                        room[h].store_second(rooms, to + next(), word(y));
                    } else {
                        const uint32_t both = as_word(Element{}, x, y);
                        room[h].store_first(rooms, to, static_cast<uint16_t>(both));
                        room[h].store_second(rooms, to + next(), static_cast<uint16_t>(both >> 16));
                    }
                }
            }
        });
    }

    template <int used, class Address>
    __device__ __forceinline__ void put_each(const WgmmaMultiplier<math, residues, N> &m, const WgmmaPass &pass,
                                             const WgmmaRoom (&room)[used], const Address &address,
                                             const float (&b)[used]) const {
        constexpr int32_t none = 1 << 30;
        int32_t residue[2][used];
#pragma unroll
        for (int h = 0; h < used; ++h) {
            residue[0][h] = has_channel(h) ? pass.residue[0] : none;
            residue[1][h] = has_channel(h) && pass.residues == 2 ? pass.residue[1] : none;
        }
        t.each_place([&](int j, const uint4 &place) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const uint32_t offset = i == 0 ? place.x : place.z, rooms = i == 0 ? place.y : place.w;
                const auto count = static_cast<uint32_t>(room[0].outputs(rooms));
#pragma unroll
                for (int h = 0; h < used; ++h) {
                    const uint32_t to = address(h, offset, rooms);
                    store_element(residue[0][h], count, to, first(m, j, h, i) + b[h]);
                    if (m.sets == 2)
                        store_element(residue[1][h], count, to, second(m, j, h, i) + b[h]);
                }
            }
        });
    }

    // Bytes from one output of x to the next, in a span.
    __device__ __forceinline__ uint32_t next() const { return static_cast<uint32_t>(p.out.x) * bytes; }

    static __device__ __forceinline__ uint32_t word(float v) { return __float_as_uint(v); }

    __device__ __forceinline__ void store_element(uint32_t residue, uint32_t count, uint32_t to, float v) const {
        if constexpr (bytes == 4)
            store_shared_from(count, residue + 1, to + residue * next(), word(v));
        else
            store_shared_from(count, residue + 1, to + residue * next(), from_float<Element>(v).bits);
    }

    WgmmaRing ring; // of one slot, the warpgroup's spans
    const Tile &t;
    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const int32_t warp, lane, channels; // channels: of a warp
    const uint32_t staging;             // of this warp
    const bool vectors;
};

} // namespace ct3d::cuda
