// SPDX-License-Identifier: MIT
// What device code for all vendors' GPUs needs of AMD's. Addresses of shared memory (LDS) are those that
// shared_address() gives.
#pragma once

#include "language.cuh"
#include "mfma.cuh"

namespace ct3d::gpu {

template <class T> using Shared = __attribute__((address_space(3))) T *;
template <class T> using Global = __attribute__((address_space(1))) T *;
template <class T> using Constant = __attribute__((address_space(4))) T *;
using Quad = unsigned __attribute__((ext_vector_type(4)));
using Pair = unsigned __attribute__((ext_vector_type(2)));

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)(Shared<const void>)p; // NOLINT
}
template <class T> __device__ __forceinline__ Shared<T> at_shared(uint32_t address) { return (Shared<T>)address; }

__device__ __forceinline__ uint4 load_shared(uint32_t address) {
    return __builtin_bit_cast(uint4, *at_shared<const Quad>(address));
}
__device__ __forceinline__ uint2 load_shared_pair(uint32_t address) {
    return __builtin_bit_cast(uint2, *at_shared<const Pair>(address));
}
__device__ __forceinline__ float load_shared_float(uint32_t address) { return *at_shared<const float>(address); }
__device__ __forceinline__ uint16_t load_shared_half(uint32_t address) { return *at_shared<const uint16_t>(address); }

// Values in global memory, where the compiler loses sight of that: an access to memory that it does not know is flat,
// and slower.
template <class T> using Halves = uint16_t __attribute__((ext_vector_type(sizeof(T) / 2)));
template <class T> __device__ __forceinline__ T read_global(const T *p) {
    return __builtin_bit_cast(T, *(Global<const Halves<T>>)p);
}
template <class T> __device__ __forceinline__ void write_global(T *p, T v) {
    *(Global<Halves<T>>)p = __builtin_bit_cast(Halves<T>, v);
}

// The parameters of the kernel, its only argument. Compilers copy the argument itself to scratch where they lose sight
// of who reads it; where it came from can only be read.
template <class Params> __device__ __forceinline__ const Params &launch_params(const Params &) {
    return *(const Params *)(Constant<const Params>)__builtin_amdgcn_kernarg_segment_ptr();
}

// The same sums. What is added to them before is not put off until they are read, with all operands kept until then.
__device__ __forceinline__ void settle(float &a, float &b) {
    mfma::Float2 sums{a, b};
    asm volatile("" : "+v"(sums));
    a = sums[0];
    b = sums[1];
}

// The same value, of which the compiler knows nothing: what is computed from it inside a loop is not kept in registers
// around the loop.
__device__ __forceinline__ int32_t opaque(int32_t value) {
    asm volatile("" : "+v"(value));
    return value;
}

// The same address in global memory. What is then added to it is not first added to the parts that it was made of.
template <class E> __device__ __forceinline__ E *whole(E *p) {
    auto global = (Global<E>)p;
    asm volatile("" : "+v"(global));
    return (E *)global;
}

// There are no copies of 16 bytes past the registers: each is done when the function returns.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global) {
    *at_shared<Quad>(shared) = *(Global<const Quad>)global;
}
// Copies `bytes`, 0 or 16; zeros instead of 0.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global, uint32_t bytes) {
    Quad v{};
    if (bytes > 0)
        v = *(Global<const Quad>)global;
    *at_shared<Quad>(shared) = v;
}
__device__ __forceinline__ void cp_async_commit() {}
template <int N> __device__ __forceinline__ void cp_async_wait() {}

__device__ __forceinline__ float half_to_float(uint16_t bits) {
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
__device__ __forceinline__ uint16_t float_to_half(float v) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(v));
}
// To nearest even, without a branch; a NaN stays one, whose upper bits may all be 0.
__device__ __forceinline__ uint16_t float_to_bfloat(float v) {
    const uint32_t bits = __float_as_uint(v), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return static_cast<uint16_t>((v == v ? rounded : bits | 0x400000) >> 16);
}

// Two rounded values in a word, the first one in the lower half.
__device__ __forceinline__ uint32_t floats_to_halves(float x, float y) {
    return float_to_half(x) | static_cast<uint32_t>(float_to_half(y)) << 16;
}
__device__ __forceinline__ uint32_t floats_to_bfloats(float x, float y) {
    return float_to_bfloat(x) | static_cast<uint32_t>(float_to_bfloat(y)) << 16;
}

} // namespace ct3d::gpu
