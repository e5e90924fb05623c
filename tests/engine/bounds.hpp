// SPDX-License-Identifier: MIT
// How far an output may be from its exact value, and what each fill asks beyond that.
#pragma once

#include "case.hpp"
#include "reference.hpp"

namespace ct3d::engine {

// What an element is judged by.
struct Rules {
    int32_t dtype;
    int32_t math;
    Fill fill;
    bool quality;   // the sharper f32 bound of the symmetric fill
    bool summed;    // dbias: a sum, for which identity and onehot ask nothing more
    double largest; // max(1, max abs first operand, max abs second operand)
};

double bound(const Rules &, const Exact &);

struct Verdict {
    bool passed;
    double error; // absolute
    double bound; // what the error had to keep; 0 where the element had to be equal
};

Verdict judge(const Rules &, const Exact &, double got);

// Mean of error/M over outputs of at least `mean_products` products, in units of 2^-24, where there are enough.
inline constexpr int64_t mean_products = 48;
inline constexpr int64_t mean_outputs = 1000;
inline constexpr double mean_limit = 0.4;

} // namespace ct3d::engine
