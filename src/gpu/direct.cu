// SPDX-License-Identifier: MIT
// The direct kernel, for few products per output: f32 sums in registers over inputs and weights in shared memory.
//
// A thread sums `direct_run` windows along x of one row, for `tile` output channels. The threads of a warp share
// their weights, which are therefore read by broadcast, and differ in their position.
#include "../arithmetic.hpp"
#include "direct_tile.cuh"

namespace ct3d::gpu {

namespace {

// A warp's piece of work: 32 runs of windows, a register tile of output channels and, on the axes that are not
// compiled in, one residue.
struct Work {
    int32_t z, y, run;     // the thread's row and run, in windows of the tile
    int32_t channel;       // of the tile's sums: the first of the register tile
    int32_t outputs;       // of the register tile that exist
    uint32_t weights, box; // from the start of the staged weights and inputs
    int32_t residue_z, residue_y, residue_x;
    bool active;
};

template <int tile, int axes>
__device__ __forceinline__ Work locate_work(const DirectParams &p, const DirectTile &t, uint32_t unit) {
    Work w;
    uint32_t item = take_remainder(unit, p.items) * 32 + threadIdx.x % 32;
    w.run = take_remainder(item, p.runs);
    w.y = take_remainder(item, p.windows_y);
    w.active = static_cast<int32_t>(item) < p.axis[0].windows;
    w.z = w.active ? item : 0;
    const uint32_t co = take_remainder(unit, p.channel_tiles) * tile;
    w.residue_x = axes == 0 ? take_remainder(unit, p.stride_x) : 0;
    w.residue_y = axes == 3 ? 0 : take_remainder(unit, p.stride_y);
    w.residue_z = axes == 3 ? 0 : take_remainder(unit, p.stride_z);
    const uint32_t group = unit;
    w.channel = group * p.block_outputs + co;
    w.outputs = static_cast<int32_t>(group) < t.groups ? min(tile, t.outputs - static_cast<int32_t>(co)) : 0;
    const uint32_t channel_taps = p.axis[0].kernel * p.axis[1].kernel * p.tap_pitch;
    w.weights = (group * p.channel_tiles.value + co / tile) * p.staged.value * channel_taps;
    w.box = group * p.staged.value * p.channel_pitch;
    return w;
}

// `count` f32 from an address that 16 bytes divide wherever count is a multiple of 4.
template <int count> __device__ __forceinline__ void load(float (&to)[count], const float *from) {
    if constexpr (count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < count; i += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(from + i);
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < count; ++i)
            to[i] = from[i];
    }
}

// The sums of one row: outputs c of the run are c = input*stride + tap - padding, counted from input `back`.
template <int stride, int kernel, int padding, int tile> struct Row {
    static constexpr int back = (kernel - 1 - padding) / stride; // inputs before the run's first window
    static constexpr int inputs = round_up(direct_run + back + (padding > 0), 4);
    static constexpr int outputs = direct_run * stride;
    static constexpr int taps = round_up(kernel * tile, 4); // of one row, as staged

    static __device__ __forceinline__ void add(float (&sums)[outputs][tile], const float (&in)[inputs],
                                               const float (&w)[taps]) {
#pragma unroll
        for (int k = 0; k < kernel; ++k)
#pragma unroll
            for (int i = 0; i < inputs; ++i) {
                const int c = (i - back) * stride + k - padding;
                if (c >= 0 && c < outputs)
#pragma unroll
                    for (int co = 0; co < tile; ++co)
                        sums[c][co] = fmaf(in[i], w[k * tile + co], sums[c][co]);
            }
    }
};

// Puts a row of sums where the tile is collected: over what is there, or added to it.
template <bool add, int count, int tile>
__device__ __forceinline__ void collect_row(const float (&row)[count][tile], int32_t whole, int32_t outputs,
                                            int32_t start, int32_t step, int32_t pitch, float *sums) {
#pragma unroll
    for (int c = 0; c < count; ++c) {
        float *to = sums + skewed(start + c * step);
#pragma unroll
        for (int co = 0; co < tile; ++co)
            if (c < whole && co < outputs)
                to[co * pitch] = add ? to[co * pitch] + row[c][co] : row[c][co];
    }
}

template <int count, int tile>
__device__ __forceinline__ void collect(const DirectParams &p, DirectTile t, const Work &w, bool add,
                                        const float (&row)[count][tile], int32_t z, int32_t y, int32_t x, int32_t step,
                                        float *sums) {
    z -= t.first[0], y -= t.first[1], x -= t.first[2];
    if (!w.active || z < 0 || z >= t.count[0] || y < 0 || y >= t.count[1] || x >= t.count[2])
        return;
    float *to = sums + w.channel * p.sums_pitch;
    const int32_t start = (z * t.count[1] + y) * t.count[2] + x, whole = (t.count[2] - x + step - 1) / step;
    if (add)
        collect_row<true>(row, whole, w.outputs, start, step, p.sums_pitch, to);
    else
        collect_row<false>(row, whole, w.outputs, start, step, p.sums_pitch, to);
}

// All outputs of the windows at once: stride and kernel are the same on all axes and known to the compiler. Along z
// and y a window begins where an input's first tap lands, so that it reads the fewest rows.
template <int stride, int kernel, int padding, int tile>
__device__ __forceinline__ void sum_cube(const DirectParams &p, const DirectTile &t, const Work &w, bool add,
                                         const float *weights, const float *box, float *sums) {
    using Row = Row<stride, kernel, padding, tile>;
    constexpr int back = (kernel - 1) / stride;
    float rows[stride][stride][Row::outputs][tile] = {};
    const int32_t plane = p.axis[1].box * p.row_pitch;
    const float *channel = box + w.box + w.z * plane + w.y * p.row_pitch + w.run * direct_run;
    const float *taps = weights + w.weights;
#pragma unroll 1
    for (uint32_t ci = 0; ci < p.staged.value; ++ci, channel += p.channel_pitch, taps += kernel * kernel * Row::taps)
#pragma unroll
        for (int hz = 0; hz <= back; ++hz)
#pragma unroll
            for (int hy = 0; hy <= back; ++hy) {
                float in[Row::inputs];
                load(in, channel + hz * plane + hy * p.row_pitch);
#pragma unroll
                for (int cz = 0; cz < stride; ++cz)
#pragma unroll
                    for (int cy = 0; cy < stride; ++cy) {
                        const int kz = cz + (back - hz) * stride, ky = cy + (back - hy) * stride;
                        if (kz < kernel && ky < kernel) {
                            float k[Row::taps];
                            load(k, taps + (kz * kernel + ky) * Row::taps);
                            Row::add(rows[cz][cy], in, k);
                        }
                    }
            }
    const int32_t z = (t.window[0] + w.z) * stride - p.axis[0].shift;
    const int32_t y = (t.window[1] + w.y) * stride - p.axis[1].shift;
    const int32_t x = (t.window[2] + w.run * direct_run) * stride;
#pragma unroll
    for (int cz = 0; cz < stride; ++cz)
#pragma unroll
        for (int cy = 0; cy < stride; ++cy)
            collect(p, t, w, add, rows[cz][cy], z + cz, y + cy, x, 1, sums);
}

// Calls body(row of the box, its weights) for each input channel and each pair of taps of the residue along z and y.
template <class Body> __device__ __forceinline__ void for_rows(const DirectParams &p, const Work &w,
                                                               const float *weights, const float *box, Body &&body) {
    const DirectAxis &az = p.axis[0], &ay = p.axis[1];
    const DirectResidue rz = az.residue[w.residue_z], ry = ay.residue[w.residue_y];
    const int32_t plane = ay.box * p.row_pitch;
    const float *channel = box + w.box + (w.z + rz.first_in) * plane + (w.y + ry.first_in) * p.row_pitch;
    const float *taps = weights + w.weights + (rz.first_tap * ay.kernel + ry.first_tap) * p.tap_pitch;
    for (uint32_t ci = 0; ci < p.staged.value; ++ci) {
        for (int32_t tz = 0; tz < rz.taps; ++tz)
            for (int32_t ty = 0; ty < ry.taps; ++ty)
                body(channel - tz * az.in_step * plane - ty * ay.in_step * p.row_pitch,
                     taps + (tz * az.tap_step * ay.kernel + ty * ay.tap_step) * p.tap_pitch);
        channel += p.channel_pitch;
        taps += az.kernel * ay.kernel * p.tap_pitch;
    }
}

// The outputs of one residue along z and y, all of x: stride and kernel of x are known to the compiler.
template <int stride, int kernel, int padding, int tile>
__device__ __forceinline__ void sum_rows(const DirectParams &p, const DirectTile &t, const Work &w, bool add,
                                         const float *weights, const float *box, float *sums) {
    using Row = Row<stride, kernel, padding, tile>;
    float row[Row::outputs][tile] = {};
    for_rows(p, w, weights, box + w.run * direct_run, [&](const float *inputs, const float *taps) {
        float in[Row::inputs], k[Row::taps];
        load(in, inputs);
        load(k, taps);
        Row::add(row, in, k);
    });
    collect(p, t, w, add, row, (t.window[0] + w.z) * p.axis[0].stride + w.residue_z,
            (t.window[1] + w.y) * p.axis[1].stride + w.residue_y, (t.window[2] + w.run * direct_run) * stride, 1, sums);
}

// The outputs of one residue on each axis. A thread's windows are `runs` apart, so that its neighbours' loads meet
// in no bank.
template <int tile> __device__ __forceinline__ void sum_residue(const DirectParams &p, const DirectTile &t,
                                                                const Work &w, bool add, const float *weights,
                                                                const float *box, float *sums) {
    const DirectAxis &ax = p.axis[2];
    const DirectResidue rx = ax.residue[w.residue_x];
    const int32_t runs = p.runs.value;
    float row[direct_run][tile] = {};
    for_rows(p, w, weights + rx.first_tap * tile, box + w.run + rx.first_in, [&](const float *in, const float *taps) {
        for (int32_t tx = 0; tx < rx.taps; ++tx, in -= ax.in_step, taps += ax.tap_step * tile) {
            float k[tile];
            load(k, taps);
#pragma unroll
            for (int c = 0; c < direct_run; ++c)
#pragma unroll
                for (int co = 0; co < tile; ++co)
                    row[c][co] = fmaf(in[c * runs], k[co], row[c][co]);
        }
    });
    collect(p, t, w, add, row, (t.window[0] + w.z) * p.axis[0].stride + w.residue_z,
            (t.window[1] + w.y) * p.axis[1].stride + w.residue_y, (t.window[2] + w.run) * ax.stride + w.residue_x,
            runs * ax.stride, sums);
}

template <int axes, int stride, int kernel, int padding, int tile>
__device__ __forceinline__ void direct(const DirectParams &p, float *shared) {
    __shared__ DirectTile t;
    if (threadIdx.x == 0)
        t = locate_direct_tile(p);
    __syncthreads();
    const float *weights = shared + p.weights_at, *box = shared + p.box_at;
    float *sums = shared + p.sums_at;
    for (int32_t first = 0; first < p.in_channels; first += p.staged.value) {
        if (p.dtype == direct_f32)
            stage_direct<float, tile>(p, t, first, shared);
        else if (p.dtype == direct_f16)
            stage_direct<Half, tile>(p, t, first, shared);
        else
            stage_direct<Bfloat, tile>(p, t, first, shared);
        __syncthreads();
        for (int32_t unit = threadIdx.x / 32; unit < p.units; unit += blockDim.x / 32) {
            const Work w = locate_work<tile, axes>(p, t, unit);
            if constexpr (axes == 3)
                sum_cube<stride, kernel, padding, tile>(p, t, w, first > 0, weights, box, sums);
            else if constexpr (axes == 1)
                sum_rows<stride, kernel, padding, tile>(p, t, w, first > 0, weights, box, sums);
            else
                sum_residue<tile>(p, t, w, first > 0, weights, box, sums);
        }
        __syncthreads();
    }
    if (p.dtype == direct_f32)
        write_direct<float>(p, t, shared, sums);
    else if (p.dtype == direct_f16)
        write_direct<Half>(p, t, shared, sums);
    else
        write_direct<Bfloat>(p, t, shared, sums);
}

} // namespace

#define DIRECT_INSTANCE(axes, stride, kernel, padding, tile)                                                           \
    extern "C" __global__ void __launch_bounds__(direct_most_threads, 2)                                               \
        ct3d_direct_a##axes##_s##stride##_k##kernel##_p##padding##_c##tile(const __grid_constant__ DirectParams p) {   \
        extern __shared__ float4 shared_memory[];                                                                      \
        direct<axes, stride, kernel, padding, tile>(launch_params(p), reinterpret_cast<float *>(shared_memory));       \
    }
#include "direct_instances.inc"
#undef DIRECT_INSTANCE

} // namespace ct3d::gpu
