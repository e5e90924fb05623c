// SPDX-License-Identifier: MIT
#include "geometry.hpp"

#include "dtype.hpp"

#include <algorithm>

namespace ct3d::engine {
namespace {

constexpr Order channels_first{0, 1, 2, 3, 4}, channels_last{0, 2, 3, 4, 1};

Index dense(const Index &shape, const Order &order) {
    Index strides{};
    int64_t next = 1;
    for (size_t i = order.size(); i-- > 0;) {
        strides[order[i]] = next;
        next *= std::max<int64_t>(shape[order[i]], 1);
    }
    return strides;
}

int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Inputs i in [0, I) with 0 <= i*S - P + k*L < O, summed over k.
double axis_products(const ct3d_problem &p, int axis) {
    const int64_t S = p.stride[axis];
    double pairs = 0;
    for (int64_t k = 0; k < p.kernel[axis]; ++k) {
        const int64_t shift = k * p.dilation[axis] - p.pad_begin[axis];
        const int64_t first = std::max<int64_t>(0, -floor_divide(shift, S));
        const int64_t last = std::min(p.in[axis] - 1, floor_divide(output_extent(p, axis) - 1 - shift, S));
        pairs += static_cast<double>(std::max<int64_t>(0, last - first + 1));
    }
    return pairs;
}

} // namespace

int64_t output_extent(const ct3d_problem &p, int axis) {
    return (p.in[axis] - 1) * p.stride[axis] - p.pad_begin[axis] - p.pad_end[axis] +
           p.dilation[axis] * (p.kernel[axis] - 1) + p.output_padding[axis] + 1;
}

Index shape(const ct3d_problem &p, Role role) {
    switch (role) {
    case Role::x:
        return {p.batch, p.in_channels, p.in[0], p.in[1], p.in[2]};
    case Role::w:
        return {p.in_channels, p.out_channels / p.groups, p.kernel[0], p.kernel[1], p.kernel[2]};
    case Role::bias:
        return {p.out_channels, 1, 1, 1, 1};
    case Role::y:
        break;
    }
    return {p.batch, p.out_channels, output_extent(p, 0), output_extent(p, 1), output_extent(p, 2)};
}

int64_t elements(const Index &shape) { return shape[0] * shape[1] * shape[2] * shape[3] * shape[4]; }

int64_t elements(const ct3d_problem &p, Role role) { return elements(shape(p, role)); }

Index strides(const ct3d_problem &p, Role role) { return dense(shape(p, role), memory_order(p, role)); }

Order memory_order(const ct3d_problem &p, Role role) {
    const bool last = role == Role::w ? p.weights_layout == CT3D_IDHWO : p.layout == CT3D_NDHWC;
    return last && role != Role::bias ? channels_last : channels_first;
}

Index numbering(const Index &shape) { return dense(shape, channels_first); }

Index index_of(const Index &shape, int64_t number) {
    Index index;
    for (size_t d = shape.size(); d-- > 0; number /= shape[d])
        index[d] = number % shape[d];
    return index;
}

double products(const ct3d_problem &p) {
    const double channels = static_cast<double>(p.batch) * static_cast<double>(p.in_channels) *
                            static_cast<double>(p.out_channels / p.groups);
    return channels * axis_products(p, 0) * axis_products(p, 1) * axis_products(p, 2);
}

double tensor_bytes(const ct3d_problem &p) {
    double count = 0;
    for (const Role role : {Role::x, Role::w, Role::y})
        count += static_cast<double>(elements(p, role));
    if (p.has_bias && p.op != CT3D_BACKWARD_DATA)
        count += static_cast<double>(p.out_channels);
    return count * static_cast<double>(element_size(p.dtype));
}

} // namespace ct3d::engine
