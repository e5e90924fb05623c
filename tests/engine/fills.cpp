// SPDX-License-Identifier: MIT
#include "fills.hpp"

#include "dtype.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <vector>

namespace ct3d::engine {
namespace {

uint64_t stream(uint64_t seed, Operand operand) { return mix(mix(seed) + static_cast<uint64_t>(operand)); }

int64_t below(const FillValue &f, int64_t i, int64_t count) {
    return static_cast<int64_t>(mix(f.stream + static_cast<uint64_t>(i)) % static_cast<uint64_t>(count));
}

double constant(Operand operand) {
    return operand == Operand::first ? 0.7310585 : operand == Operand::second ? 0.37 : 0.5;
}

FillValue::Kind kind_of(Fill fill, Operand operand) {
    switch (fill) {
    case Fill::positive:
        return FillValue::Kind::positive;
    case Fill::constant:
        return FillValue::Kind::constant;
    case Fill::exact:
        return FillValue::Kind::integers;
    case Fill::onehot:
        return operand == Operand::second ? FillValue::Kind::symmetric : FillValue::Kind::onehot;
    case Fill::identity:
        return operand == Operand::first    ? FillValue::Kind::symmetric
               : operand == Operand::second ? FillValue::Kind::identity
                                            : FillValue::Kind::onehot;
    default:
        return FillValue::Kind::symmetric;
    }
}

// Writes a tensor in the order of its memory, some rows per item.
template <class T> double write_rows(const FillValue &fill, const Index &shape, const Order &order, T *data) {
    const Index number = numbering(shape);
    const int64_t length = shape[order[4]], step = number[order[4]];
    const int64_t rows = elements(shape) / length, chunk = std::max<int64_t>(1, (1 << 16) / length);
    std::vector<double> largest(static_cast<size_t>(workers()), 0.0);
    parallel_for((rows + chunk - 1) / chunk, static_cast<double>(elements(shape)), [&](int64_t item, int worker) {
        double most = 0;
        for (int64_t row = item * chunk; row < std::min(rows, (item + 1) * chunk); ++row) {
            int64_t rest = row, first = 0;
            for (size_t d = 4; d-- > 0; rest /= shape[order[d]])
                first += rest % shape[order[d]] * number[order[d]];
            for (int64_t i = 0; i < length; ++i) {
                const T value = from_double<T>(fill_value(fill, first + i * step));
                data[row * length + i] = value;
                most = std::max(most, std::abs(to_double(value)));
            }
        }
        double &mine = largest[static_cast<size_t>(worker)];
        mine = std::max(mine, most);
    });
    return *std::max_element(largest.begin(), largest.end());
}

} // namespace

FillValue make_fill(const Case &c, uint64_t seed, Operand operand, Role role) {
    const ct3d_problem &p = c.problem;
    FillValue f{};
    f.kind = kind_of(c.fill, operand);
    f.stream = stream(seed, operand);
    f.bits = p.dtype == CT3D_F64 ? 54 : 25;
    f.unit = power_of_two(1 - f.bits);
    f.constant = constant(operand);
    f.hot = operand == Operand::first ? below(f, 0, std::max<int64_t>(1, elements(p, role))) : -1;
    f.taps = 1;
    for (int axis = 0; axis < 3; ++axis) {
        f.tap = f.tap * p.kernel[axis] + below(f, axis, p.kernel[axis]);
        f.taps *= p.kernel[axis];
    }
    f.in_channels = p.in_channels / p.groups;
    f.out_channels = p.out_channels / p.groups;
    return f;
}

double fill_tensor(const Case &c, uint64_t seed, Operand operand, Role role, void *host) {
    const Index extent = shape(c.problem, role);
    if (elements(extent) == 0)
        return 0;
    const FillValue fill = make_fill(c, seed, operand, role);
    return with_type(c.problem.dtype, [&](auto zero) {
        using T = decltype(zero);
        return write_rows(fill, extent, memory_order(c.problem, role), static_cast<T *>(host));
    });
}

double largest_value(Fill fill) { return fill == Fill::exact ? 2 : 1; }

const char *fill_refusal(const Case &c) {
    return c.fill == Fill::identity && c.problem.op == CT3D_BACKWARD_WEIGHTS
               ? "the identity fill has no weights to set in backward_weights"
               : nullptr;
}

} // namespace ct3d::engine
