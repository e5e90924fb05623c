// SPDX-License-Identifier: MIT
// The direct kernel for shapes that are compiled in: all sums of an item in registers, written from there.
#include "../arithmetic.hpp"
#include "direct_windows_params.hpp"
#include "divisor.cuh"
#include "span.cuh"

namespace ct3d::gpu {

namespace {

// `padding` is that of x; along z and y a window begins where an input's first tap lands, so that it reads the fewest
// rows.
template <int stride_, int kernel_z_, int kernel_y_, int kernel_x_, int padding_, int tile_, int windows_z_,
          int windows_y_>
struct Shape {
    static constexpr int stride = stride_, padding = padding_, tile = tile_;
    static constexpr int kernel_z = kernel_z_, kernel_y = kernel_y_, kernel_x = kernel_x_;
    static constexpr int taps = kernel_z * kernel_y * kernel_x;
    static constexpr int windows_z = windows_z_, windows_y = windows_y_, windows_x = windows_outputs_x / stride;
    static_assert(windows_x * stride == windows_outputs_x);
    static constexpr int outputs_z = windows_z * stride, outputs_y = windows_y * stride;
    // Inputs before a window's own.
    static constexpr int back_z = (kernel_z - 1) / stride, back_y = (kernel_y - 1) / stride;
    static constexpr int back_x = (kernel_x - 1 - padding) / stride;
    static constexpr int inputs_z = windows_z + back_z, inputs_y = windows_y + back_y;
    static constexpr int inputs_x = windows_x + back_x + (padding > 0);
    static constexpr int row = round_up(kernel_x * tile, 4); // NCDHW: staged weights of one (z, y) pair of taps
};

template <class S> using Sums = float[S::outputs_z][S::outputs_y][windows_outputs_x][S::tile];

// What does not change while a thread goes from item to item.
struct Place {
    int32_t sample;
    uint32_t item;                        // the thread's first
    uint32_t first_cell;                  // of the block
    uint32_t cell;                        // in the block
    int32_t group, first_output, outputs; // channels
    bool exists;
};

template <class S, bool last> __device__ __forceinline__ Place locate(const WindowsParams &p) {
    Place t;
    uint32_t rest = blockIdx.x, part = 0, cells = 0;
    if (last)
        cells = take_remainder(rest, p.cell_blocks), part = take_remainder(rest, p.parts);
    else
        part = take_remainder(rest, p.parts), cells = take_remainder(rest, p.cell_blocks);
    t.sample = static_cast<int32_t>(rest);
    t.item = t.cell = threadIdx.x;
    if (last)
        t.cell = take_remainder(t.item, p.block_cells);
    else
        t.item = take_remainder(t.cell, p.block_items);
    t.first_cell = cells * p.block_cells.value;
    const uint32_t cell = t.first_cell + t.cell;
    t.exists = t.cell < p.block_cells.value && t.item < p.block_items.value && cell < static_cast<uint32_t>(p.cells);
    if (!t.exists)
        t.cell = 0;
    t.item += part * p.steps * p.block_items.value;
    uint32_t group = t.exists ? cell : 0;
    t.first_output = static_cast<int32_t>(take_remainder(group, p.tiles)) * S::tile;
    t.group = static_cast<int32_t>(group);
    t.outputs = S::tile == 1 ? 1 : min(S::tile, p.out_channels - t.first_output);
    return t;
}

// NDHWC: [input channel][tap][cell][output channel], so that cells that are neighbours meet in no bank; else
// [cell][input channel][tap][output channel], so that a row of taps is read at once. Outputs past the end are zero.
template <class E, class S, bool last>
__device__ __forceinline__ void stage_weights(const WindowsParams &p, const Place &t, int32_t first, float *weights) {
    const E *w = static_cast<const E *>(p.w);
    for (uint32_t i = threadIdx.x; i < static_cast<uint32_t>(p.weights); i += blockDim.x) {
        uint32_t rest = i / S::tile, cell = 0;
        const uint32_t co = i % S::tile;
        if (last)
            cell = take_remainder(rest, p.block_cells);
        const uint32_t tap = rest % S::taps;
        uint32_t ci = rest / S::taps, at = 0;
        if (last) {
            at = (ci * S::taps + tap) * windows_tap_words + cell * S::tile + co;
        } else {
            at = (ci * S::kernel_z * S::kernel_y + tap / S::kernel_x) * S::row + tap % S::kernel_x * S::tile + co;
            cell = ci;
            ci = take_remainder(cell, p.staged);
        }
        uint32_t group = t.first_cell + cell;
        const bool cell_exists = group < static_cast<uint32_t>(p.cells);
        const int32_t output = static_cast<int32_t>(take_remainder(group, p.tiles) * S::tile + co);
        const int32_t channel = first + static_cast<int32_t>(ci);
        const bool exists = cell_exists && output < p.out_channels && channel < p.in_channels;
        const int32_t input = static_cast<int32_t>(group) * p.in_channels + channel;
        weights[at] =
            exists ? to_float(w[input * p.w_ci + output * p.w_co + static_cast<int32_t>(tap) * p.w_tap]) : 0.0f;
    }
}

// The extents of an item's inputs that exist, one bit each.
template <int count> __device__ __forceinline__ uint32_t existing(int32_t first, int32_t extent) {
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < count; ++i)
        if (static_cast<uint32_t>(first + i) < static_cast<uint32_t>(extent))
            bits |= 1u << i;
    return bits;
}

template <class E> struct Item {
    const E *x;                            // its first input, which need not exist
    uint32_t inputs_z, inputs_y, inputs_x; // those that exist
    int32_t z, y, x_out;                   // its first output; z and y may be negative
};

template <class E, class S, bool last>
__device__ __forceinline__ Item<E> locate_item(const WindowsParams &p, const Place &t, uint32_t item) {
    const WindowsAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
    const int32_t x = static_cast<int32_t>(take_remainder(item, p.runs)) * S::windows_x;
    const int32_t y = static_cast<int32_t>(take_remainder(item, p.items_y)) * S::windows_y;
    const bool exists = t.exists && item < static_cast<uint32_t>(p.items_z);
    const int32_t z = static_cast<int32_t>(item) * S::windows_z;
    const int32_t in_z = z + az.first_in, in_y = y + ay.first_in, in_x = x + ax.first_in;
    Item<E> i;
    i.x = static_cast<const E *>(p.x) + t.sample * p.x_sample +
          static_cast<int64_t>(t.group) * p.in_channels * p.x_channel + int64_t{in_z} * p.x_z + int64_t{in_y} * p.x_y +
          int64_t{in_x} * (last ? p.x_x : 1);
    i.inputs_z = exists ? existing<S::inputs_z>(in_z, az.in) : 0;
    i.inputs_y = existing<S::inputs_y>(in_y, ay.in);
    i.inputs_x = existing<S::inputs_x>(in_x, ax.in);
    i.z = exists ? z * S::stride - az.shift : az.out;
    i.y = y * S::stride - ay.shift;
    i.x_out = x * S::stride;
    return i;
}

template <class E, int channels> __device__ __forceinline__ void load_inputs(float (&to)[channels], const E *from) {
    if constexpr (channels == 1) {
        to[0] = to_float(*from);
    } else if constexpr (sizeof(E) == 4) {
        const float4 v = *reinterpret_cast<const float4 *>(from);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else {
        const uint2 v = *reinterpret_cast<const uint2 *>(from);
        to[0] = to_float(E{static_cast<uint16_t>(v.x)}), to[1] = to_float(E{static_cast<uint16_t>(v.x >> 16)});
        to[2] = to_float(E{static_cast<uint16_t>(v.y)}), to[3] = to_float(E{static_cast<uint16_t>(v.y >> 16)});
    }
}

template <class S, bool last> __device__ __forceinline__ void load_taps(float (&to)[S::row], const float *from) {
    if constexpr (!last) {
#pragma unroll
        for (int i = 0; i < S::row; i += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(from + i);
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int k = 0; k < S::kernel_x; ++k)
            if constexpr (S::tile == 4) {
                const float4 v = *reinterpret_cast<const float4 *>(from + k * windows_tap_words);
                to[k * 4] = v.x, to[k * 4 + 1] = v.y, to[k * 4 + 2] = v.z, to[k * 4 + 3] = v.w;
            } else {
                to[k] = from[k * windows_tap_words];
            }
    }
}

// One row of inputs times one row of taps.
template <class S, int channels> __device__ __forceinline__ void add_row(float (&sums)[windows_outputs_x][S::tile],
                                                                         const float (&in)[S::inputs_x][channels],
                                                                         int channel, const float (&taps)[S::row]) {
#pragma unroll
    for (int k = 0; k < S::kernel_x; ++k)
#pragma unroll
        for (int i = 0; i < S::inputs_x; ++i) {
            const int o = (i - S::back_x) * S::stride + k - S::padding;
            if (o >= 0 && o < windows_outputs_x)
#pragma unroll
                for (int co = 0; co < S::tile; ++co)
                    sums[o][co] = fmaf(in[i][channel], taps[k * S::tile + co], sums[o][co]);
        }
}

template <class S> __device__ __forceinline__ void settle_row(float (&sums)[windows_outputs_x][S::tile]) {
    float *const all = &sums[0][0];
#pragma unroll
    for (int i = 0; i < windows_outputs_x * S::tile; i += 2)
        settle(all[i], all[i + 1]);
}

// Adds `channels` input channels.
template <class E, class S, bool last, int channels> __device__ __forceinline__ void
add_channels(Sums<S> &sums, const WindowsParams &p, const Item<E> &item, const E *x, const float *weights) {
    constexpr int row_words = last ? S::kernel_x * windows_tap_words : S::row;
    constexpr int channel_words = S::kernel_z * S::kernel_y * row_words;
    const int32_t step_x = last ? p.x_x : 1;
#pragma unroll
    for (int jz = 0; jz < S::inputs_z; ++jz)
#pragma unroll
        for (int jy = 0; jy < S::inputs_y; ++jy) {
            float in[S::inputs_x][channels] = {};
            const int32_t row = jz * p.x_z + jy * p.x_y;
            const bool exists = item.inputs_z >> jz & item.inputs_y >> jy & 1;
#pragma unroll
            for (int i = 0; i < S::inputs_x; ++i)
                if (exists && (item.inputs_x >> i & 1))
                    load_inputs(in[i], x + (row + i * step_x));
#pragma unroll
            for (int channel = 0; channel < channels; ++channel)
#pragma unroll
                for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
                    for (int oy = 0; oy < S::outputs_y; ++oy) {
                        const int kz = oz + (S::back_z - jz) * S::stride, ky = oy + (S::back_y - jy) * S::stride;
                        if (kz >= 0 && kz < S::kernel_z && ky >= 0 && ky < S::kernel_y) {
                            float taps[S::row];
                            load_taps<S, last>(taps,
                                               weights + channel * channel_words + (kz * S::kernel_y + ky) * row_words);
                            add_row<S, channels>(sums[oz][oy], in, channel, taps);
                            settle_row<S>(sums[oz][oy]);
                        }
                    }
        }
}

template <class E, class S>
__device__ __forceinline__ void set_bias(Sums<S> &sums, const WindowsParams &p, const Place &t) {
    const int32_t first = t.group * p.out_channels + t.first_output;
#pragma unroll
    for (int co = 0; co < S::tile; ++co) {
        const bool exists = p.bias && co < t.outputs;
        const float bias = exists ? to_float(static_cast<const E *>(p.bias)[first + co]) : 0.0f;
#pragma unroll
        for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
            for (int oy = 0; oy < S::outputs_y; ++oy)
#pragma unroll
                for (int o = 0; o < windows_outputs_x; ++o)
                    sums[oz][oy][o][co] = bias;
    }
}

template <class E> __device__ __forceinline__ void store_four(E *to, const float (&v)[4]) {
    E e[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        e[k] = from_float<E>(v[k]);
    if constexpr (sizeof(E) == 4)
        *reinterpret_cast<float4 *>(to) = make_float4(e[0], e[1], e[2], e[3]);
    else
        *reinterpret_cast<uint2 *>(to) = make_uint2(word(e), word(e + 2));
}

template <class E>
__device__ __forceinline__ int64_t output_offset(const WindowsParams &p, const Place &t, const Item<E> &i) {
    const int64_t channel = static_cast<int64_t>(t.group) * p.out_channels + t.first_output;
    return t.sample * p.y_sample + channel * p.y_channel + int64_t{i.z} * p.y_z + int64_t{i.y} * p.y_y +
           int64_t{i.x_out} * p.y_x;
}

template <class E, class S> __device__ __forceinline__ void write_positions(const WindowsParams &p, const Place &t,
                                                                            const Item<E> &i, const Sums<S> &sums) {
    E *y = whole(static_cast<E *>(p.y) + output_offset(p, t, i));
    const uint32_t columns = existing<windows_outputs_x>(i.x_out, p.axis[2].out);
#pragma unroll
    for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
        for (int oy = 0; oy < S::outputs_y; ++oy) {
            if (static_cast<uint32_t>(i.z + oz) >= static_cast<uint32_t>(p.axis[0].out) ||
                static_cast<uint32_t>(i.y + oy) >= static_cast<uint32_t>(p.axis[1].out))
                continue;
#pragma unroll
            for (int o = 0; o < windows_outputs_x; ++o) {
                if (!(columns >> o & 1))
                    continue;
                E *to = y + (oz * p.y_z + oy * p.y_y + o * p.y_x);
                if constexpr (S::tile == 1) {
                    *to = from_float<E>(sums[oz][oy][o][0]);
                } else if (p.vector) {
                    store_four(to, sums[oz][oy][o]);
                } else {
#pragma unroll
                    for (int co = 0; co < S::tile; ++co)
                        if (co < t.outputs)
                            to[co] = from_float<E>(sums[oz][oy][o][co]);
                }
            }
        }
}

template <class S>
__device__ __forceinline__ void take_row(float (&row)[4], const Sums<S> &sums, int oz, int oy, int co) {
#pragma unroll
    for (int o = 0; o < windows_outputs_x; ++o)
        row[o] = sums[oz][oy][o][co];
}

// Rows whose length and start are multiples of four.
template <class E, class S> __device__ __forceinline__ void write_vectors(const WindowsParams &p, const Place &t,
                                                                          const Item<E> &i, const Sums<S> &sums) {
    E *y = static_cast<E *>(p.y) + output_offset(p, t, i);
#pragma unroll
    for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
        for (int oy = 0; oy < S::outputs_y; ++oy) {
            if (static_cast<uint32_t>(i.z + oz) >= static_cast<uint32_t>(p.axis[0].out) ||
                static_cast<uint32_t>(i.y + oy) >= static_cast<uint32_t>(p.axis[1].out))
                continue;
#pragma unroll
            for (int co = 0; co < S::tile; ++co)
                if (S::tile == 1 || co < t.outputs) {
                    float v[4];
                    take_row<S>(v, sums, oz, oy, co);
                    store_four(y + (oz * p.y_z + oy * p.y_y + co * p.y_channel), v);
                }
        }
}

// Lane l takes element l of its warp's rows, l + 32, ...: threads that are neighbours then store outputs that are
// neighbours, whatever the alignment. Rows are put into two places in turn, as other lanes may still read the last one.
template <class S> __device__ __forceinline__ void exchange_row(float (&to)[4], const Sums<S> &sums, int oz, int oy,
                                                                int co, float *exchange) {
    constexpr int row_words = 32 * windows_outputs_x; // of a warp
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *row = exchange + (2 * warp + ((oz * S::outputs_y + oy) * S::tile + co) % 2) * row_words;
    float v[4];
    take_row<S>(v, sums, oz, oy, co);
    *reinterpret_cast<float4 *>(row + lane * 4) = make_float4(v[0], v[1], v[2], v[3]);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 4; ++j)
        to[j] = row[j * 32 + lane];
}

// Where the items of a warp are neighbours along x.
template <class E, class S> __device__ __forceinline__ void
write_lines(const WindowsParams &p, const Place &t, const Item<E> &i, const Sums<S> &sums, float *exchange) {
    const int32_t lane = threadIdx.x % 32, columns = p.axis[2].out - i.x_out + lane * 3; // from the lane's first on
    E *y = static_cast<E *>(p.y) + (output_offset(p, t, i) - lane * 3);
#pragma unroll
    for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
        for (int oy = 0; oy < S::outputs_y; ++oy) {
            const bool exists = static_cast<uint32_t>(i.z + oz) < static_cast<uint32_t>(p.axis[0].out) &&
                                static_cast<uint32_t>(i.y + oy) < static_cast<uint32_t>(p.axis[1].out);
            const int32_t outputs = exists ? t.outputs : 0;
#pragma unroll
            for (int co = 0; co < S::tile; ++co) {
                float v[4];
                exchange_row<S>(v, sums, oz, oy, co, exchange);
                if (co >= outputs)
                    continue;
                E *to = y + (oz * p.y_z + oy * p.y_y + co * p.y_channel);
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (j * 32 < columns)
                        to[j * 32] = from_float<E>(v[j]);
            }
        }
    __syncwarp();
}

// Where they may be anywhere: element l is of the item of lane l / 4.
template <class E, class S> __device__ __forceinline__ void
write_rows(const WindowsParams &p, const Place &t, const Item<E> &i, const Sums<S> &sums, float *exchange) {
    constexpr unsigned all_lanes = 0xffffffff;
    const int32_t lane = threadIdx.x % 32;
    const int32_t columns = max(min(p.axis[2].out - i.x_out, windows_outputs_x), 0);
    const int64_t item = output_offset(p, t, i);
    E *y = static_cast<E *>(p.y) + lane % 4;
#pragma unroll
    for (int oz = 0; oz < S::outputs_z; ++oz)
#pragma unroll
        for (int oy = 0; oy < S::outputs_y; ++oy) {
            const bool exists = static_cast<uint32_t>(i.z + oz) < static_cast<uint32_t>(p.axis[0].out) &&
                                static_cast<uint32_t>(i.y + oy) < static_cast<uint32_t>(p.axis[1].out);
            const int32_t extent = exists ? columns * 8 + t.outputs : 0;
            E *to[4];
            int32_t outputs[4]; // that exist
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int32_t source = j * 8 + lane / 4, of_source = __shfl_sync(all_lanes, extent, source);
                outputs[j] = lane % 4 < of_source / 8 ? of_source % 8 : 0;
                to[j] = y + (__shfl_sync(all_lanes, item, source) + (oz * p.y_z + oy * p.y_y));
            }
#pragma unroll
            for (int co = 0; co < S::tile; ++co) {
                float v[4];
                exchange_row<S>(v, sums, oz, oy, co, exchange);
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (co < outputs[j])
                        to[j][co * p.y_channel] = from_float<E>(v[j]);
            }
        }
    __syncwarp();
}

template <class E, class S, bool last, int channels>
__device__ __forceinline__ void direct_windows(const WindowsParams &p, float *shared) {
    constexpr int channel_words = last ? S::taps * windows_tap_words : S::kernel_z * S::kernel_y * S::row;
    const Place t = locate<S, last>(p);
    const int32_t staged = static_cast<int32_t>(p.staged.value);
    const float *weights = shared + t.cell * (last ? S::tile : staged * channel_words);
    for (int32_t step = 0; step < p.steps; ++step) {
        const Item<E> item = locate_item<E, S, last>(p, t, t.item + step * p.block_items.value);
        Sums<S> sums;
        set_bias<E, S>(sums, p, t);
        const E *x = item.x;
        for (int32_t first = 0; first < p.in_channels; first += staged) {
            if (step == 0 || staged < p.in_channels) {
                __syncthreads();
                stage_weights<E, S, last>(p, t, first, shared);
                __syncthreads();
            }
            const float *w = weights;
            const int32_t count = min(staged, p.in_channels - first);
#pragma unroll 1
            for (int32_t ci = 0; ci < count; ci += channels, w += channels * channel_words) {
                add_channels<E, S, last, channels>(sums, p, item, x, w);
                x += channels * (last ? 1 : p.x_channel);
            }
        }
        if constexpr (last)
            write_positions<E, S>(p, t, item, sums);
        else if (p.vector)
            write_vectors<E, S>(p, t, item, sums);
        else if (p.lines)
            write_lines<E, S>(p, t, item, sums, shared + p.exchange_at);
        else
            write_rows<E, S>(p, t, item, sums, shared + p.exchange_at);
    }
}

} // namespace

#define WINDOWS_KERNEL(type, E, layout, last, channels, blocks, s, kz, ky, kx, px, tile, wz, wy)                       \
    extern "C" __global__ void __launch_bounds__(windows_most_threads, blocks)                                         \
        ct3d_direct_windows_##type##_##layout##channels##_s##s##_k##kz##ky##kx##_p##px##_c##tile(                      \
            const __grid_constant__ WindowsParams p) {                                                                 \
        extern __shared__ float4 shared_memory[];                                                                      \
        direct_windows<E, Shape<s, kz, ky, kx, px, tile, wz, wy>, last, channels>(                                     \
            p, reinterpret_cast<float *>(shared_memory));                                                              \
    }
#define WINDOWS_LAYOUTS(type, E, s, kz, ky, kx, px, tile, wz, wy, wide_wz, wide_wy, wide_blocks)                       \
    WINDOWS_KERNEL(type, E, ncdhw, false, 1, windows_blocks, s, kz, ky, kx, px, tile, wz, wy)                          \
    WINDOWS_KERNEL(type, E, ndhwc, true, 1, windows_blocks, s, kz, ky, kx, px, tile, wz, wy)                           \
    WINDOWS_KERNEL(type, E, ndhwc, true, 4, wide_blocks, s, kz, ky, kx, px, tile, wide_wz, wide_wy)
#define WINDOWS_INSTANCE(...)                                                                                          \
    WINDOWS_LAYOUTS(f32, float, __VA_ARGS__)                                                                           \
    WINDOWS_LAYOUTS(f16, Half, __VA_ARGS__)                                                                            \
    WINDOWS_LAYOUTS(bf16, Bfloat, __VA_ARGS__)
#include "direct_windows_instances.inc"
#undef WINDOWS_INSTANCE
#undef WINDOWS_LAYOUTS
#undef WINDOWS_KERNEL

} // namespace ct3d::gpu
