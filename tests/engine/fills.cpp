// SPDX-License-Identifier: MIT
#include "fills.hpp"

#include "dtype.hpp"
#include "parallel.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ct3d::engine {
namespace {

// Draws of one tensor: the same seed gives unrelated numbers to each operand.
struct Draw {
    uint64_t stream;

    Draw(uint64_t seed, Operand operand) : stream(mix(mix(seed) + static_cast<uint64_t>(operand))) {}

    uint64_t bits(int64_t i) const { return mix(stream + static_cast<uint64_t>(i)); }
    int64_t below(int64_t i, int64_t count) const {
        return static_cast<int64_t>(bits(i) % static_cast<uint64_t>(count));
    }
};

// Odd multiples of 2^-bits, so never 0 and never +-1: a significand that 24 bits (f64: 53) hold and no fewer.
double symmetric(uint64_t random, int bits) {
    const auto numerator = static_cast<int64_t>((random >> (64 - bits)) | 1) - (int64_t{1} << (bits - 1));
    return std::ldexp(static_cast<double>(numerator), 1 - bits);
}

double constant(Operand operand) {
    return operand == Operand::first ? 0.7310585 : operand == Operand::second ? 0.37 : 0.5;
}

template <class T> struct Filler {
    const Case &c;
    const Draw draw;
    const Operand operand;
    static constexpr int bits = sizeof(T) == 8 ? 54 : 25;

    double value(int64_t i) const {
        switch (c.fill) {
        case Fill::positive:
            return std::abs(symmetric(draw.bits(i), bits));
        case Fill::constant:
            return constant(operand);
        case Fill::exact:
            return static_cast<double>(draw.below(i, 5) - 2);
        default:
            return symmetric(draw.bits(i), bits);
        }
    }

    double fill(T *data, int64_t count) const {
        constexpr int64_t chunk = 1 << 16;
        std::vector<double> largest(static_cast<size_t>(workers()), 0.0);
        parallel_for((count + chunk - 1) / chunk, static_cast<double>(count), [&](int64_t item, int worker) {
            double most = 0;
            for (int64_t i = item * chunk; i < std::min(count, (item + 1) * chunk); ++i) {
                data[i] = from_double<T>(value(i));
                most = std::max(most, std::abs(to_double(data[i])));
            }
            double &mine = largest[static_cast<size_t>(worker)];
            mine = std::max(mine, most);
        });
        return *std::max_element(largest.begin(), largest.end());
    }
};

void zero(const Case &c, Role role, void *host) {
    const auto bytes = static_cast<size_t>(elements(c.problem, role)) * element_size(c.problem.dtype);
    std::fill_n(static_cast<unsigned char *>(host), bytes, static_cast<unsigned char>(0));
}

// In each group, input channel j is passed on to output channel j through one tap.
void fill_identity(const Case &c, const Draw &draw, void *host) {
    const ct3d_problem &p = c.problem;
    const Index stride = strides(p, Role::w);
    const int64_t in_channels = p.in_channels / p.groups;
    int64_t tap = 0;
    for (int axis = 0; axis < 3; ++axis)
        tap += draw.below(axis, p.kernel[axis]) * stride[static_cast<size_t>(2 + axis)];
    for (int64_t group = 0; group < p.groups; ++group)
        for (int64_t j = 0; j < std::min(in_channels, p.out_channels / p.groups); ++j)
            store(p.dtype, host, (group * in_channels + j) * stride[0] + j * stride[1] + tap, 1);
}

} // namespace

double fill_tensor(const Case &c, uint64_t seed, Operand operand, Role role, void *host) {
    const int64_t count = elements(c.problem, role);
    const Draw draw(seed, operand);
    const bool onehot = c.fill == Fill::onehot && operand == Operand::first;
    const bool identity = c.fill == Fill::identity && operand == Operand::second;
    const bool no_bias = (c.fill == Fill::onehot || c.fill == Fill::identity) && operand == Operand::bias;
    if (count == 0)
        return 0;
    if (!onehot && !identity && !no_bias)
        return with_type(c.problem.dtype, [&](auto zero) {
            using T = decltype(zero);
            return Filler<T>{c, draw, operand}.fill(static_cast<T *>(host), count);
        });
    zero(c, role, host);
    if (onehot)
        store(c.problem.dtype, host, draw.below(0, count), 1);
    if (identity)
        fill_identity(c, draw, host);
    return no_bias ? 0 : 1;
}

const char *fill_refusal(const Case &c) {
    return c.fill == Fill::identity && c.problem.op == CT3D_BACKWARD_WEIGHTS
               ? "the identity fill has no weights to set in backward_weights"
               : nullptr;
}

} // namespace ct3d::engine
