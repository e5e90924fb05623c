// SPDX-License-Identifier: MIT
// The kernel for few output channels and many input channels: the product of all taps with each input position on
// tensor cores, added up into outputs in shared memory.
#include "few_outputs_stage.cuh"

namespace ct3d::cuda {

namespace {

// products[pair][position] = weights * inputs, over one chunk of words; added to what is there unless it is the first.
// A warp multiplies 32 pairs with every so many positions.
template <class T> __device__ __forceinline__ void multiply(const FewOutputsParams &p, const uint32_t *weights,
                                                            const uint32_t *inputs, int32_t positions, int32_t words,
                                                            bool first, float *products) {
    constexpr int steps = T::chunk / 8;
    const int32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, column = lane % 4;
    const int32_t pair_groups = p.pairs / 32, slices = few_outputs_threads / 32 / pair_groups;
    const int32_t pair = warp % pair_groups * 32 + row;
    uint32_t a[2][steps][4];
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int k = 0; k < steps; ++k)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[m][k][i] = k * 8 < words
                                 ? weights[(pair + m * 16 + i % 2 * 8) * p.weights_pitch + k * 8 + column + i / 2 * 4]
                                 : 0;
    for (int32_t tile = warp / pair_groups; tile * 8 < positions; tile += slices) {
        float *to = products + pair * p.product_pitch + tile * 8 + column * 2;
        float d[2][4] = {};
        if (!first)
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    d[m][i] = to[(m * 16 + i / 2 * 8) * p.product_pitch + i % 2];
#pragma unroll
        for (int k = 0; k < steps; ++k)
            if (k * 8 < words) {
                const uint32_t *from = inputs + (k * 8 + column) * p.product_pitch + tile * 8 + row;
                const uint32_t b[2] = {from[0], from[4 * p.product_pitch]};
                T::mma(d[0], a[0][k], b);
                T::mma(d[1], a[1][k], b);
            }
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
            for (int i = 0; i < 2; ++i)
                *reinterpret_cast<float2 *>(to + (m * 16 + i * 8) * p.product_pitch) =
                    make_float2(d[m][2 * i], d[m][2 * i + 1]);
    }
}

// How one output position of a plane adds up its taps along y and x.
class Taps {
public:
    __device__ __forceinline__ Taps(const FewOutputsParams &p, const Block &b, uint32_t output)
        : p_(p), rows_(b.in_rows) {
        uint32_t window_y = output;
        uint32_t window_x = take_remainder(window_y, p.out_x);
        rx_ = p.axis[2].residue[take_remainder(window_x, p.stride_x)];
        ry_ = p.axis[1].residue[take_remainder(window_y, p.stride_y)];
        y_ = b.first_y / p.axis[1].stride + static_cast<int32_t>(window_y) + ry_.first_in - b.in_y;
        x_ = static_cast<int32_t>(window_x) + rx_.first_in;
#pragma unroll
        for (int ty = 0; ty < 2; ++ty)
#pragma unroll
            for (int tx = 0; tx < 2; ++tx)
                at_[ty][tx] = at(ty, tx);
    }

    // `products` begins with those of the first tap.
    __device__ __forceinline__ float sum(const float *products) const {
        float sum = 0;
        if (ry_.taps <= 2 && rx_.taps <= 2) {
#pragma unroll
            for (int ty = 0; ty < 2; ++ty)
#pragma unroll
                for (int tx = 0; tx < 2; ++tx)
                    if (at_[ty][tx] >= 0)
                        sum += products[at_[ty][tx]];
            return sum;
        }
        for (int32_t ty = 0; ty < ry_.taps; ++ty)
            for (int32_t tx = 0; tx < rx_.taps; ++tx)
                if (const int32_t i = at(ty, tx); i >= 0)
                    sum += products[i];
        return sum;
    }

private:
    // Where the product is; negative where the tap reads no input.
    __device__ __forceinline__ int32_t at(int32_t ty, int32_t tx) const {
        const FewOutputsAxis &ay = p_.axis[1], &ax = p_.axis[2];
        const int32_t y = y_ - ty * ay.in_step, x = x_ - tx * ax.in_step;
        if (ty >= ry_.taps || tx >= rx_.taps || y < 0 || y >= rows_ || x < 0 || x >= ax.in)
            return -1;
        const int32_t tap = (ry_.first_tap + ty * ay.tap_step) * ax.kernel + rx_.first_tap + tx * ax.tap_step;
        return tap * p_.product_pitch + y * ax.in + x;
    }

    const FewOutputsParams &p_;
    FewOutputsResidue ry_, rx_;
    int32_t rows_, y_, x_; // input rows; the input of the first tap
    int32_t at_[2][2];
};

// Adds a pass's products of the plane at `in_z` to the open output planes that it reaches.
__device__ __forceinline__ void add_up(const FewOutputsParams &p, const Block &b, int32_t in_z, int32_t pass,
                                       const float *products, float *sums) {
    const FewOutputsAxis &az = p.axis[0];
    const int32_t area = p.axis[1].kernel * p.axis[2].kernel * p.product_pitch;
    const int32_t kz = pass * p.slices, slices = min(p.slices, az.kernel - kz);
    const int32_t z = in_z * az.stride - az.padding + kz * az.dilation;
    const int32_t slot = (z % p.ring + p.ring) % p.ring;
    const uint32_t outputs = (b.end_y - b.first_y) * p.axis[2].out;
    for (uint32_t i = threadIdx.x; i < outputs; i += few_outputs_threads) {
        const Taps taps(p, b, i);
        const float *from = products;
        float *to = sums + skewed(i);
        int32_t open = slot;
        for (int32_t slice = 0; slice < slices; ++slice) {
            const int32_t out = z + slice * az.dilation;
            const bool inside = out >= b.first_z && out < b.end_z;
            for (int32_t co = 0; co < p.out_channels; ++co, from += area)
                if (inside)
                    to[(open * p.out_channels + co) * p.sums_pitch] += taps.sum(from);
            open += az.dilation;
            open -= open >= p.ring ? p.ring : 0;
        }
    }
}

// Writes the output planes from `z` to `end`, which no further input plane reaches, and clears their sums.
template <class E> __device__ __forceinline__ int32_t write_planes(const FewOutputsParams &p, const Block &b, int32_t z,
                                                                   int32_t end, float *sums) {
    const uint32_t outputs = (b.end_y - b.first_y) * p.axis[2].out;
    for (; z < end; ++z) {
        for (int32_t co = 0; co < p.out_channels; ++co) {
            const int64_t channel = static_cast<int64_t>(b.group) * p.out_channels + co;
            const float bias = p.bias ? to_float(static_cast<const E *>(p.bias)[channel]) : 0.0f;
            const float *from = sums + (z % p.ring * p.out_channels + co) * p.sums_pitch;
            E *y =
                static_cast<E *>(p.y) + b.sample * p.y_sample + channel * p.y_channel + z * p.y_z + b.first_y * p.y_y;
            if (p.y_x == 1)
                write_span(y, from, 0, outputs, bias, threadIdx.x, few_outputs_threads);
            else
                for (uint32_t i = threadIdx.x; i < outputs; i += few_outputs_threads)
                    y[i * p.y_x] = from_float<E>(from[skewed(i)] + bias);
        }
        __syncthreads();
        float *open = sums + z % p.ring * p.out_channels * p.sums_pitch;
        for (int32_t i = threadIdx.x; i < p.out_channels * p.sums_pitch; i += few_outputs_threads)
            open[i] = 0;
    }
    return z;
}

template <class T> __device__ __forceinline__ void few_outputs(const FewOutputsParams &p, uint32_t *shared) {
    using E = typename T::E;
    const FewOutputsAxis &az = p.axis[0];
    const Block b = locate_block(p);
    uint32_t *inputs = shared + p.inputs_at;
    float *products = reinterpret_cast<float *>(shared + p.products_at);
    float *sums = reinterpret_cast<float *>(shared + p.sums_at);
    const int32_t positions = b.in_rows * p.axis[2].in;
    const E *x = static_cast<const E *>(p.x) + b.sample * p.x_sample +
                 static_cast<int64_t>(b.group) * p.in_channels * p.x_channel + b.in_y * p.x_y;
    stage_weights<T>(p, b, shared);
    for (int32_t i = threadIdx.x; i < p.ring * p.out_channels * p.sums_pitch; i += few_outputs_threads)
        sums[i] = 0;
    int32_t z = b.first_z; // the first plane that is not written
    for (int32_t in_z = b.in_z; in_z < b.end_in_z; ++in_z)
        for (int32_t pass = 0; pass < p.passes; ++pass) {
            for (int32_t word = 0; word < p.words; word += T::chunk) {
                const int32_t words = min(T::chunk, p.words - word);
                if (pass == 0 || p.words > T::chunk)
                    stage_inputs<T>(p, x + in_z * p.x_z, positions, word, words, inputs);
                __syncthreads();
                if (pass == 0 && word == 0)
                    z = write_planes<E>(p, b, z, min(in_z * az.stride - az.padding, b.end_z), sums);
                multiply<T>(p, shared + pass * p.pairs * p.weights_pitch + word, inputs, positions, words, word == 0,
                            products);
                __syncthreads();
            }
            add_up(p, b, in_z, pass, products, sums);
        }
    __syncthreads();
    write_planes<E>(p, b, z, b.end_z, sums);
}

} // namespace

#define CT3D_FEW_OUTPUTS(type, Type)                                                                                   \
    extern "C" __global__ void __launch_bounds__(few_outputs_threads, 2)                                               \
        ct3d_few_outputs_##type(const __grid_constant__ FewOutputsParams p) {                                          \
        extern __shared__ uint4 shared_memory[];                                                                       \
        few_outputs<Type>(p, reinterpret_cast<uint32_t *>(shared_memory));                                             \
    }
CT3D_FEW_OUTPUTS(f16, F16)
CT3D_FEW_OUTPUTS(bf16, Bf16)
CT3D_FEW_OUTPUTS(tf32, Tf32)
#undef CT3D_FEW_OUTPUTS

} // namespace ct3d::cuda
