// SPDX-License-Identifier: MIT
// The data of one tensor as a function of an element's number in NCDHW (weights: IODHW) order, so that a problem has
// the same numbers in every layout.
#pragma once

#include "random.hpp"

#include <cmath>
#include <cstdint>

namespace ct3d::engine {

enum class Fill { symmetric, positive, constant, exact, identity, onehot };

struct FillValue {
    enum class Kind { symmetric, positive, constant, integers, onehot, identity };

    Kind kind;
    uint64_t stream; // the same seed gives unrelated numbers to each operand
    int32_t bits;    // of a random number, with its sign
    double unit;     // 2 to the power 1 - bits
    double constant;
    int64_t hot;                       // onehot: the element that is 1; none if negative
    int64_t tap, taps;                 // identity: the tap that passes a channel on
    int64_t in_channels, out_channels; // likewise: of a group
};

// Odd multiples of 2^-bits, so never 0 and never +-1: a significand that 24 bits (f64: 53) hold and no fewer.
CT3D_ENGINE_SHARED double symmetric_value(const FillValue &f, uint64_t random) {
    const auto numerator = static_cast<int64_t>((random >> (64 - f.bits)) | 1) - (int64_t{1} << (f.bits - 1));
    return static_cast<double>(numerator) * f.unit;
}

// In each group, input channel j is passed on to output channel j through one tap.
CT3D_ENGINE_SHARED double identity_value(const FillValue &f, int64_t i) {
    const int64_t channels = i / f.taps;
    const bool passed_on = channels / f.out_channels % f.in_channels == channels % f.out_channels;
    return passed_on && i % f.taps == f.tap ? 1 : 0;
}

// Not yet rounded to the element type.
CT3D_ENGINE_SHARED double fill_value(const FillValue &f, int64_t i) {
    const uint64_t random = mix(f.stream + static_cast<uint64_t>(i));
    switch (f.kind) {
    case FillValue::Kind::positive:
        return std::abs(symmetric_value(f, random));
    case FillValue::Kind::constant:
        return f.constant;
    case FillValue::Kind::integers:
        return static_cast<double>(static_cast<int64_t>(random % 5) - 2);
    case FillValue::Kind::onehot:
        return i == f.hot ? 1 : 0;
    case FillValue::Kind::identity:
        return identity_value(f, i);
    default:
        return symmetric_value(f, random);
    }
}

} // namespace ct3d::engine
