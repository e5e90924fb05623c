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

// What other compilers need to be told, see the functions of the same names for AMD's GPUs.
__device__ __forceinline__ void settle(float &, float &) {}
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
