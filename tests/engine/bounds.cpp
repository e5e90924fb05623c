// SPDX-License-Identifier: MIT
#include "bounds.hpp"

#include "dtype.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ct3d::engine {
namespace {

constexpr double u = 0x1p-24;
constexpr int64_t symmetric_limit = 1026; // a random walk is never as far off as the worst case
constexpr int64_t quality_limit = 16;
constexpr double integer_limit = 0x1p24; // sums below it are exact in f32 in any order
constexpr double infinity = std::numeric_limits<double>::infinity();

double out_roundoff(const Rules &rules) { return unit_roundoff(rules.dtype); }

bool must_be_equal(const Rules &rules, const Exact &exact) {
    if (exact.products == 0)
        return true;
    if (rules.fill == Fill::exact)
        return exact.magnitude < static_cast<long double>(integer_limit);
    return (rules.fill == Fill::identity || rules.fill == Fill::onehot) && !rules.summed;
}

// Whether `got` is a neighbour of `value` among the numbers of 11 significant bits, and as near as the other one.
bool nearest_in_tf32(double value, double got) {
    if (value == 0)
        return got == 0;
    const double unit = std::ldexp(1.0, std::ilogb(value) - 10);
    return std::remainder(got, unit) == 0 && std::abs(got - value) <= unit / 2;
}

bool equal(const Rules &rules, double expected, double got) {
    const bool tf32 = rules.dtype == CT3D_F32 && rules.math == CT3D_MATH_TF32;
    return got == expected || (tf32 && rules.fill != Fill::exact && nearest_in_tf32(expected, got));
}

} // namespace

double bound(const Rules &rules, const Exact &exact) {
    const auto magnitude = static_cast<double>(exact.magnitude);
    int64_t n = exact.products + 2;
    if (rules.fill == Fill::symmetric)
        n = std::min(n, rules.quality ? quality_limit : symmetric_limit);
    const auto steps = static_cast<double>(n);
    if (rules.dtype == CT3D_F64)
        return steps * 0x1p-53 * magnitude;

    const double flushed = static_cast<double>(exact.products) * 0x1p-126 * rules.largest;
    const double sums = steps * u * magnitude + flushed;
    if (rules.dtype == CT3D_F32)
        return rules.math == CT3D_MATH_TF32 ? sums + 0x1p-10 * magnitude : sums;
    const double u_out = out_roundoff(rules);
    return (1 + u_out) * sums + u_out * std::abs(static_cast<double>(exact.value)) + subnormal_roundoff(rules.dtype);
}

Verdict judge(const Rules &rules, const Exact &exact, double got) {
    const double expected = rounded(rules.dtype, static_cast<double>(exact.value));
    const auto error = static_cast<double>(std::abs(static_cast<long double>(got) - exact.value));
    if (must_be_equal(rules, exact))
        return {equal(rules, expected, got), std::isnan(error) ? infinity : error, 0};

    const double limit = bound(rules, exact), largest = largest_finite(rules.dtype);
    const auto magnitude = static_cast<double>(std::abs(exact.value));
    const bool saturated = std::abs(got) == largest ||
                           (std::isinf(got) && std::signbit(got) == std::signbit(static_cast<double>(exact.value)));
    if (magnitude + limit > largest && saturated)
        return {true, 0, limit};
    if (magnitude - limit > largest * (1 + out_roundoff(rules)))
        return {false, infinity, limit};
    return {error <= limit, std::isnan(error) ? infinity : error, limit};
}

} // namespace ct3d::engine
