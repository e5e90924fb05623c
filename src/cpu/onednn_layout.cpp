// SPDX-License-Identifier: MIT
#include "onednn_layout.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <atomic>

namespace ct3d::cpu::onednn {

namespace {

constexpr int64_t tile_channels = 16;
constexpr int64_t tile_positions = 1024;
constexpr int64_t chunk = 1 << 14; // of a tensor taken element by element

// Where a tile of one tensor starts, and the distance between its channels and positions.
template <class T> struct Tile {
    T *at;
    int64_t channel, position;
};

template <class T> Tile<T> tile_of(T *tensor, const Blocked &s, int64_t n, int64_t c, int64_t p) {
    return {tensor + s.offset(n, c) + p * s.block, s.channel_stride(), s.block};
}

template <class To, class From> To converted(From value, float bias) { return narrow<To>(widen(value) + bias); }

// Both sides run along the same dimension.
template <class From, class To>
void copy_tile(Tile<From> from, Tile<To> to, int64_t channels, int64_t positions, const float *bias) {
    if (from.position == 1) {
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t p = 0; p < positions; ++p)
                to.at[c * to.channel + p] = converted<To>(from.at[c * from.channel + p], bias[c]);
    } else {
        for (int64_t p = 0; p < positions; ++p)
            for (int64_t c = 0; c < channels; ++c)
                to.at[p * to.position + c] = converted<To>(from.at[p * from.position + c], bias[c]);
    }
}

// One side runs along channels, the other along positions: a square at a time, through a buffer.
template <class From, class To>
void transpose_square(Tile<From> from, Tile<To> to, int64_t channels, int64_t positions, const float *bias) {
    float square[tile_channels][tile_channels];
    if (from.position == 1) {
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t p = 0; p < positions; ++p)
                square[p][c] = widen(from.at[c * from.channel + p]) + bias[c];
        for (int64_t p = 0; p < positions; ++p)
            for (int64_t c = 0; c < channels; ++c)
                to.at[p * to.position + c] = narrow<To>(square[p][c]);
    } else {
        for (int64_t p = 0; p < positions; ++p)
            for (int64_t c = 0; c < channels; ++c)
                square[c][p] = widen(from.at[p * from.position + c]) + bias[c];
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t p = 0; p < positions; ++p)
                to.at[c * to.channel + p] = narrow<To>(square[c][p]);
    }
}

template <class From, class To>
void transpose_tile(Tile<From> from, Tile<To> to, int64_t channels, int64_t positions, const float *bias) {
    for (int64_t p = 0; p < positions; p += tile_channels) {
        const Tile<From> f{from.at + p * from.position, from.channel, from.position};
        const Tile<To> t{to.at + p * to.position, to.channel, to.position};
        // Constant extents let the compiler unroll.
        if (channels == tile_channels && positions - p >= tile_channels)
            transpose_square(f, t, tile_channels, tile_channels, bias);
        else
            transpose_square(f, t, channels, std::min(tile_channels, positions - p), bias);
    }
}

template <class From, class To> void move_tensor(int32_t threads, const From *from, const Blocked &from_shape, To *to,
                                                 const Blocked &to_shape, const To *bias) {
    const int64_t width = std::min({tile_channels, from_shape.block == 1 ? tile_channels : from_shape.block,
                                    to_shape.block == 1 ? tile_channels : to_shape.block});
    const int64_t channels = from_shape.channels;
    const int64_t columns = (channels + width - 1) / width;
    const int64_t rows = (from_shape.positions + tile_positions - 1) / tile_positions;
    parallel_for(threads, from_shape.batch * columns * rows, [&](int64_t item, int32_t) {
        const int64_t p = item % rows * tile_positions;
        const int64_t c = item / rows % columns * width;
        const int64_t n = item / rows / columns;
        const int64_t positions = std::min(tile_positions, from_shape.positions - p);
        const int64_t count = std::min(width, channels - c);
        float added[tile_channels] = {};
        for (int64_t i = 0; bias && i < count; ++i)
            added[i] = widen(bias[c + i]);
        const Tile<const From> f = tile_of(from, from_shape, n, c, p);
        const Tile<To> t = tile_of(to, to_shape, n, c, p);
        if ((f.position == 1) == (t.position == 1))
            copy_tile(f, t, count, positions, added);
        else
            transpose_tile(f, t, count, positions, added);
        const bool fills_up = to_shape.block != 1 && to_shape.block != channels && c + count == channels;
        for (int64_t i = 0; fills_up && i < positions; ++i)
            std::fill(t.at + i * t.position + count, t.at + i * t.position + to_shape.block - c % to_shape.block, To{});
    });
}

template <class From, class To> void convert_all(int32_t threads, const From *from, To *to, int64_t count) {
    parallel_for(threads, (count + chunk - 1) / chunk, [&](int64_t item, int32_t) {
        const int64_t end = std::min(count, (item + 1) * chunk);
        for (int64_t i = item * chunk; i < end; ++i)
            to[i] = narrow<To>(widen(from[i]));
    });
}

template <class T> bool all_finite_in(int32_t threads, const T *tensor, int64_t count) {
    std::atomic<bool> finite{true};
    parallel_for(threads, (count + chunk - 1) / chunk, [&](int64_t item, int32_t) {
        const int64_t end = std::min(count, (item + 1) * chunk);
        float zero = 0; // becomes a NaN where an element is not finite, and stays one
        for (int64_t i = item * chunk; i < end; ++i)
            zero += 0.0f * widen(tensor[i]);
        if (zero != 0.0f)
            finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
}

template <class T> void sum_tensor(int32_t threads, const T *from, const Blocked &shape, T *bias) {
    constexpr int64_t lanes = 16;
    const bool last = shape.block != 1;
    const int64_t width = last ? lanes : 1;
    parallel_for(threads, (shape.channels + width - 1) / width, [&](int64_t item, int32_t) {
        double sums[lanes] = {};
        const int64_t c = item * width;
        const int64_t count = std::min(width, shape.channels - c);
        for (int64_t n = 0; n < shape.batch; ++n) {
            const T *tensor = from + shape.offset(n, c);
            for (int64_t p = 0; last && p < shape.positions; ++p)
                for (int64_t i = 0; i < count; ++i)
                    sums[i] += double{widen(tensor[p * shape.channels + i])};
            for (int64_t p = 0; !last && p < shape.positions; ++p)
                sums[p % lanes] += double{widen(tensor[p])};
        }
        if (!last)
            for (int64_t i = 1; i < lanes; ++i)
                sums[0] += sums[i];
        for (int64_t i = 0; i < count; ++i)
            bias[c + i] = narrow<T>(static_cast<float>(sums[i]));
    });
}

} // namespace

int64_t block_of(Layout layout, int64_t channels) { return layout == Layout::ncdhw ? 1 : channels; }

void move(int32_t threads, const void *from, Dtype from_type, const Blocked &from_shape, void *to, Dtype to_type,
          const Blocked &to_shape, const void *bias) {
    with_type(from_type, [&]<class From>(From) {
        with_type(to_type, [&]<class To>(To) {
            move_tensor(threads, static_cast<const From *>(from), from_shape, static_cast<To *>(to), to_shape,
                        static_cast<const To *>(bias));
        });
    });
}

void convert(int32_t threads, const void *from, Dtype from_type, void *to, Dtype to_type, int64_t count) {
    with_type(from_type, [&]<class From>(From) {
        with_type(to_type, [&]<class To>(To) {
            convert_all(threads, static_cast<const From *>(from), static_cast<To *>(to), count);
        });
    });
}

bool all_finite(int32_t threads, const void *tensor, Dtype type, int64_t count) {
    bool finite = true;
    with_type(type, [&]<class T>(T) { finite = all_finite_in(threads, static_cast<const T *>(tensor), count); });
    return finite;
}

void sum_channels(int32_t threads, const void *from, Dtype type, const Blocked &shape, void *bias) {
    with_type(type,
              [&]<class T>(T) { sum_tensor(threads, static_cast<const T *>(from), shape, static_cast<T *>(bias)); });
}

} // namespace ct3d::cpu::onednn
