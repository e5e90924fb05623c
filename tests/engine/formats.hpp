// SPDX-License-Identifier: MIT
// What the element types can hold, and their 16-bit patterns. Shares nothing with the library.
#pragma once

#include "shared.hpp"

#include <ct3d/ct3d.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ct3d::engine {

// A binary format narrower than double: significand bits with the hidden one, and the least and largest exponents.
struct Format {
    int significand;
    int min_exponent;
    int max_exponent;

    constexpr unsigned exponent_ones() const { return static_cast<unsigned>(max_exponent - min_exponent + 2); }
};
CT3D_ENGINE_SHARED constexpr Format half_format() { return {11, -14, 15}; }
CT3D_ENGINE_SHARED constexpr Format bfloat_format() { return {8, -126, 127}; }

CT3D_ENGINE_SHARED double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Of a normal number; for subnormal ones something below every format's least.
CT3D_ENGINE_SHARED int exponent_of(double value) {
    return static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ffu) - 1023;
}

CT3D_ENGINE_SHARED uint16_t encode(const Format &format, double value) {
    const int fraction_bits = format.significand - 1;
    const auto sign = static_cast<unsigned>(std::signbit(value) ? 0x8000u : 0u);
    const unsigned infinity = format.exponent_ones() << fraction_bits;
    double magnitude = std::abs(value);
    if (std::isnan(value))
        return static_cast<uint16_t>(sign | infinity | 1u << (fraction_bits - 1));
    if (magnitude >= power_of_two(format.max_exponent + 1))
        return static_cast<uint16_t>(sign | infinity);
    const int own = exponent_of(magnitude), exponent = own < format.min_exponent ? format.min_exponent : own;
    // Adding 2^52 units of the last place leaves no room below it: the hardware rounds, ties to even.
    const double unit = power_of_two(exponent - fraction_bits), shift = unit * 0x1p52;
    magnitude = (magnitude + shift) - shift;
    // In units of the smallest subnormal the pattern of a subnormal is its value; each binade above adds one exponent,
    // and a carry out of the significand moves into it, up to infinity.
    const auto significand = static_cast<unsigned>(magnitude / unit);
    const auto binade = static_cast<unsigned>(exponent - format.min_exponent);
    return static_cast<uint16_t>(sign | ((binade << fraction_bits) + significand));
}

CT3D_ENGINE_SHARED double decode(const Format &format, uint16_t bits) {
    const int fraction_bits = format.significand - 1;
    const unsigned magnitude = bits & 0x7fffu;
    const unsigned exponent = magnitude >> fraction_bits, fraction = magnitude & ((1u << fraction_bits) - 1);
    double value;
    if (exponent == format.exponent_ones())
        value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
        value = fraction * power_of_two(format.min_exponent - fraction_bits);
    else
        value = (fraction | 1u << fraction_bits) *
                power_of_two(static_cast<int>(exponent) - 1 + format.min_exponent - fraction_bits);
    return bits & 0x8000u ? -value : value;
}

// To the nearest value of the type, ties to even.
CT3D_ENGINE_SHARED double rounded(int32_t dtype, double value) {
    switch (dtype) {
    case CT3D_F64:
        return value;
    case CT3D_F16:
        return decode(half_format(), encode(half_format(), value));
    case CT3D_BF16:
        return decode(bfloat_format(), encode(bfloat_format(), value));
    default:
        return static_cast<double>(static_cast<float>(value));
    }
}

CT3D_ENGINE_SHARED double largest_finite(int32_t dtype) {
    switch (dtype) {
    case CT3D_F64:
        return DBL_MAX;
    case CT3D_F16:
        return 65504;
    case CT3D_BF16:
        return 0x1.fep127;
    default:
        return static_cast<double>(FLT_MAX);
    }
}

// Half the distance from 1 to the next value.
CT3D_ENGINE_SHARED double unit_roundoff(int32_t dtype) {
    switch (dtype) {
    case CT3D_F64:
        return 0x1p-53;
    case CT3D_F16:
        return 0x1p-11;
    case CT3D_BF16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

// Half the smallest subnormal.
CT3D_ENGINE_SHARED double subnormal_roundoff(int32_t dtype) {
    switch (dtype) {
    case CT3D_F16:
        return 0x1p-25;
    case CT3D_BF16:
        return 0x1p-134;
    default:
        return 0;
    }
}

} // namespace ct3d::engine
