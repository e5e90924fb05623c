// SPDX-License-Identifier: MIT
// The half type, as host code.
#pragma once

#include "../half.hpp"

#include <cstdint>

struct __half {
    uint16_t bits;
};
struct alignas(4) __half2 {
    __half x, y;
};

inline __half __ushort_as_half(uint16_t bits) { return {bits}; }
inline uint16_t __half_as_ushort(__half v) { return v.bits; }
inline float __half2float(__half v) { return standin::half_to_float(v.bits); }
inline __half __float2half_rn(float v) { return {standin::float_to_half(v)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
inline float __low2float(__half2 v) { return __half2float(v.x); }
inline float __high2float(__half2 v) { return __half2float(v.y); }
