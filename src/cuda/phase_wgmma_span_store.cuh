// SPDX-License-Identifier: MIT
// Spans of a tile, from shared memory to the output, by a warp.
#pragma once

#include "phase_wgmma_write.cuh"
#include "span_store.cuh"

namespace ct3d::cuda {

template <class Element> class WgmmaSpanStore {
public:
    __device__ __forceinline__ WgmmaSpanStore(const PhaseWgmmaParams &params, const WgmmaJob &job, uint32_t staging,
                                              int32_t lane)
        : p(params), o(params.operands), job(job), staging(staging), lane(lane) {}

    // Of `count` channels, from a row of the output on, `first` being the first channel's.
    __device__ __forceinline__ void write(Element *first, int32_t first_y, int32_t count) const {
        if (p.out.short_spans && aligned())
            write_short(first, first_y, count);
        else
            write_bulk(first, first_y, count);
    }

    // Outputs of a row.
    __device__ __forceinline__ int32_t columns() const {
        return min(p.tile.x * o.axis[2].stride, o.axis[2].out - job.x * o.axis[2].stride);
    }

private:
    static constexpr int bytes = static_cast<int>(sizeof(Element)), vector = 16 / bytes;

    __device__ __forceinline__ bool aligned() const { return reinterpret_cast<uintptr_t>(p.y) % sector_bytes == 0; }

    // Spans in pieces of 16 bytes, by all lanes.
    __device__ __forceinline__ void write_short(Element *first, int32_t first_y, int32_t count) const {
        const int32_t quads = count * spans() * static_cast<int32_t>(p.out.span_quads.value);
#pragma unroll 4
        for (int32_t i = lane; i < quads; i += 32) {
            uint32_t rest = i;
            const int32_t quad = static_cast<int32_t>(take_remainder(rest, p.out.span_quads));
            const uint32_t from = staging + rest * p.out.span_bytes + quad * 16;
            uint32_t span = take_remainder(rest, p.out.channel_spans);
            const int32_t row = static_cast<int32_t>(take_remainder(span, p.out.sample_spans)) * o.axis[1].stride;
            if (job.sample + static_cast<int32_t>(span) < p.batch && first_y + row < o.axis[1].out &&
                quad * vector < elements(first_y + row))
                *reinterpret_cast<uint4 *>(first + static_cast<int32_t>(rest) * p.out.channel + span * p.out.sample +
                                           row * p.out.y + quad * vector) = load_shared(from);
        }
    }

    // A span a lane: its body by one copy. Then what is before and after multiples of 16 bytes, an element a lane. Ends
    // of whole sectors would be written once, but take twice as long.
    __device__ __forceinline__ void write_bulk(Element *first, int32_t first_y, int32_t count) const {
        const int32_t total = count * spans();
#pragma unroll 1
        for (int32_t base = 0; base < total; base += 32) {
            const Span span = span_at(first, first_y, base + lane, total);
            if (span.body > 0)
                bulk_store(span.to + span.head, span.from + span.head * bytes,
                           static_cast<uint32_t>(span.body * bytes));
            if (__any_sync(0xffffffff, span.head + span.tail))
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
            inside = inside && job.sample + static_cast<int32_t>(within) < p.batch;
        }
        span.to += rest * p.out.channel;
        const int32_t count = inside && oy < o.axis[1].out ? elements(oy) : 0;
        const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(span.to)) % sector_bytes;
        span.from += past;
        span.head = min(static_cast<int32_t>((sector_bytes - past) % 16) / bytes, count);
        span.body = (count - span.head) / vector * vector;
        span.tail = count - span.head - span.body;
        return span;
    }

    // Of the first `count` lanes' spans.
    __device__ __forceinline__ void write_ends(const Span &own, int32_t count) const {
        const auto parts = static_cast<uint32_t>(own.head | own.tail << 8 | own.body / vector << 16);
        constexpr int32_t items = 2 * vector; // of a span: places for its head and its tail
        const int32_t i = lane % vector;
        const bool tail = lane % items >= vector;
#pragma unroll 2
        for (int32_t first = 0; first < count; first += 32 / items) {
            const int32_t s = first + lane / items; // past `count`: a span without ends
            const auto to =
                reinterpret_cast<Element *>(__shfl_sync(0xffffffff, reinterpret_cast<unsigned long long>(own.to), s));
            const uint32_t from = __shfl_sync(0xffffffff, own.from, s), n = __shfl_sync(0xffffffff, parts, s);
            const auto head = static_cast<int32_t>(n & 0xff), body = static_cast<int32_t>(n >> 16) * vector;
            const int32_t at = tail ? head + body + i : i;
            if (i < (tail ? static_cast<int32_t>(n >> 8 & 0xff) : head))
                to[at] = load_shared_element<Element>(from + at * bytes);
        }
    }

    // Of a channel.
    __device__ __forceinline__ int32_t spans() const { return static_cast<int32_t>(p.out.channel_spans.value); }

    // Of a span that begins in a row.
    __device__ __forceinline__ int32_t elements(int32_t oy) const {
        return p.out.row_spans ? columns() * static_cast<int32_t>(p.out.x)
                               : min(p.tile.y * o.axis[1].stride, o.axis[1].out - oy) * o.axis[2].out;
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const WgmmaJob &job;
    const uint32_t staging;
    const int32_t lane;
};

} // namespace ct3d::cuda
