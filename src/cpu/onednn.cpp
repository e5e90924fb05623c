// SPDX-License-Identifier: MIT
// oneDNN's deconvolution primitive. It computes without the bias: oneDNN would add it in a further pass over a copy
// of y, while here the pass that moves y to the caller's layout does.
#include "onednn.hpp"

#include "onednn_format.hpp"
#include "onednn_kernel.hpp"

#include "../report.hpp"

#include <cstdio>

namespace ct3d::cpu {

namespace onednn {

namespace {

class Deconvolution final : public OnednnKernel {
public:
    Deconvolution(const PlanContext &context, Format format)
        : OnednnKernel(context), desc_(context.desc), format_(std::move(format)), primitive_(format_.primitive) {}

    uint64_t workspace_size() const override { return format_.workspace; }

    void describe(Report &report) const override {
        report.field("implementation", format_.implementation);
        report.field("x_format", name_of(format_.x_image.image_shape()));
        report.field("y_format", name_of(format_.y_image.image_shape()));
        report.field("threads", threads_);
    }

private:
    void run(const ct3d_buffers &, dnnl::stream &) const override;
    void forward(const ct3d_buffers &, dnnl::stream &, char *workspace) const;
    void backward_data(const ct3d_buffers &, dnnl::stream &, char *workspace) const;
    void backward_weights(const ct3d_buffers &, dnnl::stream &, char *workspace) const;
    void compute(dnnl::stream &, char *workspace, int x_name, void *x, int w_name, void *w, int y_name, void *y) const;

    const Desc desc_;
    const Format format_;
    const dnnl::primitive primitive_;
};

void Deconvolution::run(const ct3d_buffers &b, dnnl::stream &stream) const {
    char *workspace = static_cast<char *>(b.workspace);
    switch (desc_.op) {
    case Op::forward:
        return forward(b, stream, workspace);
    case Op::backward_data:
        return backward_data(b, stream, workspace);
    case Op::backward_weights:
        return backward_weights(b, stream, workspace);
    }
}

void Deconvolution::compute(dnnl::stream &stream, char *workspace, int x_name, void *x, int w_name, void *w, int y_name,
                            void *y) const {
    void *scratchpad = workspace + format_.scratchpad_offset;
    primitive_.execute(stream, {{x_name, memory_at(format_.x, x)},
                                {w_name, memory_at(format_.w, w)},
                                {y_name, memory_at(format_.y, y)},
                                {DNNL_ARG_SCRATCHPAD, memory_at(format_.scratchpad, scratchpad)}});
    stream.wait();
}

void Deconvolution::forward(const ct3d_buffers &b, dnnl::stream &stream, char *workspace) const {
    void *w = format_.w_image.read(threads_, stream, b.w, workspace, workspace + format_.scratchpad_offset);
    void *x = format_.x_image.read(threads_, b.x, workspace);
    void *y = format_.y_image.target(b.y, workspace);
    compute(stream, workspace, DNNL_ARG_SRC, x, DNNL_ARG_WEIGHTS, w, DNNL_ARG_DST, y);
    format_.y_image.write(threads_, b.y, workspace, desc_.has_bias ? b.bias : nullptr);
}

void Deconvolution::backward_data(const ct3d_buffers &b, dnnl::stream &stream, char *workspace) const {
    void *w = format_.w_image.read(threads_, stream, b.w, workspace, workspace + format_.scratchpad_offset);
    void *dy = format_.y_image.read(threads_, b.dy, workspace);
    void *dx = format_.x_image.target(b.dx, workspace);
    compute(stream, workspace, DNNL_ARG_DIFF_SRC, dx, DNNL_ARG_WEIGHTS, w, DNNL_ARG_DIFF_DST, dy);
    format_.x_image.write(threads_, b.dx, workspace, nullptr);
}

void Deconvolution::backward_weights(const ct3d_buffers &b, dnnl::stream &stream, char *workspace) const {
    if (format_.multiplies_padding && b.dw && !all_finite(threads_, b.x, desc_.dtype, desc_.x_elements())) {
        direct_->execute(b);
        return;
    }
    if (b.dbias)
        sum_channels(threads_, b.dy, desc_.dtype, format_.y_image.caller_shape(), b.dbias);
    if (!b.dw)
        return;
    void *x = format_.x_image.read(threads_, b.x, workspace);
    void *dy = format_.y_image.read(threads_, b.dy, workspace);
    void *dw = format_.w_image.target(b.dw, workspace);
    compute(stream, workspace, DNNL_ARG_SRC, x, DNNL_ARG_DIFF_WEIGHTS, dw, DNNL_ARG_DIFF_DST, dy);
    format_.w_image.write(threads_, stream, b.dw, workspace, workspace + format_.scratchpad_offset);
}

// Where no window of the kernel lies wholly inside the depth of y, some of oneDNN's implementations leave a part of the
// weight gradient unwritten.
bool has_whole_window_in_depth(const Desc &d) {
    const int64_t first = (d.pad_begin[0] + d.stride[0] - 1) / d.stride[0];
    return first < d.in[0] && first * d.stride[0] - d.pad_begin[0] + d.dilation[0] * (d.kernel[0] - 1) < d.out[0];
}

std::string refusal(const Desc &d) {
    for (size_t axis = 0; axis < 3; ++axis)
        if (d.output_padding[axis] - d.pad_end[axis] >= d.stride[axis])
            return "oneDNN's deconvolution wants output_padding - pad_end below the stride";
    if (d.op == Op::backward_weights && !has_whole_window_in_depth(d))
        return "no window of the kernel lies inside the depth of y, where oneDNN's weight gradient cannot be trusted";
    return common_refusal(d);
}

Offer offer(const PlanContext &context) {
    const ThreadScope scope(context.threads);
    Format format = translated([&] { return fastest_format(context); });
    const double seconds = format.seconds;
    return {"", seconds, [&context, format = std::move(format)] {
                const ThreadScope threads(context.threads);
                return translated([&] { return std::make_unique<Deconvolution>(context, format); });
            }};
}

Offer consider(const PlanContext &context) {
    if (std::string reason = refusal(context.desc); !reason.empty())
        return refuse(std::move(reason));
    try {
        return offer(context);
    } catch (const Error &error) {
        if (error.status() != CT3D_UNSUPPORTED)
            throw;
        return refuse(error.message());
    }
}

} // namespace

} // namespace onednn

const Candidate onednn_candidate{"onednn", onednn::consider};

const char *onednn_version() {
    static const std::string text = [] {
        const dnnl_version_t &v = *dnnl_version();
        char number[48];
        std::snprintf(number, sizeof number, "oneDNN %d.%d.%d", v.major, v.minor, v.patch);
        return std::string(number);
    }();
    return text.c_str();
}

} // namespace ct3d::cpu
