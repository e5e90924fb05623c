// SPDX-License-Identifier: MIT
// How far an output may be from its exact value, and what each fill asks beyond that.
#pragma once

#include "fill_value.hpp"
#include "formats.hpp"

namespace ct3d::engine {

// The value that an output element ought to have, and what its bound follows from.
template <class Real> struct ExactValue {
    Real value;
    Real magnitude;   // M: the same sum over absolute values
    int64_t products; // n; for dbias the summands
};

// What an element is judged by.
struct Rules {
    int32_t dtype;
    int32_t math;
    Fill fill;
    bool quality;   // the sharper f32 bound of the symmetric fill
    bool summed;    // dbias: a sum, for which identity and onehot ask nothing more
    double largest; // max(1, max abs first operand, max abs second operand)
};

struct Verdict {
    bool passed;
    double error; // absolute
    double bound; // what the error had to keep; 0 where the element had to be equal
};

// Mean of error/M over outputs of at least `mean_products` products, in units of 2^-24, where there are enough.
inline constexpr int64_t mean_products = 48;
inline constexpr int64_t mean_outputs = 1000;
inline constexpr double mean_limit = 0.4;

// A random walk is never as far off as the worst case.
inline constexpr int64_t symmetric_limit = 1026, quality_limit = 16;
// Sums of integers below it are exact in f32 in any order.
inline constexpr double integer_limit = 0x1p24;

CT3D_ENGINE_SHARED double bound(const Rules &rules, double value, double magnitude, int64_t products) {
    const int64_t limit = rules.quality ? quality_limit : symmetric_limit;
    const int64_t n = rules.fill == Fill::symmetric && products + 2 > limit ? limit : products + 2;
    const auto steps = static_cast<double>(n);
    if (rules.dtype == CT3D_F64)
        return steps * 0x1p-53 * magnitude;

    const double flushed = static_cast<double>(products) * 0x1p-126 * rules.largest;
    const double sums = steps * 0x1p-24 * magnitude + flushed;
    if (rules.dtype == CT3D_F32)
        return rules.math == CT3D_MATH_TF32 ? sums + 0x1p-10 * magnitude : sums;
    const double u_out = unit_roundoff(rules.dtype);
    return (1 + u_out) * sums + u_out * std::abs(value) + subnormal_roundoff(rules.dtype);
}

template <class Real> CT3D_ENGINE_SHARED bool must_be_equal(const Rules &rules, const ExactValue<Real> &exact) {
    if (exact.products == 0)
        return true;
    if (rules.fill == Fill::exact)
        return exact.magnitude < static_cast<Real>(integer_limit);
    return (rules.fill == Fill::identity || rules.fill == Fill::onehot) && !rules.summed;
}

// Whether `got` is a neighbour of `value` among the numbers of 11 significant bits, and as near as the other one.
CT3D_ENGINE_SHARED bool nearest_in_tf32(double value, double got) {
    if (value == 0)
        return got == 0;
    const double unit = std::ldexp(1.0, std::ilogb(value) - 10);
    return std::remainder(got, unit) == 0 && std::abs(got - value) <= unit / 2;
}

CT3D_ENGINE_SHARED bool equal(const Rules &rules, double expected, double got) {
    const bool tf32 = rules.dtype == CT3D_F32 && rules.math == CT3D_MATH_TF32;
    return got == expected || (tf32 && rules.fill != Fill::exact && nearest_in_tf32(expected, got));
}

// `doubt` is how far the exact value itself may be off.
template <class Real>
CT3D_ENGINE_SHARED Verdict judge(const Rules &rules, const ExactValue<Real> &exact, double got, double doubt = 0) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto value = static_cast<double>(exact.value);
    const Real difference = static_cast<Real>(got) - exact.value;
    const double distance = std::abs(static_cast<double>(difference));
    const double error = std::isnan(distance) ? infinity : distance;
    if (must_be_equal(rules, exact))
        return {equal(rules, rounded(rules.dtype, value), got), error, 0};

    const double limit = bound(rules, value, static_cast<double>(exact.magnitude), exact.products) + doubt;
    const double largest = largest_finite(rules.dtype), magnitude = std::abs(value);
    const bool saturated = std::abs(got) == largest || (std::isinf(got) && std::signbit(got) == std::signbit(value));
    if (magnitude + limit > largest && saturated)
        return {true, 0, limit};
    if (magnitude - limit > largest * (1 + unit_roundoff(rules.dtype)))
        return {false, infinity, limit};
    return {error <= limit, error, limit};
}

// Error over bound, such that a wrong element is worse than any right one.
CT3D_ENGINE_SHARED double share_of_bound(const Verdict &verdict) {
    if (verdict.bound > 0)
        return verdict.error / verdict.bound;
    return verdict.passed ? 0 : std::numeric_limits<double>::infinity();
}

template <class Real> CT3D_ENGINE_SHARED bool counts_in_mean(const Rules &rules, const ExactValue<Real> &exact) {
    return rules.quality && exact.products >= mean_products && exact.magnitude > 0;
}

} // namespace ct3d::engine
