// SPDX-License-Identifier: MIT
#include "onednn_format.hpp"

#include "onednn_cost.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace ct3d::cpu::onednn {

namespace {

// What a primitive reads has the type `input`; it writes f32, so that the one rounding is ours.
struct Trial {
    Tag tag; // of the activations
    Dtype input;
};

struct Described {
    dnnl::primitive_desc primitive;
    std::string implementation;
    MemoryDesc x, w, y, scratchpad;
};

Dims dims_of(const Extents &extents) { return {extents.begin(), extents.end()}; }
Dims x_dims(const Desc &d) { return {d.batch, d.in_channels, d.in[0], d.in[1], d.in[2]}; }
Dims y_dims(const Desc &d) { return {d.batch, d.out_channels, d.out[0], d.out[1], d.out[2]}; }

Blocked x_shape(const Desc &d, int64_t block) { return {d.batch, d.in_channels, d.in[0] * d.in[1] * d.in[2], block}; }
Blocked y_shape(const Desc &d, int64_t block) {
    return {d.batch, d.out_channels, d.out[0] * d.out[1] * d.out[2], block};
}

template <class Primitive> std::optional<Described> described(const Description<Primitive> &description, dnnl::query x,
                                                              dnnl::query w, dnnl::query y) {
    const auto p = without_reference(description);
    if (!p)
        return std::nullopt;
    return Described{*p, p->impl_info_str(), p->query_md(x), p->query_md(w), p->query_md(y), p->scratchpad_desc()};
}

std::optional<Described> describe_deconvolution(const Desc &d, const Trial &trial) {
    using dnnl::query;
    const DataType input = data_type(trial.input);
    const MemoryDesc x(x_dims(d), d.op == Op::backward_data ? DataType::f32 : input, trial.tag);
    const MemoryDesc w(weight_dims(d), d.op == Op::backward_weights ? DataType::f32 : input, Tag::any);
    const MemoryDesc y(y_dims(d), d.op == Op::forward ? DataType::f32 : input, trial.tag);
    const Dims strides = dims_of(d.stride);
    Dims dilates, begin, end;
    for (size_t a = 0; a < 3; ++a) {
        dilates.push_back(d.dilation[a] - 1);
        begin.push_back(d.pad_begin[a]);
        end.push_back(d.pad_end[a] - d.output_padding[a]);
    }
    const auto direct = dnnl::algorithm::deconvolution_direct;
    if (d.op == Op::forward)
        return described<dnnl::deconvolution_forward>(
            {NoHint{}, dnnl::prop_kind::forward_inference, direct, x, w, y, strides, dilates, begin, end},
            query::src_md, query::weights_md, query::dst_md);
    const Description<dnnl::deconvolution_forward> forward(
        NoHint{}, dnnl::prop_kind::forward_training, direct, MemoryDesc(x_dims(d), input, trial.tag),
        MemoryDesc(weight_dims(d), input, Tag::any), MemoryDesc(y_dims(d), input, trial.tag), strides, dilates, begin,
        end);
    if (d.op == Op::backward_data)
        return described<dnnl::deconvolution_backward_data>(
            {forward.primitive, direct, x, w, y, strides, dilates, begin, end}, query::diff_src_md, query::weights_md,
            query::diff_dst_md);
    return described<dnnl::deconvolution_backward_weights>(
        {forward.primitive, direct, x, w, y, strides, dilates, begin, end}, query::src_md, query::diff_weights_md,
        query::diff_dst_md);
}

// The offsets inside oneDNN's generated code have 32 bits.
bool small_enough(const MemoryDesc &desc) { return desc.get_size() <= std::numeric_limits<int32_t>::max(); }

// A weight gradient by way of the column matrix: zeros stand there for outputs outside of dy.
bool multiplies_padding(const PlanContext &context, const std::string &implementation) {
    const Desc &d = context.desc;
    bool all_land = true;
    for (size_t axis = 0; axis < 3; ++axis)
        all_land = all_land && context.phases.axis[axis].pairs == static_cast<double>(d.in[axis] * d.kernel[axis]);
    return d.op == Op::backward_weights && !all_land && implementation.find("gemm") != std::string::npos;
}

Format make_format(const PlanContext &context, const Trial &trial, const Described &p, int64_t x_block,
                   int64_t y_block) {
    const Desc &d = context.desc;
    const Dtype x_type = d.op == Op::backward_data ? Dtype::f32 : trial.input;
    const Dtype y_type = d.op == Op::forward ? Dtype::f32 : trial.input;
    const Dtype w_type = d.op == Op::backward_weights ? Dtype::f32 : trial.input;
    Workspace workspace;
    const Activation x(x_shape(d, block_of(d.layout, d.in_channels)), d.dtype, x_shape(d, x_block), x_type, p.x,
                       workspace);
    const Activation y(y_shape(d, block_of(d.layout, d.out_channels)), d.dtype, y_shape(d, y_block), y_type, p.y,
                       workspace);
    const Weights w(d.w_elements(), d.dtype, weights_of(d, data_type(w_type)), w_type, p.w,
                    d.op == Op::backward_weights, workspace);
    const uint64_t scratchpad = workspace.add(std::max<uint64_t>(p.scratchpad.get_size(), w.scratchpad_bytes()));
    const bool channels_last = x_block == d.in_channels && y_block == d.out_channels;
    const double seconds =
        seconds_of_primitive(context, p.implementation, channels_last, trial.input == Dtype::bf16) +
        seconds_to_move(x.bytes_moved(false) + y.bytes_moved(d.has_bias) + 8.0 * static_cast<double>(d.w_elements()),
                        context.threads);
    return {p.primitive, p.implementation,
            p.x,         p.w,
            p.y,         p.scratchpad,
            x,           y,
            w,           multiplies_padding(context, p.implementation),
            scratchpad,  workspace.size(),
            seconds};
}

// Nothing, with the reason, where oneDNN lacks the format or offers only its reference loop.
std::optional<Format> try_format(const PlanContext &context, const Trial &trial, std::string &reason) {
    const Desc &d = context.desc;
    std::optional<Described> p;
    try {
        p = describe_deconvolution(d, trial);
    } catch (const dnnl::error &error) {
        if (error.status != dnnl_unimplemented)
            rethrow(error);
    }
    if (!p) {
        reason = "oneDNN has nothing but its reference loop";
        return std::nullopt;
    }
    const DataType input = data_type(trial.input);
    const int64_t x_block = block_in(p->x, x_dims(d), d.op == Op::backward_data ? DataType::f32 : input);
    const int64_t y_block = block_in(p->y, y_dims(d), d.op == Op::forward ? DataType::f32 : input);
    if (x_block == 0 || y_block == 0) {
        reason = "oneDNN wants an unknown format";
        return std::nullopt;
    }
    if (!small_enough(p->x) || !small_enough(p->y) || !small_enough(p->w)) {
        reason = "a tensor is larger than 2 GiB as f32, which oneDNN cannot be trusted with";
        return std::nullopt;
    }
    std::optional<Format> format = make_format(context, trial, *p, x_block, y_block);
    if (format->workspace > workspace_limit(context)) {
        reason = "oneDNN (" + p->implementation + ") needs " + std::to_string(format->workspace) +
                 " bytes of workspace, more than twice the tensors";
        return std::nullopt;
    }
    return format;
}

// Of oneDNN 2.6 not everything in bf16 can be trusted. With an odd number of channels to sum, it multiplies a channel
// of the next position by zero, which makes a NaN of what is not finite there; and with several threads its weight
// gradient adds memory that nobody has written, for taps that a thread's share of the positions does not reach.
bool takes_bf16(const Desc &d) {
    const int needed = static_cast<int>(dnnl::cpu_isa::avx512_core_bf16);
    const bool available = (static_cast<int>(dnnl::get_effective_cpu_isa()) & needed) == needed;
    const int64_t summed = d.op == Op::backward_data ? d.out_channels_per_group() : d.in_channels_per_group();
    return d.dtype == Dtype::bf16 && available && d.op != Op::backward_weights && summed % 2 == 0;
}

} // namespace

Format fastest_format(const PlanContext &context) {
    const bool native = takes_bf16(context.desc);
    std::optional<Format> best;
    std::string reason;
    for (const Dtype input : {Dtype::bf16, Dtype::f32})
        for (const Tag tag : {Tag::ncdhw, Tag::ndhwc, Tag::any}) {
            if (input == Dtype::bf16 && !native)
                continue;
            std::optional<Format> format = try_format(context, {tag, input}, reason);
            if (format && (!best || format->seconds < best->seconds))
                best = std::move(format);
        }
    if (!best)
        throw Error(CT3D_UNSUPPORTED, "%s", reason.c_str());
    return *best;
}

} // namespace ct3d::cpu::onednn
