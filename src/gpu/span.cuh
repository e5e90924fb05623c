// SPDX-License-Identifier: MIT
// Sums that a block has collected in shared memory, written to a contiguous span of a tensor.
#pragma once

#include "element.cuh"

namespace ct3d::gpu {

// A word is left free after every 32, so that threads that are a power of two apart do not meet in a bank.
__device__ __forceinline__ uint32_t skewed(uint32_t i) { return i + (i >> 5); }

// Elements of 16 bytes.
template <class E> constexpr int vector_count = 16 / static_cast<int>(sizeof(E));

__device__ __forceinline__ uint32_t word(const float *v) { return __float_as_uint(*v); }
template <class E> __device__ __forceinline__ uint32_t word(const E *v) {
    return v[0].bits | static_cast<uint32_t>(v[1].bits) << 16;
}

template <class E> __device__ __forceinline__ void store_vector(E *to, const E (&v)[vector_count<E>]) {
    constexpr int step = vector_count<E> / 4;
    *reinterpret_cast<uint4 *>(to) = make_uint4(word(v), word(v + step), word(v + 2 * step), word(v + 3 * step));
}

// The sums first .. first+length go to y: 16 bytes at a time between the first and the last address that 16 divides.
template <class E> __device__ __forceinline__ void write_span(E *y, const float *sums, uint32_t first, uint32_t length,
                                                              float bias, uint32_t worker, uint32_t workers) {
    constexpr uint32_t count = vector_count<E>;
    const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(y) / sizeof(E)) % count;
    const uint32_t head = min((count - past) % count, length), tail = (length - head) % count;
    E *to = y + head + worker * count;
#pragma unroll 2
    for (uint32_t s = first + head + worker * count; s + count <= first + length; s += workers * count) {
        E v[count];
#pragma unroll
        for (uint32_t k = 0; k < count; ++k)
            v[k] = from_float<E>(sums[skewed(s + k)] + bias);
        store_vector(to, v);
        to += workers * count;
    }
    if (worker < head + tail) {
        const uint32_t i = worker < head ? worker : length - tail + (worker - head);
        y[i] = from_float<E>(sums[skewed(first + i)] + bias);
    }
}

} // namespace ct3d::gpu
