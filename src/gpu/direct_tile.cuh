// SPDX-License-Identifier: MIT
// What a block does around its sums: find its tile, stage inputs and weights, write the finished outputs.
#pragma once

#include "direct_params.hpp"
#include "divisor.cuh"
#include "span.cuh"

namespace ct3d::gpu {

struct DirectTile {
    int64_t sample;
    int32_t first_group, groups;   // groups that exist, of block_groups
    int32_t first_output, outputs; // channels of each group
    int32_t window[3];
    int32_t first[3], count[3]; // outputs along each axis
};

__device__ __forceinline__ DirectTile locate_direct_tile(const DirectParams &p) {
    DirectTile t;
    uint32_t rest = blockIdx.x;
    int32_t channels = 0;
    if (p.channels_last)
        channels = take_remainder(rest, p.channel_blocks);
    for (int axis = 2; axis >= 0; --axis) {
        const DirectAxis &a = p.axis[axis];
        t.window[axis] = take_remainder(rest, a.tiles) * a.windows;
        const int32_t begin = t.window[axis] * a.stride - a.shift;
        const int32_t end = begin + a.windows * a.stride;
        t.first[axis] = max(begin, 0);
        t.count[axis] = min(end, a.out) - t.first[axis];
    }
    if (!p.channels_last)
        channels = take_remainder(rest, p.channel_blocks);
    t.sample = rest;
    t.first_group = channels / p.output_blocks * p.block_groups;
    t.groups = min(p.block_groups, p.groups - t.first_group);
    t.first_output = channels % p.output_blocks * p.block_outputs;
    t.outputs = min(p.block_outputs, p.out_channels - t.first_output);
    return t;
}

// The input channels first_channel .. of each group of the tile. What lies outside the input is zero.
template <class E> __device__ __forceinline__ void stage_direct_rows(const DirectParams &p, DirectTile t,
                                                                     int32_t first_channel, float *box) {
    const DirectAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
    const int32_t x0 = t.window[2] + ax.box_first;
    const int32_t first = max(-x0, 0), last = min(ax.box, ax.in - x0); // of a row, those inside the input
    const E *x = static_cast<const E *>(p.x) + t.sample * p.x_sample + x0;
    const uint32_t rows = p.block_groups * p.staged.value * az.box * ay.box;
    const int32_t lanes = 1 << p.row_lanes_log, lane = threadIdx.x & (lanes - 1);
#pragma unroll 2
    for (uint32_t row = threadIdx.x >> p.row_lanes_log; row < rows; row += blockDim.x >> p.row_lanes_log) {
        uint32_t rest = row;
        const int32_t by = take_remainder(rest, p.box_y), bz = take_remainder(rest, p.box_z);
        float *to = box + rest * p.channel_pitch + (bz * ay.box + by) * p.row_pitch;
        const int32_t ci = take_remainder(rest, p.staged) + first_channel, group = rest;
        const int32_t iz = t.window[0] + az.box_first + bz, iy = t.window[1] + ay.box_first + by;
        const bool inside = group < t.groups && ci < p.in_channels && iz >= 0 && iz < az.in && iy >= 0 && iy < ay.in;
        const E *from = x + static_cast<int64_t>((t.first_group + group) * p.in_channels + ci) * p.x_channel +
                        iz * p.x_z + iy * p.x_y;
        const int32_t end = inside ? last : 0;
#pragma unroll 4
        for (int32_t bx = lane; bx < ax.box; bx += lanes)
            to[bx] = bx >= first && bx < end ? to_float(from[bx]) : 0.0f;
    }
}

// The same from NDHWC: threads that are neighbours read neighbouring channels.
template <class E> __device__ __forceinline__ void stage_direct_positions(const DirectParams &p, DirectTile t,
                                                                          int32_t first_channel, float *box) {
    const DirectAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
    const int32_t x0 = t.window[2] + ax.box_first;
    const int32_t first = max(-x0, 0), last = min(ax.box, ax.in - x0);
    const E *x = static_cast<const E *>(p.x) + t.sample * p.x_sample + x0 * p.x_x;
    const uint32_t channels = p.block_groups * p.staged.value, rows = az.box * ay.box;
    const int32_t lanes = 1 << p.row_lanes_log, step = blockDim.x >> p.row_lanes_log;
    for (uint32_t c = threadIdx.x & (lanes - 1); c < channels; c += lanes) {
        uint32_t group = c;
        const int32_t ci = take_remainder(group, p.staged) + first_channel;
        const bool exists = static_cast<int32_t>(group) < t.groups && ci < p.in_channels;
        const E *channel = x + static_cast<int64_t>(t.first_group + group) * p.in_channels + ci;
        float *to = box + c * p.channel_pitch;
#pragma unroll 2
        for (uint32_t row = 0; row < rows; ++row, to += p.row_pitch) {
            uint32_t bz = row;
            const int32_t iy = t.window[1] + ay.box_first + take_remainder(bz, p.box_y);
            const int32_t iz = t.window[0] + az.box_first + static_cast<int32_t>(bz);
            const bool inside = exists && iz >= 0 && iz < az.in && iy >= 0 && iy < ay.in;
            const E *from = channel + iz * p.x_z + iy * p.x_y;
            const int32_t end = inside ? last : 0;
#pragma unroll 4
            for (int32_t bx = threadIdx.x >> p.row_lanes_log; bx < ax.box; bx += step)
                to[bx] = bx >= first && bx < end ? to_float(from[bx * p.x_x]) : 0.0f;
        }
    }
}

// For each group and register tile of `tile` output channels: [input channel][tap z, y][tap x][output channel].
// Channels past the end are zero.
template <class E, int tile> __device__ __forceinline__ void
stage_direct_weights(const DirectParams &p, const DirectTile &t, int32_t first_channel, float *weights) {
    const uint32_t taps = static_cast<uint32_t>(p.axis[0].kernel * p.axis[1].kernel * p.axis[2].kernel);
    const int32_t channel_taps = p.axis[0].kernel * p.axis[1].kernel * p.tap_pitch;
    const uint32_t pairs = p.block_groups * p.staged.value * p.channel_tiles.value * tile;
    const E *w = static_cast<const E *>(p.w);
    for (uint32_t tap = threadIdx.x % 32; tap < taps; tap += 32) {
        uint32_t rest = tap;
        const int32_t kx = take_remainder(rest, p.kernel_x), zy = rest, ky = take_remainder(rest, p.kernel_y);
        const int64_t from = rest * p.w_z + ky * p.w_y + kx * p.w_x;
        float *to = weights + zy * p.tap_pitch + kx * tile;
#pragma unroll 2
        for (uint32_t pair = threadIdx.x / 32; pair < pairs; pair += blockDim.x / 32) {
            const int32_t inner = pair % tile;
            uint32_t outer = pair / tile; // [group][register tile][input channel]
            const uint32_t at = outer * channel_taps + inner;
            const int32_t ci = take_remainder(outer, p.staged) + first_channel;
            const int32_t co = take_remainder(outer, p.channel_tiles) * tile + inner, group = outer;
            const bool exists = group < t.groups && ci < p.in_channels && co < t.outputs;
            const int64_t input = static_cast<int64_t>(t.first_group + group) * p.in_channels + ci;
            to[at] = exists ? to_float(w[input * p.w_ci + (t.first_output + co) * p.w_co + from]) : 0.0f;
        }
    }
}

template <class E> __device__ __forceinline__ void stage_direct_bias(const DirectParams &p, DirectTile t, float *bias) {
    for (int32_t c = threadIdx.x; c < p.block_groups * p.block_outputs; c += blockDim.x) {
        const int32_t group = c / p.block_outputs, co = c % p.block_outputs;
        const int64_t channel = static_cast<int64_t>(t.first_group + group) * p.out_channels + t.first_output + co;
        const bool exists = p.bias && group < t.groups && co < t.outputs;
        bias[c] = exists ? to_float(static_cast<const E *>(p.bias)[channel]) : 0.0f;
    }
}

// Positions that follow each other in y.
struct DirectSpan {
    int64_t at;             // of its first position, in elements of y from the sample's channel 0
    uint32_t first, length; // in the sums
};

// The tile's spans: whole planes where it has them, else whole rows, else the rows' parts.
struct DirectSpans {
    uint32_t length, count, rows, rows_z; // rows of a span; spans of a z
    __device__ __forceinline__ DirectSpans(const DirectParams &p, const DirectTile &t) {
        const bool rows_whole = t.count[2] == p.axis[2].out, planes_whole = rows_whole && t.count[1] == p.axis[1].out;
        const uint32_t all = t.count[0] * t.count[1];
        rows = planes_whole ? all : rows_whole ? t.count[1] : 1;
        rows_z = planes_whole ? 1 : rows_whole ? 1 : t.count[1];
        count = all / rows;
        length = rows * t.count[2];
    }
    __device__ __forceinline__ DirectSpan span(const DirectParams &p, const DirectTile &t, uint32_t i) const {
        const uint32_t z = i / rows_z, y = i % rows_z;
        return {(t.first[0] + z) * p.y_z + (t.first[1] + y) * p.y_y + t.first[2] * p.y_x, i * length, length};
    }
};

template <class E> __device__ __forceinline__ void write_direct_rows(const DirectParams &p, DirectTile t,
                                                                     const float *bias, const float *sums) {
    const DirectSpans spans(p, t);
    const uint32_t channels = t.groups * t.outputs, pieces = channels * spans.count;
    const uint32_t workers = pieces >= blockDim.x / 32 ? 32 : blockDim.x;
    for (uint32_t i = threadIdx.x / workers; i < pieces; i += blockDim.x / workers) {
        const uint32_t channel = i / spans.count, group = channel / t.outputs, co = channel % t.outputs;
        const DirectSpan span = spans.span(p, t, i % spans.count);
        const uint32_t c = group * p.block_outputs + co;
        E *y = static_cast<E *>(p.y) + t.sample * p.y_sample + span.at +
               (static_cast<int64_t>(t.first_group + group) * p.out_channels + t.first_output + co) * p.y_channel;
        write_span(y, sums + c * p.sums_pitch, span.first, span.length, bias[c], threadIdx.x % workers, workers);
    }
}

// NDHWC: threads that are neighbours write neighbouring channels, `count` at a time.
template <class E, int count> __device__ __forceinline__ void
write_direct_positions(const DirectParams &p, const DirectTile &t, const float *bias, const float *sums) {
    const DirectSpans spans(p, t);
    const uint32_t channels = t.groups * t.outputs;
    E *sample = static_cast<E *>(p.y) + t.sample * p.y_sample + static_cast<int64_t>(t.first_group) * p.out_channels +
                t.first_output;
    for (uint32_t i = 0; i < spans.count; ++i) {
        const DirectSpan span = spans.span(p, t, i);
        for (uint32_t v = threadIdx.x; v < span.length * p.vectors.value; v += blockDim.x) {
            uint32_t position = v;
            const uint32_t c = take_remainder(position, p.vectors) * count;
            if (c >= channels)
                continue;
            E *y = sample + span.at + position * p.y_x + c;
            const uint32_t s = skewed(span.first + position);
            if constexpr (count == 1) {
                *y = from_float<E>(sums[c * p.sums_pitch + s] + bias[c]);
            } else {
                E values[count];
#pragma unroll
                for (int k = 0; k < count; ++k)
                    values[k] = from_float<E>(sums[(c + k) * p.sums_pitch + s] + bias[c + k]);
                store_vector(y, values);
            }
        }
    }
}

template <class E> __device__ __forceinline__ void write_direct(const DirectParams &p, DirectTile t, const float *bias,
                                                                const float *sums) {
    if (!p.channels_last)
        write_direct_rows<E>(p, t, bias, sums);
    else if (p.vector == 1)
        write_direct_positions<E, 1>(p, t, bias, sums);
    else
        write_direct_positions<E, vector_count<E>>(p, t, bias, sums);
}

template <class E, int tile> __device__ __forceinline__ void stage_direct(const DirectParams &p, DirectTile t,
                                                                          int32_t first_channel, float *shared) {
    if (first_channel == 0)
        stage_direct_bias<E>(p, t, shared);
    stage_direct_weights<E, tile>(p, t, first_channel, shared + p.weights_at);
    if (p.channels_last)
        stage_direct_positions<E>(p, t, first_channel, shared + p.box_at);
    else
        stage_direct_rows<E>(p, t, first_channel, shared + p.box_at);
}

} // namespace ct3d::gpu
