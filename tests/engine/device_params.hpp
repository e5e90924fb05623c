// SPDX-License-Identifier: MIT
// What the engine's device code takes, one struct per kernel. Arrays of five are dimensions, as in Index.
#pragma once

#include "bounds.hpp"

namespace ct3d::engine {

inline constexpr uint32_t device_threads = 256; // of every block

// ct3d_engine_fill: writes a tensor in the order of its memory.
struct FillParams {
    FillValue fill;
    int32_t value_dtype;  // that the values are rounded to
    int32_t stored_dtype; // that holds them
    bool absolute;
    int64_t extent[5]; // from the outermost dimension in memory to the innermost
    int64_t number[5]; // what a step along it adds to the element's number
    void *data;
};

// ct3d_engine_gather: reads some elements.
struct GatherParams {
    const void *data;
    int32_t dtype;
    const int64_t *offsets;
    double *values;
    int64_t count;
};

// The verdicts of some elements taken together.
struct Verdicts {
    int64_t checked, wrong;
    double worst_share; // of the bound; negative where there is no element
    int64_t worst;      // its number
    double expected, got, bound;
    int64_t products;
    int64_t long_sums;  // elements of many products
    double mean_errors; // summed over them, in units of 2^-24 M
};

// ct3d_engine_judge: compares every element of y with a reference that is itself off by at most its f64 bound.
struct JudgeParams {
    Rules rules;
    int64_t shape[5], stride[5]; // of y
    const void *got;
    const double *expected, *magnitude; // in the order of numbers
    const int64_t *axis_products[3];    // pairs of input and tap at each output coordinate
    int64_t channels;                   // that each pair sums over
    Verdicts *verdicts;                 // one for each block
};

} // namespace ct3d::engine
