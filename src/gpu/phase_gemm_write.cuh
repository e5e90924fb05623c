// SPDX-License-Identifier: MIT
// The phase GEMM's output. Channels last: from registers, 16 bytes a lane. Channels first: spans, what a tile writes of
// one channel without a gap, are put together in shared memory from all residues of x and y, then copied in bulk.
#pragma once

#include "phase_gemm_box.cuh"
#include "phase_gemm_sums.cuh"

namespace ct3d::gpu {

template <GemmMath math> class GemmOutput {
public:
    using Element = typename Operands<math>::Element;
    static constexpr int bytes = static_cast<int>(sizeof(Element));
    static constexpr int vector = 16 / bytes;
    // Of a fragment's 16 positions, those that a lane has, and how far they are apart.
    static constexpr int lane_rows = 4 / gemm_lane_channels, apart = 16 / lane_rows;

    __device__ __forceinline__ GemmOutput(const PhaseGemmParams &params, const GemmTile &t, int32_t block_channels)
        : p(params), tile(t), first_channel(t.out_block * block_channels) {
        y = static_cast<Element *>(p.y) + int64_t{tile.group} * p.channels.out * p.y_channel;
        origin = y + tile.sample * p.y_sample + int64_t{tile.residue + tile.first[0] * p.axis[0].stride} * p.y_step[0] +
                 int64_t{tile.first[1]} * p.axis[1].stride * p.y_step[1] +
                 int64_t{tile.first[2]} * p.axis[2].stride * p.y_step[2];
    }

    __device__ __forceinline__ GemmIndex position(int32_t row) const {
        return {static_cast<uint32_t>(row), p.axis[2].tile, p.axis[1].tile, p.axis[0].tile};
    }

    // ---- tables

    // In the order in which lanes have channels in their fragments.
    __device__ __forceinline__ void fill_bias(float *table, int32_t channels) const {
#pragma unroll 1
        for (int32_t i = static_cast<int32_t>(threadIdx.x); i < channels; i += blockDim.x)
            table[i] = bias_of(gemm_channel(gemm_lane_channels, i / gemm_fragment_channels, i % gemm_fragment_channels,
                                            vector, p.channels_last != 0));
    }

    __device__ __forceinline__ void fill_places(GemmPlace *places, int32_t positions) const {
#pragma unroll 1
        for (int32_t i = static_cast<int32_t>(threadIdx.x); i < positions; i += blockDim.x)
            places[i] = i < p.tile_positions ? place_of(position(i)) : GemmPlace{};
    }

    // ---- channels last

    // Elements of channels that follow each other, `channel` the first in the block.
    __device__ __forceinline__ void write_vector(Element *to, int32_t channel, const Element (&v)[vector]) const {
        if (p.y_aligned && first_channel + channel + vector <= p.channels.out) {
            write_global(reinterpret_cast<uint4 *>(to + first_channel + channel), as_quad(v));
        } else {
#pragma unroll
            for (int i = 0; i < vector; ++i)
                if (first_channel + channel + i < p.channels.out)
                    write_global(to + (first_channel + channel + i), v[i]);
        }
    }

    template <int M, int N> __device__ __forceinline__ void
    write_last(const Sums<math, M, N> &sums, const GemmPlace *places, int32_t column, int32_t ry, int32_t rx) const {
        constexpr int own = gemm_lane_channels, parts = vector / own;
        const int32_t lane = opaque(threadIdx.x) % gemm_wave;
        Element *const to = origin + ry * p.y_step[1] + rx * p.y_step[2];
#pragma unroll
        for (int i = 0; i < lane_rows * M; ++i) {
            const GemmPlace place = places[i * apart + gemm_lane_row(lane)];
            if (ry >= place.y_room || rx >= place.x_room)
                continue;
#pragma unroll
            for (int run = 0; run < N / parts; ++run) {
                Element v[vector];
#pragma unroll
                for (int j = 0; j < vector; ++j)
                    v[j] = from_float<Element>(
                        sums.sum[i / lane_rows][run * parts + j / own][i % lane_rows * own + j % own]);
                write_vector(to + place.offset, column + (run * 4 + gemm_lane_quarter(lane)) * vector, v);
            }
        }
    }

    // A thread has one vector of channels.
    __device__ __forceinline__ void write_last_bias(const GemmPlace *places, int32_t ry, int32_t rx,
                                                    int32_t block_channels) const {
        const int32_t vectors = block_channels / vector;
        const int32_t channel = static_cast<int32_t>(threadIdx.x) % vectors * vector;
        Element v[vector];
#pragma unroll
        for (int i = 0; i < vector; ++i)
            v[i] = from_float<Element>(bias_of(channel + i));
        Element *const to = origin + ry * p.y_step[1] + rx * p.y_step[2];
#pragma unroll 2
        for (int32_t row = static_cast<int32_t>(threadIdx.x) / vectors; row < p.tile_positions;
             row += blockDim.x / vectors) {
            const GemmPlace place = places[row];
            if (ry < place.y_room && rx < place.x_room)
                write_vector(to + place.offset, channel, v);
        }
    }

    // ---- channels first

    // Fills the spans of a slice with its bias, a channel by 32 threads.
    __device__ __forceinline__ void fill_spans(unsigned char *spans, int32_t slice) const {
        const int32_t quads = p.spans * p.span_bytes / 16;
#pragma unroll 1
        for (int32_t channel = static_cast<int32_t>(threadIdx.x) / 32; channel < p.slice; channel += blockDim.x / 32) {
            Element v[vector];
            const Element value = from_float<Element>(bias_of(slice + channel));
#pragma unroll
            for (int i = 0; i < vector; ++i)
                v[i] = value;
            const uint4 quad = as_quad(v);
            uint4 *const to = reinterpret_cast<uint4 *>(spans) + channel * quads;
#pragma unroll 4
            for (int32_t i = static_cast<int32_t>(threadIdx.x) % 32; i < quads; i += 32)
                to[i] = quad;
        }
    }

    // Puts sums of the channels [slice, slice + p.slice) into their spans.
    template <int M, int N>
    __device__ __forceinline__ void scatter(const Sums<math, M, N> &sums, const GemmPlace *places, int32_t column,
                                            int32_t ry, int32_t rx, int32_t slice, unsigned char *spans) const {
        constexpr int own = gemm_lane_channels;
        const int32_t lane = opaque(threadIdx.x) % gemm_wave, row = p.axis[2].out * bytes;
        const int32_t residues = (p.row_spans ? 0 : ry * row) + rx * bytes;
        const uint32_t row_start = p.row_spans ? static_cast<uint32_t>(ry * row) : 0;
        int32_t place[lane_rows * M]; // of a lane's positions among the spans of a channel; negative: none
        uint32_t start[lane_rows * M];
#pragma unroll
        for (int i = 0; i < lane_rows * M; ++i) {
            const GemmPlace found = places[i * apart + gemm_lane_row(lane)];
            place[i] = ry < found.y_room && rx < found.x_room ? found.offset + residues : -1;
            start[i] = found.start + row_start;
        }
#pragma unroll
        for (int j = 0; j < own * N; ++j) {
            const int32_t channel =
                column + j / own * gemm_fragment_channels + gemm_lane_quarter(lane) * own + j % own - slice;
            if (channel < 0 || channel >= p.slice)
                continue;
            unsigned char *const to = spans + channel * p.spans * p.span_bytes;
            const uint32_t channel_start = low_address(slice + channel);
#pragma unroll
            for (int i = 0; i < lane_rows * M; ++i)
                if (place[i] >= 0)
                    *reinterpret_cast<Element *>(to + place[i] + (start[i] + channel_start) % 16) =
                        from_float<Element>(sums.sum[i / lane_rows][j / own][i % lane_rows * own + j % own]);
        }
    }

    // Copies the spans of a slice to global memory; row spans: the rows of a residue of y.
    __device__ __forceinline__ void store(const unsigned char *spans, int32_t slice, int32_t ry) const {
        const int32_t rows = static_cast<int32_t>(p.axis[1].tile.value),
                      planes = static_cast<int32_t>(p.axis[0].tile.value);
#pragma unroll 1
        for (int32_t item = static_cast<int32_t>(threadIdx.x) / gemm_span_lanes; item < p.slice * p.spans;
             item += blockDim.x / gemm_span_lanes) {
            const int32_t channel = slice + item / p.spans;
            int32_t index = item % p.spans, row = 0;
            if (p.row_spans) {
                row = index % rows * p.axis[1].stride + ry;
                index /= rows;
            }
            const int32_t sample = index / planes, z = index % planes;
            const int32_t elements = span_elements(sample, z, row);
            if (first_channel + channel < p.channels.out && elements > 0)
                store_span(span_start(sample, z, row), channel, spans + item * p.span_bytes, elements);
        }
        finish_copies();
    }

private:
    static __device__ __forceinline__ uint4 as_quad(const Element (&v)[vector]) {
        uint4 quad;
        memcpy(&quad, v, 16);
        return quad;
    }

    // Of a channel of the block.
    __device__ __forceinline__ float bias_of(int32_t channel) const {
        const int32_t own = first_channel + channel;
        return p.bias && own < p.channels.out
                   ? to_float(read_global(static_cast<const Element *>(p.bias) + (tile.group * p.channels.out + own)))
                   : 0.f;
    }

    // Channels last: the offset counts elements from `origin`. Channels first: bytes from the first span of a channel.
    __device__ __forceinline__ GemmPlace place_of(const GemmIndex &at) const {
        const auto &[az, ay, ax] = p.axis;
        const int32_t oz = tile.residue + (tile.first[0] + at.z) * az.stride;
        const int32_t oy = (tile.first[1] + at.y) * ay.stride, ox = (tile.first[2] + at.x) * ax.stride;
        if (oz >= az.out || oy >= ay.out || ox >= ax.out || tile.sample + at.sample >= p.batch)
            return {};
        GemmPlace place{};
        place.y_room = static_cast<uint8_t>(min(ay.out - oy, ay.stride));
        place.x_room = static_cast<uint8_t>(min(ax.out - ox, ax.stride));
        if (p.channels_last) {
            place.offset = static_cast<int32_t>(at.sample * p.y_sample + at.z * az.stride * p.y_step[0] +
                                                at.y * ay.stride * p.y_step[1] + at.x * ax.stride * p.y_step[2]);
            return place;
        }
        const int32_t plane = at.sample * static_cast<int32_t>(az.tile.value) + at.z;
        const int32_t row = p.row_spans ? at.y * ay.stride : 0;
        place.start = static_cast<uint8_t>(static_cast<uint32_t>(span_start(at.sample, at.z, row)) * bytes % 16);
        place.offset = at.x * ax.stride * bytes +
                       (p.row_spans ? (plane * static_cast<int32_t>(ay.tile.value) + at.y) * p.span_bytes
                                    : plane * p.span_bytes + at.y * ay.stride * ax.out * bytes);
        return place;
    }

    // The address of a channel of the block as far as alignment goes.
    __device__ __forceinline__ uint32_t low_address(int32_t channel) const {
        return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(y)) +
               static_cast<uint32_t>(bytes) * static_cast<uint32_t>(first_channel + channel) *
                   static_cast<uint32_t>(p.y_channel);
    }

    // A span stands in shared memory at the same place in 16 bytes as in global memory.
    __device__ __forceinline__ uint32_t misalignment(int64_t at, int32_t channel) const {
        return (low_address(channel) + static_cast<uint32_t>(bytes) * static_cast<uint32_t>(at)) % 16;
    }

    // In elements from y, before the channel.
    __device__ __forceinline__ int64_t span_start(int32_t sample, int32_t z, int32_t row) const {
        const int32_t oz = tile.residue + (tile.first[0] + z) * p.axis[0].stride;
        const int32_t oy = tile.first[1] * p.axis[1].stride + row, ox = tile.first[2] * p.axis[2].stride;
        return (tile.sample + sample) * p.y_sample + oz * p.y_step[0] + oy * p.y_step[1] + ox;
    }

    __device__ __forceinline__ int32_t span_elements(int32_t sample, int32_t z, int32_t row) const {
        const auto &[az, ay, ax] = p.axis;
        const int32_t oy = tile.first[1] * ay.stride, ox = tile.first[2] * ax.stride;
        if (tile.sample + sample >= p.batch || tile.residue + (tile.first[0] + z) * az.stride >= az.out ||
            oy + row >= ay.out)
            return 0;
        if (!p.row_spans)
            return min(static_cast<int32_t>(ay.tile.value) * ay.stride, ay.out - oy) * ax.out;
        return min(static_cast<int32_t>(ax.tile.value) * ax.stride, ax.out - ox);
    }

    __device__ __forceinline__ void store_span(int64_t at, int32_t channel, const unsigned char *span,
                                               int32_t elements) const {
        const int32_t lane = gemm_span_lanes == 1 ? 0 : static_cast<int32_t>(threadIdx.x) % gemm_span_lanes;
        Element *to = y + at + (first_channel + channel) * p.y_channel;
        const unsigned char *from = span + misalignment(at, channel);
        const int32_t head = min(static_cast<int32_t>((16 - misalignment(at, channel)) % 16) / bytes, elements);
        const int32_t body = (elements - head) / vector * vector;
        if (body > 0)
            copy_span(to + head, from + head * bytes, static_cast<uint32_t>(body * bytes), lane);
        const Element *const values = reinterpret_cast<const Element *>(from);
#pragma unroll 1
        for (int32_t i = lane; i < head; i += gemm_span_lanes)
            write_global(to + i, values[i]);
#pragma unroll 1
        for (int32_t i = head + body + lane; i < elements; i += gemm_span_lanes)
            write_global(to + i, values[i]);
    }

    const PhaseGemmParams &p;
    const GemmTile &tile;
    const int32_t first_channel; // of the group
    Element *y;                  // of the group
    Element *origin;             // of the tile, for residues 0 of y and x
};

} // namespace ct3d::gpu
