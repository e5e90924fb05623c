// SPDX-License-Identifier: MIT
#include "desc.hpp"

#include "status.hpp"
#include "structs.hpp"

#include <algorithm>
#include <cinttypes>

namespace ct3d {

namespace {

const char *const axis_names[3] = {"depth", "height", "width"};

[[noreturn]] void too_large(const char *what) {
    throw Error(CT3D_INVALID_ARGUMENT, "%s is too large: its size does not fit in int64_t", what);
}

int64_t checked_mul(int64_t a, int64_t b, const char *what) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        too_large(what);
    return product;
}

int64_t checked_add(int64_t a, int64_t b, const char *what) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        too_large(what);
    return sum;
}

void check_range(const char *field, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most)
        throw Error(CT3D_INVALID_ARGUMENT, "%s is %" PRId64 ", must be %" PRId64 " to %" PRId64, field, value, least,
                    most);
}

void check_least(const char *field, int64_t value, int64_t least) {
    if (value < least)
        throw Error(CT3D_INVALID_ARGUMENT, "%s is %" PRId64 ", must be at least %" PRId64, field, value, least);
}

void check_least(const char *field, const int64_t (&values)[3], int64_t least) {
    for (size_t axis = 0; axis < 3; ++axis)
        if (values[axis] < least)
            throw Error(CT3D_INVALID_ARGUMENT, "%s[%zu] (%s) is %" PRId64 ", must be at least %" PRId64, field, axis,
                        axis_names[axis], values[axis], least);
}

void check_reserved(const ct3d_problem &p) {
    const struct {
        const char *field;
        double value;
    } reserved[] = {{"w_dtype", static_cast<double>(p.w_dtype)},
                    {"y_dtype", static_cast<double>(p.y_dtype)},
                    {"bias_dtype", static_cast<double>(p.bias_dtype)},
                    {"y_layout", static_cast<double>(p.y_layout)},
                    {"y_batch_stride", static_cast<double>(p.y_batch_stride)},
                    {"y_channel_stride", static_cast<double>(p.y_channel_stride)},
                    {"packed_weights", static_cast<double>(p.packed_weights)},
                    {"epilogue", static_cast<double>(p.epilogue)},
                    {"beta", p.beta}};
    for (const auto &r : reserved)
        if (r.value != 0)
            throw Error(CT3D_UNSUPPORTED, "%s is %g, must be 0: it is reserved for a later version", r.field, r.value);
}

void check_fields(const ct3d_problem &p) {
    check_range("op", p.op, CT3D_FORWARD, CT3D_BACKWARD_WEIGHTS);
    check_range("dtype", p.dtype, CT3D_DTYPE_DEFAULT, CT3D_F64);
    if (p.dtype == CT3D_DTYPE_DEFAULT || p.dtype == CT3D_F32)
        check_range("math", p.math, CT3D_MATH_FP32, CT3D_MATH_TF32);
    check_range("layout", p.layout, CT3D_NCDHW, CT3D_NDHWC);
    check_range("weights_layout", p.weights_layout, CT3D_IODHW, CT3D_IDHWO);
    if (p.op == CT3D_FORWARD)
        check_range("has_bias", p.has_bias, 0, 1);
    check_least("batch", p.batch, 0);
    check_least("in_channels", p.in_channels, 1);
    check_least("out_channels", p.out_channels, 1);
    check_least("groups", p.groups, 1);
    check_least("in", p.in, 1);
    check_least("kernel", p.kernel, 1);
    check_least("stride", p.stride, 1);
    check_least("dilation", p.dilation, 1);
    check_least("pad_begin", p.pad_begin, 0);
    check_least("pad_end", p.pad_end, 0);
    check_least("output_padding", p.output_padding, 0);
    for (const auto &[field, channels] : {std::pair{"in_channels", p.in_channels}, {"out_channels", p.out_channels}})
        if (channels % p.groups != 0)
            throw Error(CT3D_INVALID_ARGUMENT, "groups is %" PRId64 ", must divide %s, which is %" PRId64, p.groups,
                        field, channels);
    for (size_t axis = 0; axis < 3; ++axis)
        if (const int64_t limit = std::max(p.stride[axis], p.dilation[axis]); p.output_padding[axis] >= limit)
            throw Error(CT3D_INVALID_ARGUMENT,
                        "output_padding[%zu] (%s) is %" PRId64 ", must be less than max(stride, dilation), which is "
                        "%" PRId64,
                        axis, axis_names[axis], p.output_padding[axis], limit);
}

int64_t output_extent(const ct3d_problem &p, size_t axis) {
    static const char *const what[3] = {"out[0] (depth)", "out[1] (height)", "out[2] (width)"};
    const char *name = what[axis];
    int64_t out = checked_mul(p.in[axis] - 1, p.stride[axis], name);
    out = checked_add(out, checked_mul(p.dilation[axis], p.kernel[axis] - 1, name), name);
    out = checked_add(out, p.output_padding[axis], name);
    out = checked_add(out, 1, name);
    // Both paddings are non-negative and out is positive: neither difference can overflow unless their sum does.
    out -= p.pad_begin[axis];
    if (__builtin_sub_overflow(out, p.pad_end[axis], &out))
        out = INT64_MIN;
    if (out < 1)
        throw Error(CT3D_INVALID_ARGUMENT,
                    "output extent %s is %" PRId64 ", must be at least 1: pad_begin %" PRId64 " and pad_end %" PRId64
                    " cut off more than there is",
                    name, out, p.pad_begin[axis], p.pad_end[axis]);
    return out;
}

void check_size(const char *tensor, std::initializer_list<int64_t> extents, Dtype dtype) {
    int64_t size = static_cast<int64_t>(element_size(dtype));
    // An empty batch has size 0, but the extents of one sample must fit all the same.
    for (const int64_t extent : extents)
        size = checked_mul(size, std::max<int64_t>(extent, 1), tensor);
}

template <class E, size_t count> const char *lookup(const char *const (&names)[count], E value) {
    return names[static_cast<size_t>(value)];
}

ActivationStrides activation_strides(Layout layout, int64_t channels, const Extents &e) {
    const int64_t volume = e[0] * e[1] * e[2];
    if (layout == Layout::ncdhw)
        return {channels * volume, volume, e[1] * e[2], e[2], 1};
    return {channels * volume, 1, e[1] * e[2] * channels, e[2] * channels, channels};
}

} // namespace

ActivationStrides input_strides(const Desc &d) { return activation_strides(d.layout, d.in_channels, d.in); }
ActivationStrides output_strides(const Desc &d) { return activation_strides(d.layout, d.out_channels, d.out); }

WeightStrides weight_strides(const Desc &d) {
    const int64_t co = d.out_channels_per_group(), area = d.kernel[1] * d.kernel[2], volume = d.kernel[0] * area;
    if (d.weights_layout == WeightsLayout::iodhw)
        return {co * volume, volume, area, d.kernel[2], 1};
    return {co * volume, 1, area * co, d.kernel[2] * co, co};
}

size_t element_size(Dtype dtype) {
    switch (dtype) {
    case Dtype::f64:
        return 8;
    case Dtype::f32:
        return 4;
    default:
        return 2;
    }
}

double total_elements(const Desc &d) {
    return static_cast<double>(d.x_elements()) + static_cast<double>(d.w_elements()) +
           static_cast<double>(d.y_elements());
}

const char *name(Op op) { return lookup({"forward", "backward_data", "backward_weights"}, op); }
const char *name(Dtype dtype) { return lookup({"default", "f32", "f16", "bf16", "f64"}, dtype); }
const char *name(Math math) { return lookup({"fp32", "tf32"}, math); }
const char *name(Layout layout) { return lookup({"ncdhw", "ndhwc"}, layout); }
const char *name(WeightsLayout layout) { return lookup({"iodhw", "idhwo"}, layout); }

Desc make_desc(const ct3d_problem *problem) {
    const ct3d_problem p = read_struct(problem, "problem");
    check_fields(p);
    check_reserved(p);

    Desc d{};
    d.op = static_cast<Op>(p.op);
    d.dtype = p.dtype == CT3D_DTYPE_DEFAULT ? Dtype::f32 : static_cast<Dtype>(p.dtype);
    d.math = d.dtype == Dtype::f32 ? static_cast<Math>(p.math) : Math::fp32;
    d.layout = static_cast<Layout>(p.layout);
    d.weights_layout = static_cast<WeightsLayout>(p.weights_layout);
    d.has_bias = p.has_bias && d.op == Op::forward;
    d.batch = p.batch;
    d.in_channels = p.in_channels;
    d.out_channels = p.out_channels;
    d.groups = p.groups;
    for (size_t axis = 0; axis < 3; ++axis) {
        d.in[axis] = p.in[axis];
        d.kernel[axis] = p.kernel[axis];
        d.stride[axis] = p.stride[axis];
        d.dilation[axis] = p.dilation[axis];
        d.pad_begin[axis] = p.pad_begin[axis];
        d.pad_end[axis] = p.pad_end[axis];
        d.output_padding[axis] = p.output_padding[axis];
        d.out[axis] = output_extent(p, axis);
    }
    check_size("x", {d.batch, d.in_channels, d.in[0], d.in[1], d.in[2]}, d.dtype);
    check_size("y", {d.batch, d.out_channels, d.out[0], d.out[1], d.out[2]}, d.dtype);
    check_size("w", {d.in_channels, d.out_channels_per_group(), d.kernel[0], d.kernel[1], d.kernel[2]}, d.dtype);
    return d;
}

} // namespace ct3d
