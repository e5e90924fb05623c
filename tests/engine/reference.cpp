// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include "dtype.hpp"
#include "parallel.hpp"

#include <cmath>
#include <vector>

namespace ct3d::engine {
namespace {

// Where a pair of an axis coordinate of the first operand and one of the second adds to an output coordinate.
struct Pair {
    int64_t first, second;
};

// For each output coordinate of an axis, its pairs, found by trying every input and tap.
struct AxisPairs {
    std::vector<int64_t> begin;
    std::vector<Pair> pairs;

    AxisPairs(const ct3d_problem &p, int axis) {
        const int64_t extents[] = {output_extent(p, axis), p.in[axis], p.kernel[axis]};
        begin.assign(static_cast<size_t>(extents[p.op]) + 1, 0);
        each(p, axis, [&](int64_t output, Pair) { ++begin[static_cast<size_t>(output) + 1]; });
        for (size_t i = 1; i < begin.size(); ++i)
            begin[i] += begin[i - 1];
        pairs.resize(static_cast<size_t>(begin.back()));
        std::vector<int64_t> next = begin;
        each(p, axis, [&](int64_t output, Pair pair) {
            pairs[static_cast<size_t>(next[static_cast<size_t>(output)]++)] = pair;
        });
    }

    template <class Visit> static void each(const ct3d_problem &p, int axis, Visit &&visit) {
        const int64_t extent = output_extent(p, axis);
        for (int64_t i = 0; i < p.in[axis]; ++i)
            for (int64_t k = 0; k < p.kernel[axis]; ++k) {
                const int64_t o = i * p.stride[axis] - p.pad_begin[axis] + k * p.dilation[axis];
                if (o < 0 || o >= extent)
                    continue;
                if (p.op == CT3D_FORWARD)
                    visit(o, Pair{i, k});
                else if (p.op == CT3D_BACKWARD_DATA)
                    visit(i, Pair{o, k});
                else
                    visit(k, Pair{i, o});
            }
    }

    const Pair *first(int64_t output) const { return pairs.data() + begin[static_cast<size_t>(output)]; }
    const Pair *last(int64_t output) const { return first(output + 1); }
};

// A tensor by its first element, as a pointer or as what behaves like one.
template <class Pointer> struct View {
    Pointer data;
    Index stride;
};

// Points into a tensor whose values are made when they are read.
struct Generated {
    const FillValue *fill;
    int32_t dtype;
    int64_t at;

    Generated operator+(int64_t steps) const { return {fill, dtype, at + steps}; }
    double operator[](int64_t i) const { return rounded(dtype, fill_value(*fill, at + i)); }
};

template <class Sum> struct Total {
    Sum value = 0, magnitude = 0;

    void add(Sum product) {
        value += product;
        magnitude += std::abs(product);
    }
};

// Four partial sums, so that additions do not wait for one another.
template <class Sum, class Pointer>
void add_products(Total<Sum> &total, Pointer a, int64_t a_step, Pointer b, int64_t b_step, int64_t count) {
    int64_t i = 0;
    if (count >= 4) {
        Total<Sum> parts[4];
        for (; i + 4 <= count; i += 4)
            for (int64_t lane = 0; lane < 4; ++lane)
                parts[lane].add(static_cast<Sum>(to_double(a[(i + lane) * a_step])) *
                                static_cast<Sum>(to_double(b[(i + lane) * b_step])));
        for (const Total<Sum> &part : parts) {
            total.value += part.value;
            total.magnitude += part.magnitude;
        }
    }
    for (; i < count; ++i)
        total.add(static_cast<Sum>(to_double(a[i * a_step])) * static_cast<Sum>(to_double(b[i * b_step])));
}

// A copy in f64; `order` names the dimensions outermost first.
template <class T> std::vector<double> repack(const View<const T *> &from, const Index &shape,
                                              const std::array<size_t, 5> &order, Index &stride) {
    int64_t next = 1;
    for (size_t i = order.size(); i-- > 0;) {
        stride[order[i]] = next;
        next *= shape[order[i]];
    }
    std::vector<double> packed(static_cast<size_t>(next));
    const auto length = [&](size_t i) { return shape[order[i]]; };
    parallel_for(length(0) * length(1), static_cast<double>(next), [&](int64_t item, int) {
        Index at{};
        at[order[0]] = item / length(1);
        at[order[1]] = item % length(1);
        for (int64_t a = 0; a < length(2); ++a)
            for (int64_t b = 0; b < length(3); ++b) {
                at[order[2]] = a;
                at[order[3]] = b;
                at[order[4]] = 0;
                int64_t source = 0, target = 0;
                for (size_t i = 0; i < 5; ++i) {
                    source += at[i] * from.stride[i];
                    target += at[i] * stride[i];
                }
                for (int64_t c = 0; c < length(4); ++c)
                    packed[static_cast<size_t>(target + c)] = to_double(from.data[source + c * from.stride[order[4]]]);
            }
    });
    return packed;
}

// What the op reads: the first operand of each product, and the second.
Role first_role(const ct3d_problem &p) { return p.op == CT3D_BACKWARD_DATA ? Role::y : Role::x; }
Role second_role(const ct3d_problem &p) { return p.op == CT3D_BACKWARD_WEIGHTS ? Role::y : Role::w; }

// Innermost is what the sums run over: channels, or a row of the input.
constexpr std::array<size_t, 5> channels_last{0, 2, 3, 4, 1}, rows_last{0, 1, 2, 3, 4}, in_channels_last{1, 2, 3, 4, 0};

std::array<size_t, 5> second_order(const ct3d_problem &p) {
    return p.op == CT3D_FORWARD ? in_channels_last : p.op == CT3D_BACKWARD_DATA ? channels_last : rows_last;
}

} // namespace

class Reference::Sums {
public:
    virtual ~Sums() = default;
    virtual Exact at(const Index &) const = 0;
    virtual Exact bias_gradient(int64_t channel) const = 0;
};

namespace {

// The operands are read through A, the bias through B; Sum is the type of the sums.
template <class A, class B, class Sum> class TypedSums final : public Reference::Sums {
public:
    TypedSums(const ct3d_problem &problem, View<A> first, View<A> second, B bias_values)
        : p(problem), a(first), b(second), bias(bias_values), axes{{p, 0}, {p, 1}, {p, 2}} {}

    Exact at(const Index &o) const override {
        switch (p.op) {
        case CT3D_FORWARD:
            return forward(o);
        case CT3D_BACKWARD_DATA:
            return backward_data(o);
        default:
            return backward_weights(o);
        }
    }

    Exact bias_gradient(int64_t channel) const override {
        Total<Sum> total;
        const Index y = shape(p, Role::y);
        for (int64_t n = 0; n < y[0]; ++n)
            for (int64_t d = 0; d < y[2]; ++d)
                for (int64_t h = 0; h < y[3]; ++h) {
                    const A row = b.data + offset(b, n, channel, d, h, 0);
                    for (int64_t w = 0; w < y[4]; ++w)
                        total.add(static_cast<Sum>(to_double(row[w * b.stride[4]])));
                }
        return {total.value, total.magnitude, y[0] * y[2] * y[3] * y[4]};
    }

    // What the views point into, where it is not the caller's.
    std::vector<double> packed_first, packed_second;
    std::unique_ptr<FillValue[]> fills;

private:
    static int64_t offset(const View<A> &v, int64_t i0, int64_t i1, int64_t i2, int64_t i3, int64_t i4) {
        return i0 * v.stride[0] + i1 * v.stride[1] + i2 * v.stride[2] + i3 * v.stride[3] + i4 * v.stride[4];
    }

    // Sums over the pairs of three axes, each with `channels` products a step apart in both operands.
    Exact sum(const Index &o, int64_t a_base, int64_t a_step, int64_t b_base, int64_t b_step, int64_t channels) const {
        Total<Sum> total;
        int64_t pairs = 0;
        for (const Pair *z = axes[0].first(o[2]); z < axes[0].last(o[2]); ++z)
            for (const Pair *y = axes[1].first(o[3]); y < axes[1].last(o[3]); ++y)
                for (const Pair *x = axes[2].first(o[4]); x < axes[2].last(o[4]); ++x, ++pairs)
                    add_products(total, a.data + a_base + offset(a, 0, 0, z->first, y->first, x->first), a_step,
                                 b.data + b_base + offset(b, 0, 0, z->second, y->second, x->second), b_step, channels);
        return {total.value, total.magnitude, pairs * channels};
    }

    Exact forward(const Index &o) const {
        const int64_t in_channels = p.in_channels / p.groups, out_channels = p.out_channels / p.groups;
        const int64_t first_in = o[1] / out_channels * in_channels;
        Exact exact = sum(o, offset(a, o[0], first_in, 0, 0, 0), a.stride[1],
                          offset(b, first_in, o[1] % out_channels, 0, 0, 0), b.stride[0], in_channels);
        if (p.has_bias) {
            exact.value += static_cast<Sum>(to_double(bias[o[1]]));
            exact.magnitude += std::abs(static_cast<Sum>(to_double(bias[o[1]])));
        }
        return exact;
    }

    Exact backward_data(const Index &o) const {
        const int64_t in_channels = p.in_channels / p.groups, out_channels = p.out_channels / p.groups;
        const int64_t first_out = o[1] / in_channels * out_channels;
        return sum(o, offset(a, o[0], first_out, 0, 0, 0), a.stride[1], offset(b, o[1], 0, 0, 0, 0), b.stride[1],
                   out_channels);
    }

    // The pairs of the innermost axis are neighbouring inputs and outputs a stride apart: one long sum.
    Exact backward_weights(const Index &o) const {
        const int64_t in_channels = p.in_channels / p.groups, out_channels = p.out_channels / p.groups;
        const int64_t out_channel = o[0] / in_channels * out_channels + o[1];
        const Pair *const x = axes[2].first(o[4]);
        const int64_t length = axes[2].last(o[4]) - x;
        Total<Sum> total;
        int64_t rows = 0;
        if (length == 0)
            return {0, 0, 0};
        for (int64_t n = 0; n < p.batch; ++n)
            for (const Pair *z = axes[0].first(o[2]); z < axes[0].last(o[2]); ++z)
                for (const Pair *y = axes[1].first(o[3]); y < axes[1].last(o[3]); ++y, ++rows)
                    add_products(total, a.data + offset(a, n, o[0], z->first, y->first, x->first), a.stride[4],
                                 b.data + offset(b, n, out_channel, z->second, y->second, x->second),
                                 p.stride[2] * b.stride[4], length);
        return {total.value, total.magnitude, rows * length};
    }

    const ct3d_problem p;
    const View<A> a, b;
    const B bias;
    const AxisPairs axes[3];
};

template <class T, class Sum>
std::unique_ptr<Reference::Sums> make_sums(const ct3d_problem &p, const Inputs &in, bool packed) {
    const Role first = first_role(p), second = second_role(p);
    using Pointer = const T *;
    const View<Pointer> a{static_cast<Pointer>(first == Role::x ? in.x : in.dy), strides(p, first)};
    const View<Pointer> b{static_cast<Pointer>(second == Role::w ? in.w : in.dy), strides(p, second)};
    const auto bias = static_cast<Pointer>(in.bias);
    if (!packed)
        return std::make_unique<TypedSums<Pointer, Pointer, Sum>>(p, a, b, bias);
    Index a_stride{}, b_stride{};
    const auto first_order = p.op == CT3D_BACKWARD_WEIGHTS ? rows_last : channels_last;
    std::vector<double> packed_a = repack(a, shape(p, first), first_order, a_stride);
    std::vector<double> packed_b = repack(b, shape(p, second), second_order(p), b_stride);
    using Packed = View<const double *>;
    auto sums = std::make_unique<TypedSums<const double *, Pointer, Sum>>(p, Packed{packed_a.data(), a_stride},
                                                                          Packed{packed_b.data(), b_stride}, bias);
    sums->packed_first = std::move(packed_a);
    sums->packed_second = std::move(packed_b);
    return sums;
}

template <class Sum> std::unique_ptr<Reference::Sums> make_generated_sums(const Case &c, uint64_t seed) {
    const ct3d_problem &p = c.problem;
    const Role first = first_role(p), second = second_role(p);
    using Fills = std::unique_ptr<FillValue[]>;
    Fills fills(new FillValue[]{make_fill(c, seed, Operand::first, first), make_fill(c, seed, Operand::second, second),
                                make_fill(c, seed, Operand::bias, Role::bias)});
    const auto from = [&](int i) { return Generated{&fills[static_cast<size_t>(i)], p.dtype, 0}; };
    const View<Generated> a{from(0), numbering(shape(p, first))}, b{from(1), numbering(shape(p, second))};
    auto sums = std::make_unique<TypedSums<Generated, Generated, Sum>>(p, a, b, from(2));
    sums->fills = std::move(fills);
    return sums;
}

// Wider than the sums of the type's kernels.
template <class T> using SumOf = std::conditional_t<std::is_same_v<T, double>, long double, double>;

} // namespace

Reference::Reference(const ct3d_problem &p, const Inputs &in, bool packed)
    : sums_(with_type(p.dtype, [&](auto zero) {
          using T = decltype(zero);
          return make_sums<T, SumOf<T>>(p, in, packed);
      })) {}

Reference::Reference(const Case &c, uint64_t seed)
    : sums_(
          with_type(c.problem.dtype, [&](auto zero) { return make_generated_sums<SumOf<decltype(zero)>>(c, seed); })) {}

Reference::~Reference() = default;
Reference::Reference(Reference &&) noexcept = default;

Exact Reference::at(const Index &index) const { return sums_->at(index); }
Exact Reference::bias_gradient(int64_t channel) const { return sums_->bias_gradient(channel); }

double reference_bytes(const ct3d_problem &p, bool packed) {
    double bytes = 0;
    for (int axis = 0; axis < 3; ++axis)
        bytes += static_cast<double>(p.in[axis] * p.kernel[axis]) * static_cast<double>(sizeof(Pair));
    if (packed)
        bytes += static_cast<double>(sizeof(double)) *
                 static_cast<double>(elements(p, first_role(p)) + elements(p, second_role(p)));
    return bytes;
}

Role output_role(const ct3d_problem &p) {
    return p.op == CT3D_FORWARD ? Role::y : p.op == CT3D_BACKWARD_DATA ? Role::x : Role::w;
}

} // namespace ct3d::engine
