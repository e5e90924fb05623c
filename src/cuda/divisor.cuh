// SPDX-License-Identifier: MIT
// Division by a Divisor on the device.
#pragma once

#include "divisor.hpp"

namespace ct3d::cuda {

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

} // namespace ct3d::cuda
