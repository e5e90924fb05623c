// SPDX-License-Identifier: MIT
// Compiled once per instruction set: each operation straight from its tensors. The inner loops run along x where it is
// contiguous, and along channels where those are.
#include "direct_loops.hpp"

#include "convert.hpp"
#include "parallel.hpp"

#include <algorithm>

namespace ct3d::cpu::CT3D_ISA {

namespace {

// Sums that are built up at once, on the stack.
constexpr int64_t run = 256;

template <class T, class E> void add_scaled(T *sums, T scale, const E *values, int64_t step, int64_t count) {
    if (step == 1)
        for (int64_t i = 0; i < count; ++i)
            sums[i] += scale * widen(values[i]);
    else
        for (int64_t i = 0; i < count; ++i)
            sums[i] += scale * widen(values[i * step]);
}

template <class T> using Sums = T[run];

// An axis position of an output, and which taps reach it from inside the input.
struct Gather {
    const AxisTable *table;
    const AxisPhase *phase; // null: only bias
    Range taps;
    int64_t in; // of tap 0
};

Gather gather_at(const AxisTable &table, int64_t out, int64_t extent) {
    const AxisPhase *phase = table.phase_of(out);
    if (!phase)
        return {&table, nullptr, {0, 0}, 0};
    const int64_t j = out / table.out_step;
    return {&table, phase, valid_taps(table, *phase, j, j + 1, extent), phase->first_in + j};
}

struct Strides {
    ActivationStrides x, y;
    WeightStrides w;
    int64_t in_channels, out_channels; // per group
    explicit Strides(const Desc &d)
        : x(input_strides(d)), y(output_strides(d)), w(weight_strides(d)), in_channels(d.in_channels_per_group()),
          out_channels(d.out_channels_per_group()) {}
};

// Calls body(tap, in) for each pair of taps that reaches an output from inside the input, on the axes before x.
template <class Body> void for_taps(const Gather &z, const Gather &y, Body &&body) {
    if (!z.phase || !y.phase)
        return;
    for (int64_t tz = z.taps.begin; tz < z.taps.end; ++tz)
        for (int64_t ty = y.taps.begin; ty < y.taps.end; ++ty)
            body(z.phase->first_tap + tz * z.table->tap_step, y.phase->first_tap + ty * y.table->tap_step,
                 z.in - tz * z.table->in_step, y.in - ty * y.table->in_step);
}

// One output row of one channel of NCDHW, a phase of x at a time.
template <class T, class E> struct ForwardRow {
    const Desc &d;
    const PhaseTable &phases;
    const Strides &s;
    const E *x; // of the sample and group
    const E *w; // of the group's first input channel and the output channel
    E *y;       // the row
    T bias;

    void compute(const Gather &z, const Gather &yy) const {
        std::fill_n(y, d.out[2], narrow<E>(bias));
        const AxisTable &axis = phases.axis[2];
        for (const AxisPhase &phase : axis.phases)
            for (int64_t begin = 0; begin < phase.count; begin += run)
                compute_run(z, yy, phase, {begin, std::min(begin + run, phase.count)});
    }

    void compute_run(const Gather &z, const Gather &yy, const AxisPhase &phase, Range js) const {
        const AxisTable &axis = phases.axis[2];
        Sums<T> sums;
        std::fill_n(sums, js.end - js.begin, T{0});
        for_taps(z, yy, [&](int64_t kz, int64_t ky, int64_t iz, int64_t iy) {
            for (int64_t t = 0; t < phase.taps; ++t) {
                const Range valid = valid_outputs(axis, phase, t, d.in[2]);
                const int64_t begin = std::max(valid.begin, js.begin), end = std::min(valid.end, js.end);
                if (begin >= end)
                    continue;
                const int64_t in = phase.first_in + begin - t * axis.in_step;
                const E *row = x + iz * s.x.z + iy * s.x.y + in * s.x.x;
                const E *tap = w + kz * s.w.z + ky * s.w.y + (phase.first_tap + t * axis.tap_step) * s.w.x;
                for (int64_t c = 0; c < s.in_channels; ++c)
                    add_scaled(sums + (begin - js.begin), T{widen(tap[c * s.w.ci])}, row + c * s.x.c, s.x.x,
                               end - begin);
            }
        });
        for (int64_t j = js.begin; j < js.end; ++j)
            y[phase.first_out + j * axis.out_step] = narrow<E>(sums[j - js.begin] + bias);
    }
};

template <class E, class T> T bias_at(const Desc &d, const ct3d_buffers &b, int64_t channel) {
    return d.has_bias ? T{widen(static_cast<const E *>(b.bias)[channel])} : T{0};
}

template <class T, class E>
void forward_ncdhw(const Desc &d, const PhaseTable &phases, const ct3d_buffers &b, int32_t threads) {
    const Strides s(d);
    parallel_for(threads, d.batch * d.out_channels * d.out[0], [&](int64_t item, int32_t) {
        const int64_t oz = item % d.out[0], co = item / d.out[0] % d.out_channels, n = item / d.out[0] / d.out_channels;
        const int64_t group = co / s.out_channels, ci = group * s.in_channels;
        ForwardRow<T, E> row{d,
                             phases,
                             s,
                             static_cast<const E *>(b.x) + n * s.x.n + ci * s.x.c,
                             static_cast<const E *>(b.w) + ci * s.w.ci + co % s.out_channels * s.w.co,
                             static_cast<E *>(b.y) + n * s.y.n + co * s.y.c + oz * s.y.z,
                             bias_at<E, T>(d, b, co)};
        const Gather z = gather_at(phases.axis[0], oz, d.in[0]);
        for (int64_t oy = 0; oy < d.out[1]; ++oy, row.y += s.y.y)
            row.compute(z, gather_at(phases.axis[1], oy, d.in[1]));
    });
}

// One output position of one group of NDHWC, a run of channels at a time.
template <class T, class E> void forward_position(const Desc &d, const Strides &s, const E *x, const E *w,
                                                  const E *bias, E *y, const Gather (&g)[3]) {
    for (int64_t first = 0; first < s.out_channels; first += run) {
        const int64_t count = std::min(run, s.out_channels - first);
        Sums<T> sums;
        std::fill_n(sums, count, T{0});
        for_taps(g[0], g[1], [&](int64_t kz, int64_t ky, int64_t iz, int64_t iy) {
            for (int64_t t = g[2].taps.begin; t < g[2].taps.end; ++t) {
                const E *values = x + iz * s.x.z + iy * s.x.y + (g[2].in - t * g[2].table->in_step) * s.x.x;
                const E *tap = w + kz * s.w.z + ky * s.w.y +
                               (g[2].phase->first_tap + t * g[2].table->tap_step) * s.w.x + first * s.w.co;
                for (int64_t c = 0; c < s.in_channels; ++c)
                    add_scaled(sums, T{widen(values[c])}, tap + c * s.w.ci, s.w.co, count);
            }
        });
        for (int64_t c = 0; c < count; ++c)
            y[first + c] = narrow<E>(sums[c] + (d.has_bias ? T{widen(bias[first + c])} : T{0}));
    }
}

template <class T, class E>
void forward_ndhwc(const Desc &d, const PhaseTable &phases, const ct3d_buffers &b, int32_t threads) {
    const Strides s(d);
    parallel_for(threads, d.batch * d.out[0] * d.out[1], [&](int64_t item, int32_t) {
        const int64_t oy = item % d.out[1], oz = item / d.out[1] % d.out[0], n = item / d.out[1] / d.out[0];
        Gather g[3] = {gather_at(phases.axis[0], oz, d.in[0]), gather_at(phases.axis[1], oy, d.in[1]), {}};
        E *y = static_cast<E *>(b.y) + n * s.y.n + oz * s.y.z + oy * s.y.y;
        for (int64_t ox = 0; ox < d.out[2]; ++ox) {
            g[2] = gather_at(phases.axis[2], ox, d.in[2]);
            for (int64_t group = 0; group < d.groups; ++group, y += s.out_channels)
                forward_position<T>(d, s, static_cast<const E *>(b.x) + n * s.x.n + group * s.in_channels,
                                    static_cast<const E *>(b.w) + group * s.in_channels * s.w.ci,
                                    d.has_bias ? static_cast<const E *>(b.bias) + group * s.out_channels : nullptr, y,
                                    g);
        }
    });
}

// Taps k of an axis for which the input i lands inside the output, and where tap 0 lands.
struct Scatter {
    Range taps;
    int64_t out;
};

Scatter scatter_at(const Desc &d, size_t axis, int64_t in) {
    const int64_t out = in * d.stride[axis] - d.pad_begin[axis], step = d.dilation[axis];
    const int64_t begin = out >= 0 ? 0 : (-out + step - 1) / step;
    const int64_t end = out >= d.out[axis] ? 0 : (d.out[axis] - 1 - out) / step + 1;
    return {{begin, std::min(end, d.kernel[axis])}, out};
}

template <class Body> void for_scatter(const Desc &d, const Scatter &z, const Scatter &y, Body &&body) {
    for (int64_t kz = z.taps.begin; kz < z.taps.end; ++kz)
        for (int64_t ky = y.taps.begin; ky < y.taps.end; ++ky)
            body(kz, ky, z.out + kz * d.dilation[0], y.out + ky * d.dilation[1]);
}

template <class T, class E>
void data_row(const Desc &d, const Strides &s, const E *dy, const E *w, E *dx, const Scatter &z, const Scatter &y) {
    for (int64_t first = 0; first < d.in[2]; first += run) {
        const int64_t last = std::min(first + run, d.in[2]);
        Sums<T> sums;
        std::fill_n(sums, last - first, T{0});
        for_scatter(d, z, y, [&](int64_t kz, int64_t ky, int64_t oz, int64_t oy) {
            for (int64_t kx = 0; kx < d.kernel[2]; ++kx) {
                const Range valid = landing_inputs(d, 2, kx);
                const int64_t begin = std::max(first, valid.begin), end = std::min(last, valid.end);
                if (begin >= end)
                    continue;
                const int64_t ox = begin * d.stride[2] - d.pad_begin[2] + kx * d.dilation[2];
                const E *row = dy + oz * s.y.z + oy * s.y.y + ox * s.y.x;
                const E *tap = w + kz * s.w.z + ky * s.w.y + kx * s.w.x;
                for (int64_t c = 0; c < s.out_channels; ++c)
                    add_scaled(sums + (begin - first), T{widen(tap[c * s.w.co])}, row + c * s.y.c, s.y.x * d.stride[2],
                               end - begin);
            }
        });
        for (int64_t i = first; i < last; ++i)
            dx[i] = narrow<E>(sums[i - first]);
    }
}

template <class T, class E> void data_ncdhw(const Desc &d, const PhaseTable &, const ct3d_buffers &b, int32_t threads) {
    const Strides s(d);
    parallel_for(threads, d.batch * d.in_channels * d.in[0], [&](int64_t item, int32_t) {
        const int64_t iz = item % d.in[0], ci = item / d.in[0] % d.in_channels, n = item / d.in[0] / d.in_channels;
        const int64_t co = ci / s.in_channels * s.out_channels;
        const E *dy = static_cast<const E *>(b.dy) + n * s.y.n + co * s.y.c;
        const E *w = static_cast<const E *>(b.w) + ci * s.w.ci;
        E *dx = static_cast<E *>(b.dx) + n * s.x.n + ci * s.x.c + iz * s.x.z;
        for (int64_t iy = 0; iy < d.in[1]; ++iy)
            data_row<T>(d, s, dy, w, dx + iy * s.x.y, scatter_at(d, 0, iz), scatter_at(d, 1, iy));
    });
}

template <class T, class E>
void data_position(const Desc &d, const Strides &s, const E *dy, const E *w, E *dx, const Scatter (&at)[3]) {
    for (int64_t first = 0; first < s.in_channels; first += run) {
        const int64_t count = std::min(run, s.in_channels - first);
        Sums<T> sums;
        std::fill_n(sums, count, T{0});
        for_scatter(d, at[0], at[1], [&](int64_t kz, int64_t ky, int64_t oz, int64_t oy) {
            for (int64_t kx = at[2].taps.begin; kx < at[2].taps.end; ++kx) {
                const E *values = dy + oz * s.y.z + oy * s.y.y + (at[2].out + kx * d.dilation[2]) * s.y.x;
                const E *tap = w + first * s.w.ci + kz * s.w.z + ky * s.w.y + kx * s.w.x;
                for (int64_t c = 0; c < s.out_channels; ++c)
                    add_scaled(sums, T{widen(values[c])}, tap + c * s.w.co, s.w.ci, count);
            }
        });
        for (int64_t c = 0; c < count; ++c)
            dx[first + c] = narrow<E>(sums[c]);
    }
}

template <class T, class E> void data_ndhwc(const Desc &d, const PhaseTable &, const ct3d_buffers &b, int32_t threads) {
    const Strides s(d);
    parallel_for(threads, d.batch * d.in[0] * d.in[1], [&](int64_t item, int32_t) {
        const int64_t iy = item % d.in[1], iz = item / d.in[1] % d.in[0], n = item / d.in[1] / d.in[0];
        E *dx = static_cast<E *>(b.dx) + n * s.x.n + iz * s.x.z + iy * s.x.y;
        for (int64_t ix = 0; ix < d.in[2]; ++ix) {
            const Scatter at[3] = {scatter_at(d, 0, iz), scatter_at(d, 1, iy), scatter_at(d, 2, ix)};
            for (int64_t group = 0; group < d.groups; ++group, dx += s.in_channels)
                data_position<T>(d, s, static_cast<const E *>(b.dy) + n * s.y.n + group * s.out_channels,
                                 static_cast<const E *>(b.w) + group * s.in_channels * s.w.ci, dx, at);
        }
    });
}

// Several partial sums, so that the loop vectorises and no sum grows long.
template <class T, class E>
void add_products(T (&partial)[16], const E *a, int64_t a_step, const E *b, int64_t b_step, int64_t count) {
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int64_t l = 0; l < 16; ++l)
            partial[l] += T{widen(a[(i + l) * a_step])} * T{widen(b[(i + l) * b_step])};
    for (; i < count; ++i)
        partial[i % 16] += T{widen(a[i * a_step])} * T{widen(b[i * b_step])};
}

template <class T> T total(const T (&partial)[16]) {
    double sum = 0;
    for (const T p : partial)
        sum += static_cast<double>(p);
    return static_cast<T>(sum);
}

template <class T, class E>
T weight_gradient(const Desc &d, const Strides &s, const E *x, const E *dy, const int64_t (&tap)[3]) {
    const Range z = landing_inputs(d, 0, tap[0]), y = landing_inputs(d, 1, tap[1]), xs = landing_inputs(d, 2, tap[2]);
    const auto out = [&](size_t axis, int64_t in) {
        return in * d.stride[axis] - d.pad_begin[axis] + tap[axis] * d.dilation[axis];
    };
    T partial[16] = {};
    if (xs.begin < xs.end)
        for (int64_t n = 0; n < d.batch; ++n)
            for (int64_t iz = z.begin; iz < z.end; ++iz)
                for (int64_t iy = y.begin; iy < y.end; ++iy)
                    add_products(partial, x + n * s.x.n + iz * s.x.z + iy * s.x.y + xs.begin * s.x.x, s.x.x,
                                 dy + n * s.y.n + out(0, iz) * s.y.z + out(1, iy) * s.y.y + out(2, xs.begin) * s.y.x,
                                 s.y.x * d.stride[2], xs.end - xs.begin);
    return total(partial);
}

template <class T, class E> void bias_gradient(const Desc &d, const Strides &s, const ct3d_buffers &b, int64_t co) {
    double sum = 0;
    const E *dy = static_cast<const E *>(b.dy) + co * s.y.c;
    for (int64_t n = 0; n < d.batch; ++n)
        for (int64_t i = 0; i < d.out[0] * d.out[1] * d.out[2]; ++i)
            sum += static_cast<double>(widen(dy[n * s.y.n + i * s.y.x]));
    static_cast<E *>(b.dbias)[co] = narrow<E>(static_cast<T>(sum));
}

template <class T, class E> void weights(const Desc &d, const PhaseTable &, const ct3d_buffers &b, int32_t threads) {
    const Strides s(d);
    if (b.dbias)
        parallel_for(threads, d.out_channels, [&](int64_t co, int32_t) { bias_gradient<T, E>(d, s, b, co); });
    if (!b.dw)
        return;
    parallel_for(threads, d.in_channels * s.out_channels, [&](int64_t item, int32_t) {
        const int64_t co = item % s.out_channels, ci = item / s.out_channels;
        const E *x = static_cast<const E *>(b.x) + ci * s.x.c;
        const E *dy = static_cast<const E *>(b.dy) + (ci / s.in_channels * s.out_channels + co) * s.y.c;
        E *dw = static_cast<E *>(b.dw) + ci * s.w.ci + co * s.w.co;
        for (int64_t kz = 0; kz < d.kernel[0]; ++kz)
            for (int64_t ky = 0; ky < d.kernel[1]; ++ky)
                for (int64_t kx = 0; kx < d.kernel[2]; ++kx)
                    dw[kz * s.w.z + ky * s.w.y + kx * s.w.x] = narrow<E>(weight_gradient<T>(d, s, x, dy, {kz, ky, kx}));
    });
}

template <class T, class E> DirectFn find(Op op) {
    switch (op) {
    case Op::forward:
        return [](const Desc &d, const PhaseTable &p, const ct3d_buffers &b, int32_t threads) {
            (d.layout == Layout::ncdhw ? forward_ncdhw<T, E> : forward_ndhwc<T, E>)(d, p, b, threads);
        };
    case Op::backward_data:
        return [](const Desc &d, const PhaseTable &p, const ct3d_buffers &b, int32_t threads) {
            (d.layout == Layout::ncdhw ? data_ncdhw<T, E> : data_ndhwc<T, E>)(d, p, b, threads);
        };
    default:
        return weights<T, E>;
    }
}

} // namespace

DirectFn direct_loops(Op op, Dtype dtype) {
    switch (dtype) {
    case Dtype::f16:
        return find<float, Half>(op);
    case Dtype::bf16:
        return find<float, Bfloat>(op);
    case Dtype::f64:
        return find<double, double>(op);
    default:
        return find<float, float>(op);
    }
}

} // namespace ct3d::cpu::CT3D_ISA
