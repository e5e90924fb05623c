// SPDX-License-Identifier: MIT
// The element types on the device: stored as bits, widened exactly to f32, rounded to nearest even from it.
#pragma once

#include "target.cuh"

#include <cstdint>

namespace ct3d::gpu {

struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(Half v) { return half_to_float(v.bits); }
__device__ __forceinline__ float to_float(Bfloat v) { return __uint_as_float(static_cast<uint32_t>(v.bits) << 16); }

template <class E> __device__ __forceinline__ E from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ Half from_float<Half>(float v) { return {float_to_half(v)}; }
template <> __device__ __forceinline__ Bfloat from_float<Bfloat>(float v) { return {float_to_bfloat(v)}; }

// Two elements in a word, the first one in the lower half.
__device__ __forceinline__ uint32_t as_word(Half, float x, float y) { return floats_to_halves(x, y); }
__device__ __forceinline__ uint32_t as_word(Bfloat, float x, float y) { return floats_to_bfloats(x, y); }

template <class E> __device__ __forceinline__ E load_shared_element(uint32_t from) {
    if constexpr (sizeof(E) == 4)
        return load_shared_float(from);
    else
        return {load_shared_half(from)};
}

// Two neighbouring elements, at a multiple of their size.
__device__ __forceinline__ void store_two(float *to, float x, float y) {
    *reinterpret_cast<float2 *>(to) = make_float2(x, y);
}
template <class E> __device__ __forceinline__ void store_two(E *to, float x, float y) {
    *reinterpret_cast<uint32_t *>(to) = as_word(E{}, x, y);
}

// One element as often as it fits into a word.
__device__ __forceinline__ uint32_t repeated(float v) { return __float_as_uint(v); }
template <class E> __device__ __forceinline__ uint32_t repeated(E v) { return v.bits * 0x10001u; }

// To the nearest 11-bit significand, ties away from zero. Infinities and NaNs stay what they are.
__device__ __forceinline__ float round_to_tf32(float v) {
    const uint32_t bits = __float_as_uint(v);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return finite ? __uint_as_float((bits + 0x1000u) & 0xffffe000u) : v;
}

} // namespace ct3d::gpu
