// SPDX-License-Identifier: MIT
// A problem that has been checked: what every backend works from.
#pragma once

#include <ct3d/ct3d.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ct3d {

using Extents = std::array<int64_t, 3>;

enum class Op : int32_t {
    forward = CT3D_FORWARD,
    backward_data = CT3D_BACKWARD_DATA,
    backward_weights = CT3D_BACKWARD_WEIGHTS
};
enum class Dtype : int32_t { f32 = CT3D_F32, f16 = CT3D_F16, bf16 = CT3D_BF16, f64 = CT3D_F64 };
enum class Math : int32_t { fp32 = CT3D_MATH_FP32, tf32 = CT3D_MATH_TF32 };
enum class Layout : int32_t { ncdhw = CT3D_NCDHW, ndhwc = CT3D_NDHWC };
enum class WeightsLayout : int32_t { iodhw = CT3D_IODHW, idhwo = CT3D_IDHWO };

struct Desc {
    Op op;
    Dtype dtype;
    Math math;
    Layout layout;
    WeightsLayout weights_layout;
    bool has_bias; // only ever true for Op::forward
    int64_t batch, in_channels, out_channels, groups;
    Extents in, kernel, stride, dilation, pad_begin, pad_end, output_padding;
    Extents out; // derived

    int64_t in_channels_per_group() const { return in_channels / groups; }
    int64_t out_channels_per_group() const { return out_channels / groups; }
    int64_t x_elements() const { return batch * in_channels * in[0] * in[1] * in[2]; }
    int64_t y_elements() const { return batch * out_channels * out[0] * out[1] * out[2]; }
    int64_t w_elements() const { return in_channels * out_channels_per_group() * kernel[0] * kernel[1] * kernel[2]; }
};

// Distance, in elements, between neighbours of a tensor along each dimension.
struct ActivationStrides {
    int64_t n, c, z, y, x;
};
struct WeightStrides {
    int64_t ci, co, z, y, x;
};

ActivationStrides input_strides(const Desc &);  // x, dx
ActivationStrides output_strides(const Desc &); // y, dy
WeightStrides weight_strides(const Desc &);

size_t element_size(Dtype);
double total_elements(const Desc &); // of x, w and y
const char *name(Op);
const char *name(Dtype);
const char *name(Math);
const char *name(Layout);
const char *name(WeightsLayout);

// Throws Error(CT3D_INVALID_ARGUMENT) with the field and the value where the problem breaks a rule of the header.
Desc make_desc(const ct3d_problem *);

} // namespace ct3d
