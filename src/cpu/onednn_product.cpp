// SPDX-License-Identifier: MIT
// Each product of an input and a tap is an output of its own, so w, read as a matrix [input channel][output channel
// and tap], times x gives all outputs but for their order. A slab of input rows is multiplied at a time and spread
// over y while it is in the cache.
#include "onednn_product.hpp"

#include "convert.hpp"
#include "onednn_cost.hpp"
#include "onednn_kernel.hpp"
#include "onednn_layout.hpp"

#include "../report.hpp"

#include <algorithm>

namespace ct3d::cpu::onednn {

namespace {

constexpr int64_t slab_bytes_per_thread = 1 << 20;

// The product for a number of input rows. oneDNN's matmul computes left * right = sums.
struct Product {
    MemoryDesc left, right, sums, scratchpad;
    std::string implementation;
    dnnl::primitive primitive;
};

class ProductKernel final : public OnednnKernel {
public:
    explicit ProductKernel(const PlanContext &);

    uint64_t workspace_size() const override { return workspace_.size(); }
    void describe(Report &) const override;

private:
    void run(const ct3d_buffers &, dnnl::stream &) const override;
    Product make_product(int64_t rows) const;
    void multiply(dnnl::stream &, const Product &, float *x, float *w, char *workspace) const;
    template <class T> void fill(T *y, const T *bias) const;
    template <class T>
    void spread(const float *sums, int64_t first_row, int64_t rows, int64_t group, T *y, const T *bias) const;
    template <class T> void run_typed(const ct3d_buffers &, dnnl::stream &) const;

    bool rows_last() const { return desc_.layout == Layout::ncdhw; } // sums are [column][position]

    const Desc desc_;
    const int64_t taps_, columns_; // columns: output channels of a group and taps
    const int64_t rows_;           // of the input of a sample
    const bool covered_;           // no output is only bias
    int64_t slab_rows_;
    Product body_, rest_;
    Workspace workspace_;
    uint64_t x_ = 0, w_ = 0, sums_, scratchpad_;
};

bool covers(const PhaseTable &phases) {
    bool all = true;
    for (size_t axis = 0; axis < 3; ++axis)
        all = all && phases.axis[axis].pairs == static_cast<double>(phases.out[axis]);
    return all;
}

ProductKernel::ProductKernel(const PlanContext &context)
    : OnednnKernel(context), desc_(context.desc), taps_(desc_.kernel[0] * desc_.kernel[1] * desc_.kernel[2]),
      columns_(taps_ * desc_.out_channels_per_group()), rows_(desc_.in[0] * desc_.in[1]),
      covered_(covers(context.phases)) {
    const int64_t row_bytes = 4 * columns_ * desc_.in[2];
    slab_rows_ = std::clamp(slab_bytes_per_thread * threads_ / row_bytes, int64_t{1}, rows_);
    body_ = make_product(slab_rows_);
    if (rows_ % slab_rows_ != 0)
        rest_ = make_product(rows_ % slab_rows_);
    if (desc_.dtype != Dtype::f32) {
        x_ = workspace_.add(static_cast<uint64_t>(4 * desc_.x_elements() / desc_.batch));
        w_ = workspace_.add(static_cast<uint64_t>(4 * desc_.w_elements()));
    }
    sums_ = workspace_.add(body_.sums.get_size());
    scratchpad_ = workspace_.add(std::max(body_.scratchpad.get_size(), rest_.scratchpad.get_size()));
    if (workspace_.size() > workspace_limit(context))
        throw Error(CT3D_UNSUPPORTED, "oneDNN's matmul needs too much workspace");
}

Product ProductKernel::make_product(int64_t rows) const {
    const int64_t positions = rows * desc_.in[2];
    const int64_t channels = desc_.in_channels_per_group();
    const Dims w_strides = rows_last() ? Dims{1, columns_} : Dims{columns_, 1};
    const Dims x_strides = rows_last() ? Dims{rows_ * desc_.in[2], 1} : Dims{desc_.in_channels, 1};
    const MemoryDesc w(rows_last() ? Dims{columns_, channels} : Dims{channels, columns_}, DataType::f32, w_strides);
    const MemoryDesc x(rows_last() ? Dims{channels, positions} : Dims{positions, channels}, DataType::f32, x_strides);
    const MemoryDesc sums(rows_last() ? Dims{columns_, positions} : Dims{positions, columns_}, DataType::f32, Tag::ab);
    const MemoryDesc &left = rows_last() ? w : x;
    const MemoryDesc &right = rows_last() ? x : w;
    const auto p = without_reference(Description<dnnl::matmul>(NoHint{}, left, right, sums));
    if (!p)
        throw Error(CT3D_UNSUPPORTED, "oneDNN has nothing but its reference loop");
    return {left, right, sums, p->scratchpad_desc(), p->impl_info_str(), dnnl::matmul(*p)};
}

void ProductKernel::describe(Report &report) const {
    report.field("primitive", "matmul");
    report.field("implementation", body_.implementation);
    report.field("slab_rows", slab_rows_);
    report.field("threads", threads_);
}

void ProductKernel::multiply(dnnl::stream &stream, const Product &product, float *x, float *w, char *workspace) const {
    product.primitive.execute(stream, {{DNNL_ARG_SRC, memory_at(product.left, rows_last() ? w : x)},
                                       {DNNL_ARG_WEIGHTS, memory_at(product.right, rows_last() ? x : w)},
                                       {DNNL_ARG_DST, memory_at(product.sums, workspace + sums_)},
                                       {DNNL_ARG_SCRATCHPAD, memory_at(product.scratchpad, workspace + scratchpad_)}});
    stream.wait();
}

template <class T> void ProductKernel::fill(T *y, const T *bias) const {
    const int64_t plane = desc_.out[1] * desc_.out[2];
    const bool last = !rows_last();
    const int64_t run = last ? desc_.out_channels : plane; // outputs that an item writes
    parallel_for(threads_, desc_.y_elements() / run, [&](int64_t item, int32_t) {
        T *at = y + item * run;
        if (last && bias)
            std::copy_n(bias, run, at);
        else
            std::fill_n(at, run, bias ? bias[item / desc_.out[0] % desc_.out_channels] : T{});
    });
}

// Spreads the sums of some input rows of a sample over its y; an item is an input row and a tap in depth and height.
template <class T> void ProductKernel::spread(const float *sums, int64_t first_row, int64_t rows, int64_t group, T *y,
                                              const T *bias) const {
    const Desc &d = desc_;
    const ActivationStrides s = output_strides(d);
    const int64_t channels = d.out_channels_per_group();
    const int64_t positions = rows * d.in[2];
    const bool taps_last = d.weights_layout == WeightsLayout::iodhw;
    const auto column = [&](int64_t c, int64_t k) { return taps_last ? c * taps_ + k : k * channels + c; };
    const int64_t planar_taps = d.kernel[0] * d.kernel[1];
    parallel_for(threads_, rows * planar_taps, [&](int64_t item, int32_t) {
        const int64_t row = item / planar_taps, kz = item % planar_taps / d.kernel[1], ky = item % d.kernel[1];
        const int64_t z = (first_row + row) / d.in[1] * d.stride[0] - d.pad_begin[0] + kz * d.dilation[0];
        const int64_t oy = (first_row + row) % d.in[1] * d.stride[1] - d.pad_begin[1] + ky * d.dilation[1];
        if (z < 0 || z >= d.out[0] || oy < 0 || oy >= d.out[1])
            return;
        for (int64_t kx = 0; kx < d.kernel[2]; ++kx) {
            const Range range = landing_inputs(d, 2, kx);
            const int64_t k = (kz * d.kernel[1] + ky) * d.kernel[2] + kx;
            const int64_t origin = kx * d.dilation[2] - d.pad_begin[2];
            const auto write = [&](int64_t c, int64_t i) {
                const int64_t at = row * d.in[2] + i;
                const float sum = sums[rows_last() ? column(c, k) * positions + at : at * columns_ + column(c, k)];
                const int64_t channel = group * channels + c;
                y[channel * s.c + z * s.z + oy * s.y + (i * d.stride[2] + origin) * s.x] =
                    narrow<T>(sum + (bias ? widen(bias[channel]) : 0.0f));
            };
            if (rows_last()) {
                for (int64_t c = 0; c < channels; ++c)
                    for (int64_t i = range.begin; i < range.end; ++i)
                        write(c, i);
            } else {
                for (int64_t i = range.begin; i < range.end; ++i)
                    for (int64_t c = 0; c < channels; ++c)
                        write(c, i);
            }
        }
    });
}

template <class T> void ProductKernel::run_typed(const ct3d_buffers &b, dnnl::stream &stream) const {
    const Desc &d = desc_;
    char *workspace = static_cast<char *>(b.workspace);
    const T *bias = d.has_bias ? static_cast<const T *>(b.bias) : nullptr;
    const bool converts = d.dtype != Dtype::f32;
    const int64_t x_sample = d.x_elements() / d.batch, y_sample = d.y_elements() / d.batch;
    const int64_t group_x = d.in_channels_per_group() * input_strides(d).c;
    const int64_t group_w = d.in_channels_per_group() * columns_;
    if (!covered_)
        fill(static_cast<T *>(b.y), bias);
    float *w = converts ? reinterpret_cast<float *>(workspace + w_) : static_cast<float *>(const_cast<void *>(b.w));
    if (converts)
        convert(threads_, b.w, d.dtype, w, Dtype::f32, d.w_elements());
    for (int64_t n = 0; n < d.batch; ++n) {
        void *sample = const_cast<T *>(static_cast<const T *>(b.x) + n * x_sample);
        float *x = static_cast<float *>(converts ? static_cast<void *>(workspace + x_) : sample);
        if (converts)
            convert(threads_, sample, d.dtype, x, Dtype::f32, x_sample);
        for (int64_t row = 0; row < rows_; row += slab_rows_)
            for (int64_t g = 0; g < d.groups; ++g) {
                const bool whole = rows_ - row >= slab_rows_;
                const int64_t first = row * d.in[2] * input_strides(d).x;
                multiply(stream, whole ? body_ : rest_, x + first + g * group_x, w + g * group_w, workspace);
                spread(reinterpret_cast<const float *>(workspace + sums_), row, whole ? slab_rows_ : rows_ - row, g,
                       static_cast<T *>(b.y) + n * y_sample, bias);
            }
    }
}

void ProductKernel::run(const ct3d_buffers &b, dnnl::stream &stream) const {
    with_type(desc_.dtype, [&]<class T>(T) { run_typed<T>(b, stream); });
}

} // namespace

bool is_product(const PhaseTable &phases) {
    for (const AxisTable &axis : phases.axis)
        for (const AxisPhase &p : axis.phases)
            if (p.taps != 1)
                return false;
    return true;
}

double product_seconds(const PlanContext &context) {
    const Desc &d = context.desc;
    double products = static_cast<double>(d.x_elements()) * static_cast<double>(d.out_channels_per_group());
    for (const int64_t taps : d.kernel)
        products *= static_cast<double>(taps);
    const double bytes = 4.0 * static_cast<double>(d.x_elements() + d.w_elements() + 2 * d.y_elements());
    const double calls = 2 * static_cast<double>(d.batch * d.groups) + bytes / slab_bytes_per_thread;
    constexpr double transposed_per_second = 5e8; // weights, by a thread
    return seconds_of_product(2 * products, context.threads) + seconds_to_move(bytes, context.threads) +
           seconds_of_calls(calls) + static_cast<double>(d.w_elements()) / (transposed_per_second * context.threads);
}

std::unique_ptr<Kernel> prepare_product(const PlanContext &context) { return std::make_unique<ProductKernel>(context); }

} // namespace ct3d::cpu::onednn
