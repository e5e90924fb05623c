// SPDX-License-Identifier: MIT
// Any transposed convolution of any type: each thread gathers a few channels at a few positions that share their taps,
// neighbouring threads write neighbouring elements.
#include "divisor.cuh"
#include "element.cuh"
#include "portable_params.hpp"

namespace ct3d::gpu {

namespace {

// Products that are summed up before the sum joins the total: rounding errors grow with each of the two.
constexpr int run = 64;

struct F32 {
    using Element = float;
    using Sum = float;
    static __device__ float widen(float v) { return v; }
    static __device__ float operand(float v) { return v; }
    static __device__ float narrow(float v) { return v; }
};

struct Tf32 : F32 {
    static __device__ float operand(float v) { return round_to_tf32(v); }
};

template <class E> struct Float16 {
    using Element = E;
    using Sum = float;
    static __device__ float widen(E v) { return to_float(v); }
    static __device__ float operand(E v) { return to_float(v); }
    static __device__ E narrow(float v) { return from_float<E>(v); }
};
using F16 = Float16<Half>;
using Bf16 = Float16<Bfloat>;

struct F64 {
    using Element = double;
    using Sum = double;
    static __device__ double widen(double v) { return v; }
    static __device__ double operand(double v) { return v; }
    static __device__ double narrow(double v) { return v; }
};

// a * b mod m, for 0 <= a, b < m <= 2^48.
__device__ __forceinline__ int64_t multiply_modulo(int64_t a, int64_t b, int64_t m) {
    if (m <= int64_t{1} << 31)
        return a * b % m;
    int64_t product = 0;
    for (; b != 0; b >>= 1, a = 2 * a % m)
        if (b & 1)
            product = (product + a) % m;
    return product;
}

// Tap t of [begin, end) reads the input in - t * in_step with the weight at kernel position k + t * tap_step.
struct Taps {
    int64_t begin, end, k, in;
};

// The taps that reach an output, or one of those whose inputs are up to `span` higher, from inside the input.
__device__ __forceinline__ Taps find_taps(const PortableAxis &a, int64_t out, int64_t span) {
    const int64_t position = out + a.pad, residue = position % a.stride;
    if (residue % a.divisor != 0)
        return {0, 0, 0, 0};
    const int64_t k = multiply_modulo(residue / a.divisor, a.inverse, a.tap_step);
    if (k >= a.kernel)
        return {0, 0, 0, 0};
    const int64_t in = (position - k * a.dilation) / a.stride;
    const int64_t past = in - (a.in - 1), highest = in + span;
    const int64_t begin = past > 0 ? (past - 1) / a.in_step + 1 : 0;
    const int64_t reached = highest < 0 ? 0 : highest / a.in_step + 1;
    const int64_t taps = (a.kernel - 1 - k) / a.tap_step + 1;
    return {begin, reached < taps ? reached : taps, k, in};
}

// Where a thread's outputs begin; c counts within the group.
struct Place {
    int64_t n, group, c, z, y, x;
};

__device__ __forceinline__ Place find_place(const PortableParams &p, int64_t thread) {
    Place at;
    if (p.channels_last) {
        at.c = take_remainder(thread, p.channel_slots);
        at.group = take_remainder(thread, p.groups);
    }
    at.x = take_remainder(thread, p.x_slots);
    at.y = take_remainder(thread, p.axis[1].out);
    at.z = take_remainder(thread, p.axis[0].out);
    if (!p.channels_last) {
        at.c = take_remainder(thread, p.channel_slots);
        at.group = take_remainder(thread, p.groups);
    }
    at.n = thread;
    return at;
}

// The sums of a thread: of the products of late, and of all before.
template <class Sum, int channels> struct Sums {
    Sum total[channels][portable_positions] = {};
    Sum recent[channels][portable_positions] = {};
    int products = 0; // in each of `recent`

    __device__ __forceinline__ void flush() {
#pragma unroll
        for (int c = 0; c < channels; ++c)
#pragma unroll
            for (int i = 0; i < portable_positions; ++i) {
                total[c][i] += recent[c][i];
                recent[c][i] = 0;
            }
        products = 0;
    }
};

// Adds one tap's products over all input channels. x and w are those of the first input channel, output channel and
// position; `inside` tells which positions read from inside the input.
template <class A, int channels>
__device__ __forceinline__ void add_tap(const PortableParams &p, const typename A::Element *x,
                                        const typename A::Element *w, const bool (&inside)[portable_positions],
                                        const int64_t (&w_offset)[channels], Sums<typename A::Sum, channels> &sums) {
    const typename A::Element *x_at[portable_positions], *w_at[channels];
#pragma unroll
    for (int i = 0; i < portable_positions; ++i)
        x_at[i] = x + i * p.x_apart;
#pragma unroll
    for (int c = 0; c < channels; ++c)
        w_at[c] = w + w_offset[c];
    for (int64_t begin = 0; begin < p.in_channels; begin += run) {
        const int64_t left = p.in_channels - begin;
        const int count = left < run ? static_cast<int>(left) : run;
#pragma unroll 1
        for (int ci = 0; ci < count; ++ci) {
            typename A::Sum a[channels], b[portable_positions];
#pragma unroll
            for (int c = 0; c < channels; ++c) {
                a[c] = A::operand(read_global(w_at[c]));
                w_at[c] += p.w_in;
            }
#pragma unroll
            for (int i = 0; i < portable_positions; ++i) {
                b[i] = inside[i] ? A::operand(read_global(x_at[i])) : 0;
                x_at[i] += p.x_channel;
            }
#pragma unroll
            for (int c = 0; c < channels; ++c)
#pragma unroll
                for (int i = 0; i < portable_positions; ++i)
                    sums.recent[c][i] += a[c] * b[i];
        }
        sums.products += count;
        if (sums.products >= run)
            sums.flush();
    }
}

template <class A, int channels> __device__ __forceinline__ void write(const PortableParams &p, const Place &at,
                                                                       const Sums<typename A::Sum, channels> &sums) {
    const auto *bias = static_cast<const typename A::Element *>(p.bias);
    auto *y = static_cast<typename A::Element *>(p.y) + at.n * p.y_sample + at.z * p.y_step[0] + at.y * p.y_step[1];
#pragma unroll
    for (int c = 0; c < channels; ++c) {
        if (at.c + c * p.channel_slots >= p.out_channels)
            continue;
        const int64_t channel = at.group * p.out_channels + at.c + c * p.channel_slots;
        const typename A::Sum offset = bias ? A::widen(bias[channel]) : 0;
#pragma unroll
        for (int i = 0; i < portable_positions; ++i) {
            const int64_t x = at.x + i * p.axis[2].stride * p.input_slots;
            if (x < p.axis[2].out)
                y[channel * p.y_channel + x * p.y_step[2]] = A::narrow(sums.total[c][i] + offset);
        }
    }
}

template <class A, int channels> __device__ __forceinline__ void compute(const PortableParams &p, const Place &at) {
    const Taps z_taps = find_taps(p.axis[0], at.z, 0), y_taps = find_taps(p.axis[1], at.y, 0);
    const Taps x_taps = find_taps(p.axis[2], at.x, (portable_positions - 1) * p.input_slots);
    // Past the last channel the first one's weights stand in: they are read, and the sums are not written.
    int64_t w_offset[channels];
#pragma unroll
    for (int c = 0; c < channels; ++c)
        w_offset[c] = at.c + c * p.channel_slots < p.out_channels ? c * p.w_apart : 0;
    const int64_t first_channel = at.group * p.in_channels;
    const auto *x = static_cast<const typename A::Element *>(p.x) + at.n * p.x_sample + first_channel * p.x_channel;
    const auto *w = static_cast<const typename A::Element *>(p.w) + first_channel * p.w_in + at.c * p.w_out;

    Sums<typename A::Sum, channels> sums;
    for (int64_t tz = z_taps.begin; tz < z_taps.end; ++tz)
        for (int64_t ty = y_taps.begin; ty < y_taps.end; ++ty) {
            const auto *x_row = x + (z_taps.in - tz * p.axis[0].in_step) * p.x_step[0] +
                                (y_taps.in - ty * p.axis[1].in_step) * p.x_step[1];
            const auto *w_row = w + (z_taps.k + tz * p.axis[0].tap_step) * p.w_step[0] +
                                (y_taps.k + ty * p.axis[1].tap_step) * p.w_step[1];
            for (int64_t tx = x_taps.begin; tx < x_taps.end; ++tx) {
                const int64_t in = x_taps.in - tx * p.axis[2].in_step;
                bool inside[portable_positions];
#pragma unroll
                for (int i = 0; i < portable_positions; ++i) {
                    const int64_t at_i = in + i * p.input_slots;
                    inside[i] = at_i >= 0 && at_i < p.axis[2].in;
                }
                add_tap<A, channels>(p, x_row + in * p.x_step[2],
                                     w_row + (x_taps.k + tx * p.axis[2].tap_step) * p.w_step[2], inside, w_offset,
                                     sums);
            }
        }
    sums.flush();
    write<A, channels>(p, at, sums);
}

// A grid that covers all, or less than that, walked through again.
template <class A, int channels> __device__ __forceinline__ void compute_all(const PortableParams &p) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; thread < p.threads;
         thread += step)
        compute<A, channels>(p, find_place(p, thread));
}

} // namespace

#define CT3D_PORTABLE(name, Arithmetic, channels)                                                                      \
    extern "C" __global__ void __launch_bounds__(portable_block, 3)                                                    \
        ct3d_portable_##name##_##channels(const __grid_constant__ PortableParams p) {                                  \
        compute_all<Arithmetic, channels>(launch_params(p));                                                           \
    }

CT3D_PORTABLE(f32, F32, 1)
CT3D_PORTABLE(f32, F32, 4)
CT3D_PORTABLE(tf32, Tf32, 1)
CT3D_PORTABLE(tf32, Tf32, 4)
CT3D_PORTABLE(f16, F16, 1)
CT3D_PORTABLE(f16, F16, 4)
CT3D_PORTABLE(bf16, Bf16, 1)
CT3D_PORTABLE(bf16, Bf16, 4)
CT3D_PORTABLE(f64, F64, 1)
CT3D_PORTABLE(f64, F64, 4)

} // namespace ct3d::gpu
