// SPDX-License-Identifier: MIT
// Compiled once per instruction set: the inner loops of the phase kernel.
#include "phase_loops.hpp"

#include "convert.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace ct3d::cpu::CT3D_ISA {

namespace {

constexpr size_t cache_line = 64;

template <class T> struct Vector {
    typedef T type __attribute__((vector_size(CT3D_ISA_VECTOR)));
    static constexpr size_t lanes = CT3D_ISA_VECTOR / sizeof(T);

    static type load(const T *from) {
        type v;
        std::memcpy(&v, from, CT3D_ISA_VECTOR);
        return v;
    }
    static void store(T *to, type v) { std::memcpy(to, &v, CT3D_ISA_VECTOR); }
};

// Past the caches; `to` is aligned to the vector.
template <class T> void stream(T *to, typename Vector<T>::type v) {
#if defined(__AVX512F__)
    _mm512_stream_ps(reinterpret_cast<float *>(to), __builtin_bit_cast(__m512, v));
#elif defined(__AVX__)
    _mm256_stream_ps(reinterpret_cast<float *>(to), __builtin_bit_cast(__m256, v));
#elif defined(__SSE__)
    _mm_stream_ps(reinterpret_cast<float *>(to), __builtin_bit_cast(__m128, v));
#else
    Vector<T>::store(to, v);
#endif
}

void finish() {
#if defined(__SSE__)
    _mm_sfence();
#endif
}

// Copies to memory that is not read again soon: whole cache lines past the caches, the rest as usual. Both addresses
// have the same place in a cache line.
void stream_copy(void *to, const void *from, size_t bytes) {
    auto *out = static_cast<unsigned char *>(to);
    const auto *in = static_cast<const unsigned char *>(from);
    const size_t past = reinterpret_cast<uintptr_t>(out) % cache_line;
    const size_t head = std::min((cache_line - past) % cache_line, bytes);
    const size_t body = (bytes - head) / cache_line * cache_line, tail = bytes - head - body;
    if (head)
        std::memcpy(out, in, head);
    for (size_t at = head; at < head + body; at += CT3D_ISA_VECTOR)
        stream(reinterpret_cast<float *>(out + at), Vector<float>::load(reinterpret_cast<const float *>(in + at)));
    if (tail)
        std::memcpy(out + head + body, in + head + body, tail);
}

// The sums stay in registers over all taps and channels: R*V of them, and per channel V loads and R broadcasts.
template <class T, size_t R, size_t V> void tile(const TileTask<T> &t) {
    using Vec = Vector<T>;
    typename Vec::type sum[R][V] = {};
    for (int64_t first = 0; first < t.channels; first += t.channel_block) {
        const int64_t count = std::min(t.channel_block, t.channels - first);
        for (int64_t tap = 0; tap < t.taps; ++tap) {
            const T *x = t.x + t.x_offset[tap] + first * t.channel_stride;
            const T *w = t.w + t.w_offset[tap] + first * static_cast<int64_t>(R);
            for (int64_t c = 0; c < count; ++c, x += t.channel_stride, w += R) {
                typename Vec::type v[V];
#pragma GCC unroll 8
                for (size_t j = 0; j < V; ++j)
                    v[j] = Vec::load(x + j * Vec::lanes);
#pragma GCC unroll 8
                for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 8
                    for (size_t j = 0; j < V; ++j)
                        sum[i][j] += w[i] * v[j];
            }
        }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 8
        for (size_t j = 0; j < V; ++j)
            Vec::store(t.out + static_cast<int64_t>(i) * t.out_stride + j * Vec::lanes, sum[i][j]);
}

// Two thirds to three quarters of the registers hold sums.
constexpr TileShape shapes[] = {
#if CT3D_ISA_REGISTERS >= 32
    {8, 3},
    {4, 6},
    {2, 8},
    {1, 8},
#else
    {4, 3},
    {2, 4},
    {1, 4},
#endif
};

template <class T, size_t R, size_t V, size_t Most> TileFn<T> find_vectors(size_t vectors) {
    if (vectors == V)
        return tile<T, R, V>;
    if constexpr (V < Most)
        return find_vectors<T, R, V + 1, Most>(vectors);
    return nullptr;
}

template <class T, size_t I = 0> TileFn<T> find_tile(size_t rows, size_t vectors) {
    if (rows == shapes[I].rows)
        return find_vectors<T, shapes[I].rows, 1, shapes[I].vectors>(vectors);
    if constexpr (I + 1 < std::size(shapes))
        return find_tile<T, I + 1>(rows, vectors);
    return nullptr;
}

// Elements of two vectors by turns, from the `half`-th half of each.
template <class T, int half, int... I> typename Vector<T>::type
by_turns(typename Vector<T>::type a, typename Vector<T>::type b, std::integer_sequence<int, I...>) {
    constexpr int lanes = Vector<T>::lanes;
    return __builtin_shufflevector(a, b, (half * lanes / 2 + I / 2 + I % 2 * lanes)...);
}

// Two vectors by turns past the caches, to 2 * lanes elements.
template <class T> void stream_by_turns(T *out, typename Vector<T>::type a, typename Vector<T>::type b) {
    constexpr auto order = std::make_integer_sequence<int, static_cast<int>(Vector<T>::lanes)>{};
    stream(out, by_turns<T, 0>(a, b, order));
    stream(out + Vector<T>::lanes, by_turns<T, 1>(a, b, order));
}

// As many sums as in a tile, of half the rows at a time.
template <class T, size_t V> void pair(const PairTask<T> &t) {
    using Vec = Vector<T>;
    constexpr size_t most = shapes[0].rows, rows = most / 2;
    for (size_t first = 0; first < most; first += rows) {
        typename Vec::type sum[rows][2][V] = {};
        const T *x = t.x, *even = t.w[0] + first, *odd = t.w[1] + first;
        for (int64_t c = 0; c < t.channels; ++c, x += t.channel_stride, even += most, odd += most) {
            typename Vec::type v[V];
#pragma GCC unroll 8
            for (size_t j = 0; j < V; ++j)
                v[j] = Vec::load(x + j * Vec::lanes);
#pragma GCC unroll 8
            for (size_t i = 0; i < rows; ++i)
#pragma GCC unroll 8
                for (size_t j = 0; j < V; ++j) {
                    sum[i][0][j] += even[i] * v[j];
                    sum[i][1][j] += odd[i] * v[j];
                }
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < rows; ++i) {
            const auto row = static_cast<int64_t>(first + i);
            if (row < t.rows)
#pragma GCC unroll 8
                for (size_t j = 0; j < V; ++j)
                    stream_by_turns<T>(t.out + row * t.out_stride + 2 * j * Vec::lanes, sum[i][0][j] + t.bias[row],
                                       sum[i][1][j] + t.bias[row]);
        }
    }
}

template <class T, size_t V = 1> PairFn<T> find_pair(size_t vectors) {
    if (vectors == V)
        return pair<T, V>;
    if constexpr (V < shapes[0].vectors)
        return find_pair<T, V + 1>(vectors);
    return nullptr;
}

// Stands for the sums of a residue without taps; a run never has more outputs of one residue than a tile has lanes.
template <class T> constexpr T zeros[8 * Vector<T>::lanes] = {};

// One channel's run of outputs to `out`.
template <class T, class E> using RunFn = void (*)(const EmitTask<T> &, int64_t channel, E *out);

template <class T, class E, size_t S> void interleave(const EmitTask<T> &t, int64_t channel, E *out) {
    const T bias = t.bias[channel];
    const T *sums[S];
    for (size_t r = 0; r < S; ++r)
        sums[r] = t.sums[r] ? t.sums[r] + channel * t.sums_stride : zeros<T>;
    const size_t count = static_cast<size_t>(t.count), whole = count / S;
    for (size_t j = 0; j < whole; ++j)
#pragma GCC unroll 4
        for (size_t r = 0; r < S; ++r)
            out[j * S + r] = narrow<E>(sums[r][j] + bias);
    for (size_t q = whole * S; q < count; ++q)
        out[q] = narrow<E>(sums[q % S][whole] + bias);
}

template <class T, class E> void scatter(const EmitTask<T> &t, int64_t channel, E *out) {
    const T bias = t.bias[channel];
    std::fill_n(out, t.count, narrow<E>(bias));
    for (int64_t r = 0; r < t.stride; ++r) {
        if (!t.sums[r])
            continue;
        const T *sums = t.sums[r] + channel * t.sums_stride;
        for (int64_t q = r; q < t.count; q += t.stride)
            out[q] = narrow<E>(*sums++ + bias);
    }
}

template <class T, class E> RunFn<T, E> find_run(int64_t stride) {
    switch (stride) {
    case 1:
        return interleave<T, E, 1>;
    case 2:
        return interleave<T, E, 2>;
    case 3:
        return interleave<T, E, 3>;
    case 4:
        return interleave<T, E, 4>;
    default:
        return scatter<T, E>;
    }
}

// What is streamed is made here first, at the same place in a cache line as where it goes.
template <class E> struct Buffer {
    static constexpr int64_t most = 4096 / sizeof(E);
    alignas(cache_line) E elements[most + cache_line / sizeof(E)];

    E *at_place_of(const E *out) { return elements + reinterpret_cast<uintptr_t>(out) % cache_line / sizeof(E); }
};

template <class E> void fill(E *out, int64_t count, E value, bool stream) {
    if (!stream) {
        std::fill_n(out, count, value);
        return;
    }
    Buffer<E> buffer;
    std::fill(std::begin(buffer.elements), std::end(buffer.elements), value);
    for (int64_t first = 0; first < count; first += buffer.most)
        stream_copy(out + first, buffer.at_place_of(out + first),
                    static_cast<size_t>(std::min(buffer.most, count - first)) * sizeof(E));
}

// The commonest run, from registers past the caches: two residues, no conversion, whole vectors, an aligned output.
template <class T> bool stream_pairs(const EmitTask<T> &t, int64_t channel, T *out) {
    using Vec = Vector<T>;
    const size_t count = static_cast<size_t>(t.count);
    if (t.stride != 2 || !t.sums[0] || !t.sums[1] || count % (2 * Vec::lanes) != 0 ||
        reinterpret_cast<uintptr_t>(out) % cache_line != 0)
        return false;
    const T *even = t.sums[0] + channel * t.sums_stride, *odd = t.sums[1] + channel * t.sums_stride;
    const T bias = t.bias[channel];
    for (size_t j = 0; j < count / 2; j += Vec::lanes)
        stream_by_turns<T>(out + 2 * j, Vec::load(even + j) + bias, Vec::load(odd + j) + bias);
    return true;
}

template <class T, class E> void emit_ncdhw(const EmitTask<T> &t) {
    const RunFn<T, E> run = find_run<T, E>(t.stride);
    for (int64_t channel = 0; channel < t.channels; ++channel) {
        E *out = static_cast<E *>(t.out) + channel * t.channel_stride;
        if constexpr (std::is_same_v<T, E>)
            if (t.stream && t.sums && stream_pairs(t, channel, out))
                continue;
        if (!t.sums) {
            fill(out, t.count, narrow<E>(t.bias[channel]), t.stream);
        } else if (t.stream && t.count <= Buffer<E>::most) {
            Buffer<E> buffer;
            E *const staged = buffer.at_place_of(out);
            run(t, channel, staged);
            stream_copy(out, staged, static_cast<size_t>(t.count) * sizeof(E));
        } else {
            run(t, channel, out);
        }
    }
}

// All channels of one output position.
template <class T, class E> void position(const EmitTask<T> &t, const T *sums, int64_t first, int64_t count, E *out) {
    const T *bias = t.bias + first;
    if (sums)
        for (int64_t c = 0; c < count; ++c)
            out[c] = narrow<E>(sums[(first + c) * t.sums_stride] + bias[c]);
    else
        for (int64_t c = 0; c < count; ++c)
            out[c] = narrow<E>(bias[c]);
}

template <class T, class E> void emit_ndhwc(const EmitTask<T> &t) {
    for (int64_t q = 0; q < t.count; ++q) {
        const T *sums = t.sums ? t.sums[q % t.stride] : nullptr;
        if (sums)
            sums += q / t.stride;
        E *const out = static_cast<E *>(t.out) + q * t.step;
        if (!t.stream) {
            position(t, sums, 0, t.channels, out);
            continue;
        }
        Buffer<E> buffer;
        for (int64_t first = 0; first < t.channels; first += buffer.most) {
            const int64_t count = std::min(buffer.most, t.channels - first);
            E *const staged = buffer.at_place_of(out + first);
            position(t, sums, first, count, staged);
            stream_copy(out + first, staged, static_cast<size_t>(count) * sizeof(E));
        }
    }
}

template <class T, class E> void stage(const void *from, int64_t stride, T *to, int64_t count) {
    const E *source = static_cast<const E *>(from);
    if (stride == 1)
        for (int64_t i = 0; i < count; ++i)
            to[i] = widen(source[i]);
    else
        for (int64_t i = 0; i < count; ++i)
            to[i] = widen(source[i * stride]);
}

template <class T, class E> void pack(const PackTask<T> &t) {
    const E *from = static_cast<const E *>(t.from);
    for (int64_t k = 0; k < t.taps; ++k) {
        T *to = t.to + k * t.step;
        for (int64_t r = 0; r < t.channels; ++r)
            to[r] = widen(from[r * t.channel_stride + k * t.tap_stride]);
        std::fill(to + t.channels, to + t.rows, T{0});
    }
}

// The instance of a function template for the tensors' type.
#define CT3D_SELECT(function, dtype)                                                                                   \
    ((dtype) == Dtype::f16    ? function<float, Half>                                                                  \
     : (dtype) == Dtype::bf16 ? function<float, Bfloat>                                                                \
                              : function<float, float>)

EmitFn<float> emit_f32(Dtype dtype, Layout layout) {
    return layout == Layout::ndhwc ? CT3D_SELECT(emit_ndhwc, dtype) : CT3D_SELECT(emit_ncdhw, dtype);
}
StageFn<float> stage_f32(Dtype dtype) { return CT3D_SELECT(stage, dtype); }
PackFn<float> pack_f32(Dtype dtype) { return CT3D_SELECT(pack, dtype); }

EmitFn<double> emit_f64(Dtype, Layout layout) {
    return layout == Layout::ndhwc ? emit_ndhwc<double, double> : emit_ncdhw<double, double>;
}
StageFn<double> stage_f64(Dtype) { return stage<double, double>; }
PackFn<double> pack_f64(Dtype) { return pack<double, double>; }

} // namespace

const PhaseLoops<float> phase_loops_f32{
    {Vector<float>::lanes, shapes, find_tile<float>, find_pair<float>}, emit_f32, stage_f32, pack_f32, finish};
const PhaseLoops<double> phase_loops_f64{
    {Vector<double>::lanes, shapes, find_tile<double>, find_pair<double>}, emit_f64, stage_f64, pack_f64, finish};

} // namespace ct3d::cpu::CT3D_ISA
