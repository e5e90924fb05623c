// SPDX-License-Identifier: MIT
// What device code for all vendors' GPUs needs of NVIDIA's.
#pragma once

#include "gpu.hpp"
#include "ptx.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ct3d::gpu {

using cuda::cp_async_16;
using cuda::cp_async_commit;
using cuda::cp_async_wait;
using cuda::load_shared;
using cuda::load_shared_float;
using cuda::load_shared_half;
using cuda::opaque;
using cuda::shared_address;

// The same address. What is then added to it is not first added to the parts that it was made of.
template <class E> __device__ __forceinline__ E *whole(E *p) {
    const uint64_t bits = reinterpret_cast<uintptr_t>(p);
    const uint32_t low = opaque(static_cast<int32_t>(bits)), high = opaque(static_cast<int32_t>(bits >> 32));
    return reinterpret_cast<E *>(static_cast<uintptr_t>(static_cast<uint64_t>(high) << 32 | low));
}

// What other compilers need to be told, see the functions of the same names for AMD's GPUs.
__device__ __forceinline__ void settle(float &, float &) {}
template <class T> __device__ __forceinline__ T read_global(const T *p) { return *p; }
template <class T> __device__ __forceinline__ void write_global(T *p, T v) { *p = v; }
template <class Params> __device__ __forceinline__ const Params &launch_params(const Params &given) { return given; }

__device__ __forceinline__ float half_to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
__device__ __forceinline__ uint16_t float_to_half(float v) { return __half_as_ushort(__float2half_rn(v)); }
__device__ __forceinline__ uint16_t float_to_bfloat(float v) { return __bfloat16_as_ushort(__float2bfloat16_rn(v)); }

// Two rounded values in a word, the first one in the lower half.
__device__ __forceinline__ uint32_t floats_to_halves(float x, float y) {
    const __half2 v = __floats2half2_rn(x, y);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
__device__ __forceinline__ uint32_t floats_to_bfloats(float x, float y) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

} // namespace ct3d::gpu
