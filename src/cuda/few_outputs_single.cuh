// SPDX-License-Identifier: MIT
// The kernel for one output channel, kernel 4 and stride 2: a thread adds up the products of its outputs in registers.
#pragma once

#include "few_outputs_stage.cuh"

namespace ct3d::cuda {

// The sums of two outputs along x of one output row, for the four output planes that an input plane reaches.
template <class E> class SingleOutput {
public:
    static constexpr int kernel = 4, stride = 2, taps = kernel * kernel, pitch = single_output_pitch;

    __device__ __forceinline__ SingleOutput(const FewOutputsParams &p, const Block &b) : p_(p), b_(b) {
        const FewOutputsAxis &ay = p.axis[1], &ax = p.axis[2];
        uint32_t row = threadIdx.x;
        const int32_t window = static_cast<int32_t>(take_remainder(row, p.pairs_x)), x = window * stride;
        const int32_t y = b.first_y + static_cast<int32_t>(row);
        exists_ = y < b.end_y;
        second_ = x + 1 < ax.out;
        y_ = static_cast<E *>(p.y) + b.sample * p.y_sample + b.group * p.y_channel + y * p.y_y + x * p.y_x;
        bias_ = p.bias ? to_float(static_cast<const E *>(p.bias)[b.group]) : 0.0f;
        const FewOutputsResidue ry = ay.residue[y % stride];
#pragma unroll
        for (int cx = 0; cx < stride; ++cx)
#pragma unroll
            for (int ty = 0; ty < 2; ++ty)
#pragma unroll
                for (int tx = 0; tx < 2; ++tx) {
                    const FewOutputsResidue rx = ax.residue[cx];
                    const int32_t in_y = y / stride + ry.first_in - ty - b.in_y, in_x = window + rx.first_in - tx;
                    const int32_t tap = (ry.first_tap + ty * stride) * kernel + rx.first_tap + tx * stride;
                    const bool inside = exists_ && in_y >= 0 && in_y < b.in_rows && in_x >= 0 && in_x < ax.in;
                    at_[cx][ty * 2 + tx] = inside ? tap * pitch + in_y * ax.in + in_x : pitch - 1;
                }
    }

    // Adds the products of one input plane.
    __device__ __forceinline__ void add(const float *products) {
#pragma unroll
        for (int kz = 0; kz < kernel; ++kz, products += taps * pitch)
#pragma unroll
            for (int cx = 0; cx < stride; ++cx)
                sums_[kz][cx] +=
                    (products[at_[cx][0]] + products[at_[cx][1]]) + (products[at_[cx][2]] + products[at_[cx][3]]);
    }

    // Writes the two output planes from z on, which no further input plane reaches, as far as they are the block's.
    __device__ __forceinline__ void write(int32_t z) {
#pragma unroll
        for (int kz = 0; kz < stride; ++kz, ++z) {
            if (exists_ && z >= b_.first_z && z < b_.end_z)
                store(y_ + z * p_.y_z, sums_[kz][0] + bias_, sums_[kz][1] + bias_);
#pragma unroll
            for (int cx = 0; cx < stride; ++cx) {
                sums_[kz][cx] = sums_[kz + stride][cx];
                sums_[kz + stride][cx] = 0;
            }
        }
    }

    __device__ __forceinline__ void write_bias(int32_t z, int32_t end) const {
        if (exists_)
            for (; z < end; ++z)
                store(y_ + z * p_.y_z, bias_, bias_);
    }

private:
    __device__ __forceinline__ void store(E *to, float first, float second) const {
        const E values[2] = {from_float<E>(first), from_float<E>(second)};
        if (!p_.two_wide) {
            to[0] = values[0];
            if (second_)
                to[p_.y_x] = values[1];
        } else if constexpr (sizeof(E) == 4) {
            *reinterpret_cast<float2 *>(to) = make_float2(values[0], values[1]);
        } else {
            *reinterpret_cast<uint32_t *>(to) = word(values);
        }
    }

    const FewOutputsParams &p_;
    const Block &b_;
    E *y_;
    float bias_;
    bool exists_, second_;
    int32_t at_[stride][4]; // products of the taps along y and x; one that is zero where a tap reads no input
    float sums_[kernel][stride] = {};
};

// A warp multiplies the taps of two output planes with every fourth tile of eight positions.
template <class T> class SingleOutputProducts {
public:
    // The weights of one chunk of words.
    __device__ __forceinline__ void load(const FewOutputsParams &p, const uint32_t *weights) {
        const uint32_t *from = weights + (first_pair() + row()) * p.weights_pitch + column();
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const uint32_t *of_row = from + (m * 16 + i % 2 * 8) * p.weights_pitch + i / 2 * 4;
#pragma unroll
                for (int k = 0; k < steps; ++k)
                    a_[m][k][i] = of_row[k * 8];
            }
    }

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < tiles * 8; ++i)
            d_[i / 8][i / 4 % 2][i % 4] = 0;
    }

    __device__ __forceinline__ void multiply(const uint32_t *inputs, int32_t positions) {
        const uint32_t *from = inputs + column() * single_output_pitch + first_position() + row();
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
            if (first_position() + tile * 32 < positions)
#pragma unroll
                for (int k = 0; k < steps; ++k) {
                    const uint32_t *b_from = from + k * 8 * single_output_pitch + tile * 32;
                    const uint32_t b[2] = {b_from[0], b_from[4 * single_output_pitch]};
                    T::mma(d_[tile][0], a_[0][k], b);
                    T::mma(d_[tile][1], a_[1][k], b);
                }
    }

    __device__ __forceinline__ void store(float *products, int32_t positions) const {
        float *to = products + (first_pair() + row()) * single_output_pitch + first_position() + column() * 2;
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
            if (first_position() + tile * 32 < positions)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    *reinterpret_cast<float2 *>(to + i * 8 * single_output_pitch + tile * 32) =
                        make_float2(d_[tile][i / 2][i % 2 * 2], d_[tile][i / 2][i % 2 * 2 + 1]);
    }

private:
    static constexpr int steps = single_output_chunk / 8, tiles = single_output_positions / 32;

    static __device__ __forceinline__ int32_t row() { return threadIdx.x % 32 / 4; }
    static __device__ __forceinline__ int32_t column() { return threadIdx.x % 4; }
    static __device__ __forceinline__ int32_t first_pair() { return threadIdx.x / 32 % 2 * 32; }
    static __device__ __forceinline__ int32_t first_position() { return threadIdx.x / 64 * 8; }

    uint32_t a_[2][steps][4];
    float d_[tiles][2][4];
};

template <class T> __device__ __forceinline__ void single_output(const FewOutputsParams &p, uint32_t *shared) {
    using E = typename T::E;
    const Block b = locate_block(p);
    uint32_t *inputs = shared + p.inputs_at;
    float *products = reinterpret_cast<float *>(shared + p.products_at);
    const int32_t positions = b.in_rows * p.axis[2].in;
    const E *x = static_cast<const E *>(p.x) + b.sample * p.x_sample +
                 static_cast<int64_t>(b.group) * p.in_channels * p.x_channel + b.in_y * p.x_y;
    stage_weights<T>(p, b, shared);
    for (int32_t pair = threadIdx.x; pair < p.pairs; pair += few_outputs_threads)
        products[pair * single_output_pitch + single_output_pitch - 1] = 0;
    SingleOutput<E> output(p, b);
    SingleOutputProducts<T> product;
    int32_t z = b.in_z * SingleOutput<E>::stride - p.axis[0].padding; // the first output plane that is reached
    output.write_bias(b.first_z, min(z, b.end_z));
    for (int32_t in_z = b.in_z; in_z < b.end_in_z; ++in_z, z += SingleOutput<E>::stride) {
        product.clear();
        for (int32_t word = 0; word < p.words; word += single_output_chunk) {
            stage_inputs<T>(p, x + in_z * p.x_z, positions, word, single_output_chunk, inputs);
            __syncthreads();
            if (in_z == b.in_z || p.words > single_output_chunk)
                product.load(p, shared + word);
            product.multiply(inputs, positions);
            if (word + single_output_chunk == p.words)
                product.store(products, positions);
            __syncthreads();
        }
        output.add(products);
        output.write(z);
    }
    if (b.in_z < b.end_in_z) {
        output.write(z);
        z += SingleOutput<E>::stride;
    }
    output.write_bias(max(z, b.first_z), b.end_z);
}

} // namespace ct3d::cuda
