// SPDX-License-Identifier: MIT
// The engine's device code: tensors that are too large for the host are filled and judged where they are.
#include "device_params.hpp"

namespace {

using namespace ct3d::engine;

__device__ double load(const void *data, int32_t dtype, int64_t i) {
    switch (dtype) {
    case CT3D_F64:
        return static_cast<const double *>(data)[i];
    case CT3D_F16:
        return decode(half_format(), static_cast<const uint16_t *>(data)[i]);
    case CT3D_BF16:
        return decode(bfloat_format(), static_cast<const uint16_t *>(data)[i]);
    default:
        return static_cast<const float *>(data)[i];
    }
}

__device__ void store(void *data, int32_t dtype, int64_t i, double value) {
    switch (dtype) {
    case CT3D_F64:
        static_cast<double *>(data)[i] = value;
        break;
    case CT3D_F16:
        static_cast<uint16_t *>(data)[i] = encode(half_format(), value);
        break;
    case CT3D_BF16:
        static_cast<uint16_t *>(data)[i] = encode(bfloat_format(), value);
        break;
    default:
        static_cast<float *>(data)[i] = static_cast<float>(value);
    }
}

__device__ int64_t first_of_thread() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64_t threads_of_grid() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

__device__ void merge(Verdicts &all, const Verdicts &more) {
    all.checked += more.checked;
    all.wrong += more.wrong;
    all.long_sums += more.long_sums;
    all.mean_errors += more.mean_errors;
    if (more.worst_share > all.worst_share || (more.worst_share == all.worst_share && more.worst < all.worst)) {
        all.worst_share = more.worst_share;
        all.worst = more.worst;
        all.expected = more.expected;
        all.got = more.got;
        all.bound = more.bound;
        all.products = more.products;
    }
}

__device__ Verdicts judge_element(const JudgeParams &p, int64_t number) {
    int64_t index[5], rest = number, offset = 0;
    for (int d = 4; d >= 0; --d) {
        index[d] = rest % p.shape[d];
        rest /= p.shape[d];
        offset += index[d] * p.stride[d];
    }
    ExactValue<double> exact{p.expected[number], p.magnitude[number], p.channels};
    for (int axis = 0; axis < 3; ++axis)
        exact.products *= p.axis_products[axis][index[2 + axis]];
    Rules f64 = p.rules;
    f64.dtype = CT3D_F64;
    const double doubt = bound(f64, exact.value, exact.magnitude, exact.products);
    const double got = load(p.got, p.rules.dtype, offset);
    const Verdict verdict = judge(p.rules, exact, got, doubt);
    Verdicts one{1,   !verdict.passed, share_of_bound(verdict), number, exact.value,
                 got, verdict.bound,   exact.products,          0,      0};
    if (counts_in_mean(p.rules, exact)) {
        one.long_sums = 1;
        one.mean_errors = verdict.error / (0x1p-24 * exact.magnitude);
    }
    return one;
}

} // namespace

extern "C" __global__ void ct3d_engine_fill(const __grid_constant__ FillParams p) {
    const int64_t count = p.extent[0] * p.extent[1] * p.extent[2] * p.extent[3] * p.extent[4];
    for (int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
        int64_t rest = i, number = 0;
        for (int d = 4; d >= 0; --d) {
            number += rest % p.extent[d] * p.number[d];
            rest /= p.extent[d];
        }
        const double value = rounded(p.value_dtype, fill_value(p.fill, number));
        store(p.data, p.stored_dtype, i, p.absolute ? std::abs(value) : value);
    }
}

extern "C" __global__ void ct3d_engine_gather(const __grid_constant__ GatherParams p) {
    for (int64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        p.values[i] = load(p.data, p.dtype, p.offsets[i]);
}

extern "C" __global__ void ct3d_engine_judge(const __grid_constant__ JudgeParams p) {
    __shared__ Verdicts of_threads[device_threads];
    const int64_t count = p.shape[0] * p.shape[1] * p.shape[2] * p.shape[3] * p.shape[4];
    Verdicts mine{0, 0, -1, 0, 0, 0, 0, 0, 0, 0};
    for (int64_t i = first_of_thread(); i < count; i += threads_of_grid())
        merge(mine, judge_element(p, i));
    of_threads[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = device_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            merge(of_threads[threadIdx.x], of_threads[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        p.verdicts[blockIdx.x] = of_threads[0];
}
