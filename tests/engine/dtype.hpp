// SPDX-License-Identifier: MIT
// The element types seen as double: exact to it, one correct rounding from it. Shares nothing with the library.
#pragma once

#include "formats.hpp"

#include <cstddef>

namespace ct3d::engine {

struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};

inline double to_double(float v) { return static_cast<double>(v); }
inline double to_double(double v) { return v; }
double to_double(Half);
double to_double(Bfloat);

template <class T> T from_double(double);

// Calls body with a value of the element type: with_type(dtype, [&](auto zero) { using T = decltype(zero); ... }).
template <class Body> auto with_type(int32_t dtype, Body &&body) {
    switch (dtype) {
    case CT3D_F64:
        return body(double{});
    case CT3D_F16:
        return body(Half{});
    case CT3D_BF16:
        return body(Bfloat{});
    default:
        return body(float{});
    }
}

size_t element_size(int32_t dtype);
double load(int32_t dtype, const void *tensor, int64_t index);
void store(int32_t dtype, void *tensor, int64_t index, double value);

} // namespace ct3d::engine
