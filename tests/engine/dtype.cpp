// SPDX-License-Identifier: MIT
#include "dtype.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

namespace ct3d::engine {
namespace {

// A binary format narrower than double: significand bits with the hidden one, and the least and largest exponents.
struct Format {
    int significand;
    int min_exponent;
    int max_exponent;

    constexpr unsigned exponent_ones() const { return static_cast<unsigned>(max_exponent - min_exponent + 2); }
};
constexpr Format half{11, -14, 15}, bfloat{8, -126, 127};

constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Of a normal number; for subnormal ones something below every format's least.
int exponent_of(double value) { return static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ffu) - 1023; }

uint16_t encode(const Format &format, double value) {
    const int fraction_bits = format.significand - 1;
    const auto sign = static_cast<unsigned>(std::signbit(value) ? 0x8000u : 0u);
    const unsigned infinity = format.exponent_ones() << fraction_bits;
    double magnitude = std::abs(value);
    if (std::isnan(value))
        return static_cast<uint16_t>(sign | infinity | 1u << (fraction_bits - 1));
    if (magnitude >= power_of_two(format.max_exponent + 1))
        return static_cast<uint16_t>(sign | infinity);
    const int exponent = std::max(exponent_of(magnitude), format.min_exponent);
    // Adding 2^52 units of the last place leaves no room below it: the hardware rounds, ties to even.
    const double unit = power_of_two(exponent - fraction_bits), shift = unit * 0x1p52;
    magnitude = (magnitude + shift) - shift;
    // In units of the smallest subnormal the pattern of a subnormal is its value; each binade above adds one exponent,
    // and a carry out of the significand moves into it, up to infinity.
    const auto significand = static_cast<unsigned>(magnitude / unit);
    const auto binade = static_cast<unsigned>(exponent - format.min_exponent);
    return static_cast<uint16_t>(sign | ((binade << fraction_bits) + significand));
}

double decode(const Format &format, uint16_t bits) {
    const int fraction_bits = format.significand - 1;
    const unsigned magnitude = bits & 0x7fffu;
    const unsigned exponent = magnitude >> fraction_bits, fraction = magnitude & ((1u << fraction_bits) - 1);
    double value;
    if (exponent == format.exponent_ones())
        value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
        value = std::ldexp(fraction, format.min_exponent - fraction_bits);
    else
        value = std::ldexp(fraction | 1u << fraction_bits,
                           static_cast<int>(exponent) - 1 + format.min_exponent - fraction_bits);
    return bits & 0x8000u ? -value : value;
}

struct HalfTable {
    double value[1 << 16];
    HalfTable() {
        for (unsigned bits = 0; bits < 1u << 16; ++bits)
            value[bits] = decode(half, static_cast<uint16_t>(bits));
    }
};

} // namespace

double to_double(Half v) {
    static const HalfTable table;
    return table.value[v.bits];
}

double to_double(Bfloat v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }

template <> float from_double<float>(double v) { return static_cast<float>(v); }
template <> double from_double<double>(double v) { return v; }
template <> Half from_double<Half>(double v) { return {encode(half, v)}; }
template <> Bfloat from_double<Bfloat>(double v) { return {encode(bfloat, v)}; }

size_t element_size(int32_t dtype) {
    return with_type(dtype, [](auto zero) { return sizeof zero; });
}

double load(int32_t dtype, const void *tensor, int64_t index) {
    return with_type(dtype, [&](auto zero) { return to_double(static_cast<const decltype(zero) *>(tensor)[index]); });
}

void store(int32_t dtype, void *tensor, int64_t index, double value) {
    with_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        static_cast<T *>(tensor)[index] = from_double<T>(value);
    });
}

double rounded(int32_t dtype, double value) {
    return with_type(dtype, [&](auto zero) { return to_double(from_double<decltype(zero)>(value)); });
}

double largest_finite(int32_t dtype) {
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

double unit_roundoff(int32_t dtype) {
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

double subnormal_roundoff(int32_t dtype) {
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
