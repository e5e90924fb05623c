// SPDX-License-Identifier: MIT
// Division on the device: by a Divisor, and by numbers that are taken as they come.
#pragma once

#include "divisor.hpp"

namespace ct3d::gpu {

__device__ __forceinline__ uint32_t divide(uint32_t n, Divisor d) {
    return d.magic ? static_cast<uint32_t>((static_cast<uint64_t>(n) * d.magic) >> 32) : n;
}

__device__ __forceinline__ uint32_t divide(uint32_t n, WideDivisor d) {
    return d.magic ? static_cast<uint32_t>((static_cast<uint64_t>(n) * d.magic) >> 32) >> d.shift : n;
}

// Takes the remainder of n by d out of n.
template <class D> __device__ __forceinline__ uint32_t take_remainder(uint32_t &n, D d) {
    const uint32_t quotient = divide(n, d), remainder = n - quotient * d.value;
    n = quotient;
    return remainder;
}

__device__ __forceinline__ int32_t take_remainder(uint32_t &n, int32_t d) {
    const uint32_t quotient = n / static_cast<uint32_t>(d), remainder = n - quotient * static_cast<uint32_t>(d);
    n = quotient;
    return static_cast<int32_t>(remainder);
}

// A 32-bit division where that is enough: it is many times faster.
__device__ __forceinline__ int64_t take_remainder(int64_t &n, int64_t d) {
    if ((n | d) >> 32 == 0) {
        const uint32_t low = static_cast<uint32_t>(n), divisor = static_cast<uint32_t>(d);
        n = low / divisor;
        return low % divisor;
    }
    const int64_t remainder = n % d;
    n /= d;
    return remainder;
}

__device__ __forceinline__ int32_t floor_divide(int32_t n, int32_t d) { return n >= 0 ? n / d : -((d - 1 - n) / d); }

} // namespace ct3d::gpu
