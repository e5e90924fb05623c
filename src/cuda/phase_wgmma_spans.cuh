// SPDX-License-Identifier: MIT
// Output with channels first. Each warp puts its own channels' spans together in shared memory and has them copied, or
// writes short ones itself.
#pragma once

#include "phase_wgmma_multiply.cuh"
#include "phase_wgmma_write.cuh"

namespace ct3d::cuda {

template <GemmMath math, WgmmaResidues residues, int N> class WgmmaSpans {
public:
    using Tile = WgmmaOutputTile<math, residues, N>;
    using Element = typename Tile::Element;
    static constexpr int bytes = Tile::bytes, vector = 16 / bytes;
    static constexpr int halves = 2; // channels of a lane, at most

    __device__ __forceinline__ WgmmaSpans(const Tile &tile, uint32_t shared)
        : t(tile), p(tile.p), o(tile.o), warp(__shfl_sync(0xffffffff, tile.thread() / 32, 0)), lane(tile.thread() % 32),
          channels(o.warp_channels), staging(shared + warp * channels * spans() * p.out.span_bytes),
          aligned(reinterpret_cast<uintptr_t>(p.y) % 16 == 0),
          vectors(p.out.vectors && reinterpret_cast<uintptr_t>(p.y) % (2 * o.axis[2].stride * bytes) == 0) {}

    // Before anything is put into spans: the copies of what was in them have read it. `fill`: they become bias.
    __device__ __forceinline__ void begin(bool fill) const {
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

    // Before the block ends.
    __device__ __forceinline__ void finish() const { bulk_wait_read<0>(); }

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

    // Row spans: those of a residue of y. Where nothing was put into them they have been filled. A span stands at the
    // same place in 16 bytes as in global memory.
    __device__ __forceinline__ void write(int32_t z, int32_t z_residue, int32_t y_residue) const {
        const int32_t first_y = t.first_y * o.axis[1].stride + (p.out.row_spans ? y_residue : 0);
        Element *const first =
            t.output(z, z_residue, p.out.row_spans ? y_residue : 0) + warp * channels * p.out.channel;
        if (p.out.short_spans && aligned)
            write_short(first, first_y, own_channels());
        else
            write_bulk(first, first_y, own_channels());
    }

private:
    // Spans in pieces of 16 bytes, by all lanes.
    __device__ __forceinline__ void write_short(Element *first, int32_t first_y, int32_t count) const {
        __syncwarp();
        const int32_t quads = count * spans() * static_cast<int32_t>(p.out.span_quads.value);
#pragma unroll 4
        for (int32_t i = lane; i < quads; i += 32) {
            uint32_t rest = i;
            const int32_t quad = static_cast<int32_t>(take_remainder(rest, p.out.span_quads));
            const uint32_t from = staging + rest * p.out.span_bytes + quad * 16;
            uint32_t span = take_remainder(rest, p.out.channel_spans);
            const int32_t row = static_cast<int32_t>(take_remainder(span, p.out.sample_spans)) * o.axis[1].stride;
            if (t.job.sample + static_cast<int32_t>(span) < p.batch && first_y + row < o.axis[1].out &&
                quad * vector < elements(first_y + row))
                *reinterpret_cast<uint4 *>(first + static_cast<int32_t>(rest) * p.out.channel + span * p.out.sample +
                                           row * p.out.y + quad * vector) = load_shared(from);
        }
        __syncwarp();
    }

    // A span a lane: its body by one copy. Then what is before and after multiples of 16 bytes, an element a lane.
    __device__ __forceinline__ void write_bulk(Element *first, int32_t first_y, int32_t count) const {
        fence_proxy_async();
        __syncwarp();
        const int32_t total = count * spans();
#pragma unroll 1
        for (int32_t base = 0; base < total; base += 32) {
            const Span span = span_at(first, first_y, base + lane, total);
            if (span.body > 0)
                bulk_store(span.to + span.head, span.from + span.head * bytes,
                           static_cast<uint32_t>(span.body * bytes));
            if (!(p.out.aligned_spans && aligned))
                write_ends(span, min(total - base, 32));
        }
        bulk_commit();
    }

    struct Span {
        Element *to;
        uint32_t from;
        int32_t head, body, tail;
    };

    __device__ __forceinline__ Span span_at(Element *first, int32_t first_y, int32_t index, int32_t total) const {
        Span span{first, staging + index * p.out.span_bytes, 0, 0, 0};
        uint32_t rest = index;
        int32_t oy = first_y;
        bool inside = index < total;
        if (spans() > 1) {
            uint32_t within = take_remainder(rest, p.out.channel_spans);
            const int32_t row = static_cast<int32_t>(take_remainder(within, p.out.sample_spans)) * o.axis[1].stride;
            oy += row;
            span.to += within * p.out.sample + row * p.out.y;
            inside = inside && t.job.sample + static_cast<int32_t>(within) < p.batch;
        }
        span.to += rest * p.out.channel;
        const int32_t count = inside && oy < o.axis[1].out ? elements(oy) : 0;
        const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(span.to)) % 16;
        span.from += past;
        span.head = min(static_cast<int32_t>((16 - past) % 16) / bytes, count);
        span.body = (count - span.head) / vector * vector;
        span.tail = count - span.head - span.body;
        return span;
    }

    __device__ __forceinline__ void write_ends(const Span &own, int32_t count) const {
        const uint32_t ends = static_cast<uint32_t>(own.head | own.tail << 8);
        constexpr int32_t items = 2 * vector; // of a span: places for its head and its tail
        const int32_t i = lane % vector;
        const bool tail = lane % items >= vector;
#pragma unroll 2
        for (int32_t first = 0; first < count; first += 32 / items) {
            const int32_t s = first + lane / items; // past `count`: a span without ends
            const auto to =
                reinterpret_cast<Element *>(__shfl_sync(0xffffffff, reinterpret_cast<unsigned long long>(own.to), s));
            const uint32_t from = __shfl_sync(0xffffffff, own.from, s), n = __shfl_sync(0xffffffff, ends, s);
            const int32_t body = __shfl_sync(0xffffffff, own.body, s);
            const int32_t at = tail ? static_cast<int32_t>(n & 0xff) + body + i : i;
            if (i < static_cast<int32_t>(tail ? n >> 8 : n & 0xff))
                to[at] = load_shared_element<Element>(from + at * bytes);
        }
    }

    // Of this warp; not positive: it has none.
    __device__ __forceinline__ int32_t own_channels() const { return min(channels, t.room() - warp * channels); }
    // Of a channel.
    __device__ __forceinline__ int32_t spans() const { return static_cast<int32_t>(p.out.channel_spans.value); }

    __device__ __forceinline__ int32_t elements(int32_t oy) const {
        if (!p.out.row_spans)
            return min(p.tile.y * o.axis[1].stride, o.axis[1].out - oy) * o.axis[2].out;
        return min(p.tile.x * o.axis[2].stride, o.axis[2].out - t.job.x * o.axis[2].stride);
    }

    __device__ __forceinline__ uint4 bias_quad(int32_t channel) const {
        const uint32_t word = repeated(from_float<Element>(t.bias(warp * channels + channel)));
        return make_uint4(word, word, word, word);
    }

    // Of the lane's channel h: its first span, and its bias.
    __device__ __forceinline__ uint32_t span(int h) const {
        return staging + (lane / 4 + 8 * h) * spans() * p.out.span_bytes;
    }
    __device__ __forceinline__ float bias(int h) const { return t.bias(warp * channels + lane / 4 + 8 * h); }

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
        uint32_t to[used], past[used]; // past: of the span of the tile's first row, modulo 16
        float b[used];
        const auto origin =
            static_cast<uint32_t>(reinterpret_cast<uintptr_t>(t.output(z, z_residue, row_spans ? y_residue : 0)));
#pragma unroll
        for (int h = 0; h < used; ++h) {
            const int32_t channel = warp * channels + lane / 4 + 8 * h;
            past[h] = origin + static_cast<uint32_t>(channel) * static_cast<uint32_t>(p.out.channel) * bytes;
            to[h] = span(h) + (row_spans ? 0 : y_residue * o.axis[2].out * bytes + past[h] % 16);
            b[h] = bias(h);
        }
        const auto address = [&](int h, uint32_t offset, uint32_t rooms) {
            return to[h] + offset + (row_spans ? (past[h] + (rooms & 0xff)) % 16 : 0);
        };
        const WgmmaRoom room(y_residue);
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
    __device__ __forceinline__ void put_pairs(const WgmmaMultiplier<math, residues, N> &m, const WgmmaRoom &room,
                                              const Address &address, const float (&b)[used]) const {
        if constexpr (residues == WgmmaResidues::one)
            t.each_place([&](int j, const uint4 &place) {
#pragma unroll
                for (int h = 0; h < used; ++h) {
                    const float *const d = m.sums[0].d + 4 * j + 2 * h;
                    const uint32_t to = address(h, place.x, place.y);
                    if constexpr (bytes == 4)
                        room.store_first(place.y, to, make_uint2(word(d[0] + b[h]), word(d[1] + b[h])));
                    else
                        room.store_first(place.y, to, as_word(Element{}, d[0] + b[h], d[1] + b[h]));
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
    __device__ __forceinline__ void put_quads(const WgmmaMultiplier<math, residues, N> &m, const WgmmaRoom &room,
                                              const Address &address, const float (&b)[used]) const {
        t.each_place([&](int j, const uint4 &place) {
#pragma unroll
            for (int h = 0; h < used; ++h) {
                const float v[4] = {first(m, j, h, 0) + b[h], second(m, j, h, 0) + b[h], first(m, j, h, 1) + b[h],
                                    second(m, j, h, 1) + b[h]};
                const uint32_t to = address(h, place.x, place.y);
                if constexpr (bytes == 4)
                    room.store_first(place.y, to, make_uint4(word(v[0]), word(v[1]), word(v[2]), word(v[3])));
                else
                    room.store_first(place.y, to,
                                     make_uint2(as_word(Element{}, v[0], v[1]), as_word(Element{}, v[2], v[3])));
            }
        });
    }

    // The same where they are not aligned.
    template <int used, class Address>
    __device__ __forceinline__ void put_twos(const WgmmaMultiplier<math, residues, N> &m, const WgmmaRoom &room,
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
                        room.store_first(rooms, to, word(x));
                        room.store_second(rooms, to + 4, word(y));
                    } else {
                        const uint32_t both = as_word(Element{}, x, y);
                        room.store_first(rooms, to, static_cast<uint16_t>(both));
                        room.store_second(rooms, to + 2, static_cast<uint16_t>(both >> 16));
                    }
                }
            }
        });
    }

    template <int used, class Address>
    __device__ __forceinline__ void put_each(const WgmmaMultiplier<math, residues, N> &m, const WgmmaPass &pass,
                                             const WgmmaRoom &room, const Address &address,
                                             const float (&b)[used]) const {
        const int32_t none = 1 << 30;
        const int32_t residue[2] = {pass.residue[0], pass.residues == 2 ? pass.residue[1] : none};
        t.each_place([&](int j, const uint4 &place) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const uint32_t offset = i == 0 ? place.x : place.z, rooms = i == 0 ? place.y : place.w;
                const auto count = static_cast<uint32_t>(room.outputs(rooms));
#pragma unroll
                for (int h = 0; h < used; ++h) {
                    const uint32_t to = address(h, offset, rooms);
                    store_element(residue[0], count, to, first(m, j, h, i) + b[h]);
                    if (m.sets == 2)
                        store_element(residue[1], count, to, second(m, j, h, i) + b[h]);
                }
            }
        });
    }

    static __device__ __forceinline__ uint32_t word(float v) { return __float_as_uint(v); }

    static __device__ __forceinline__ void store_element(uint32_t residue, uint32_t count, uint32_t to, float v) {
        if constexpr (bytes == 4)
            store_shared_from(count, residue + 1, to + residue * 4, word(v));
        else
            store_shared_from(count, residue + 1, to + residue * 2, from_float<Element>(v).bits);
    }

    const Tile &t;
    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const int32_t warp, lane, channels; // channels: of a warp
    const uint32_t staging;             // of this warp
    const bool aligned, vectors;
};

} // namespace ct3d::cuda
