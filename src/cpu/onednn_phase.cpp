// SPDX-License-Identifier: MIT
// The forward operation as a dense convolution of stride 1 per phase. The phases of a row of outputs are convolved one
// after the other, then written side by side with the bias, so that each row of y is written once.
#include "onednn.hpp"

#include "onednn_cost.hpp"
#include "onednn_kernel.hpp"
#include "onednn_product.hpp"
#include "onednn_tensor.hpp"

#include "../report.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace ct3d::cpu {

namespace onednn {

namespace {

// A phase of one axis as a convolution: its output skip + j is output j of the phase, and its tap t is the phase's
// tap taps-1-t. Padding cannot be negative, so outputs that are of no use come with it where it would be.
struct AxisConvolution {
    int64_t begin, end; // padding
    int64_t outputs, skip;
};

AxisConvolution make_axis(const AxisTable &table, const AxisPhase &phase, int64_t extent) {
    const int64_t span = (phase.taps - 1) * table.in_step;
    const int64_t low = span - phase.first_in;
    AxisConvolution a{std::max<int64_t>(low, 0), 0, phase.count + std::max<int64_t>(-low, 0),
                      std::max<int64_t>(-low, 0)};
    const int64_t end = a.outputs + span - a.begin - extent;
    a.end = std::max<int64_t>(end, 0);
    a.outputs += std::max<int64_t>(-end, 0);
    return a;
}

struct PhaseConvolution {
    std::array<const AxisPhase *, 3> phase;
    std::array<AxisConvolution, 3> axis;
    MemoryDesc x, w, y, scratchpad;
    std::string implementation;
    dnnl::primitive primitive;
    Blocked y_shape;
    Reorder pack;
    uint64_t weights, sums; // in the workspace

    int64_t taps() const { return phase[0]->taps * phase[1]->taps * phase[2]->taps; }
    int64_t position(int64_t z, int64_t y_row) const {
        return ((axis[0].skip + z) * axis[1].outputs + axis[1].skip + y_row) * axis[2].outputs + axis[2].skip;
    }
};

// The phases that share their rows of outputs.
using RowPhases = std::vector<PhaseConvolution>;

Dims sample_dims(int64_t channels, const Extents &e) { return {1, channels, e[0], e[1], e[2]}; }

class ConvolutionsKernel final : public OnednnKernel {
public:
    ConvolutionsKernel(const PlanContext &, Tag);

    uint64_t workspace_size() const override { return workspace_.size(); }
    void describe(Report &) const override;

private:
    void run(const ct3d_buffers &, dnnl::stream &) const override;
    PhaseConvolution convolution(const std::array<const AxisPhase *, 3> &, Tag) const;
    void place();
    void pack(dnnl::stream &, const PhaseConvolution &, const ct3d_buffers &, char *workspace) const;
    void convolve(dnnl::stream &, const PhaseConvolution &, void *x, char *workspace) const;
    template <class T> void stage(const PhaseConvolution &, const T *w, float *staged) const;
    template <class T> void fill_rows(T *y, const T *bias) const;
    template <class T> void write_rows(const RowPhases &, const char *workspace, T *y, const T *bias) const;
    template <class T> void write_row(const RowPhases &, const char *workspace, int64_t z, int64_t y_row, int64_t c,
                                      int64_t count, T *row, const T *bias) const;

    const Desc desc_;
    const PhaseTable phases_;
    std::vector<RowPhases> rows_;
    Workspace workspace_;
    std::optional<Activation> x_image_; // of a sample
    uint64_t staged_ = 0, scratchpad_ = 0;
};

ConvolutionsKernel::ConvolutionsKernel(const PlanContext &context, Tag tag)
    : OnednnKernel(context), desc_(context.desc), phases_(context.phases) {
    for (const AxisPhase &z : phases_.axis[0].phases)
        for (const AxisPhase &y : phases_.axis[1].phases) {
            RowPhases row;
            for (const AxisPhase &x : phases_.axis[2].phases)
                row.push_back(convolution({&z, &y, &x}, tag));
            if (!row.empty())
                rows_.push_back(std::move(row));
        }
    if (rows_.empty())
        throw Error(CT3D_UNSUPPORTED, "no output has taps");
    place();
    if (workspace_.size() > workspace_limit(context))
        throw Error(CT3D_UNSUPPORTED, "oneDNN (%s) needs %llu bytes of workspace, more than twice the tensors",
                    rows_[0][0].implementation.c_str(), static_cast<unsigned long long>(workspace_.size()));
}

PhaseConvolution ConvolutionsKernel::convolution(const std::array<const AxisPhase *, 3> &phase, Tag tag) const {
    const Desc &d = desc_;
    PhaseConvolution c;
    c.phase = phase;
    Dims dilates, begin, end;
    Dims w_dims{d.out_channels_per_group(), d.in_channels_per_group()};
    Extents out;
    for (size_t a = 0; a < 3; ++a) {
        c.axis[a] = make_axis(phases_.axis[a], *phase[a], d.in[a]);
        dilates.push_back(phases_.axis[a].in_step - 1);
        begin.push_back(c.axis[a].begin);
        end.push_back(c.axis[a].end);
        w_dims.push_back(phase[a]->taps);
        out[a] = c.axis[a].outputs;
    }
    if (d.groups > 1)
        w_dims.insert(w_dims.begin(), d.groups);
    const Dims y_dims = sample_dims(d.out_channels, out);
    const auto p = without_reference(Description<dnnl::convolution_forward>(
        NoHint{}, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        MemoryDesc(sample_dims(d.in_channels, d.in), DataType::f32, tag), MemoryDesc(w_dims, DataType::f32, Tag::any),
        MemoryDesc(y_dims, DataType::f32, tag), Dims{1, 1, 1}, dilates, begin, end));
    if (!p)
        throw Error(CT3D_UNSUPPORTED, "oneDNN has nothing but its reference loop");
    c.implementation = p->impl_info_str();
    c.x = p->src_desc();
    c.w = p->weights_desc();
    c.y = p->dst_desc();
    c.scratchpad = p->scratchpad_desc();
    c.primitive = dnnl::convolution_forward(*p);
    c.y_shape = {1, d.out_channels, out[0] * out[1] * out[2], block_in(c.y, y_dims, DataType::f32)};
    c.pack = Reorder(MemoryDesc(w_dims, DataType::f32, d.groups > 1 ? Tag::goidhw : Tag::oidhw), c.w);
    if (c.y_shape.block == 0)
        throw Error(CT3D_UNSUPPORTED, "oneDNN wants an unknown format");
    return c;
}

// Gives every image its place. The sums of a row of phases are needed at one time.
void ConvolutionsKernel::place() {
    const Desc &d = desc_;
    const MemoryDesc &x = rows_[0][0].x;
    const int64_t positions = d.in[0] * d.in[1] * d.in[2];
    const int64_t block = block_in(x, sample_dims(d.in_channels, d.in), DataType::f32);
    for (const RowPhases &row : rows_)
        for (const PhaseConvolution &c : row)
            if (block == 0 || c.x != x)
                throw Error(CT3D_UNSUPPORTED, "oneDNN wants x in several formats");
    x_image_.emplace(Blocked{1, d.in_channels, positions, block_of(d.layout, d.in_channels)}, d.dtype,
                     Blocked{1, d.in_channels, positions, block}, Dtype::f32, x, workspace_);
    uint64_t staged = 0, scratchpad = 0, sums = 0;
    for (RowPhases &row : rows_) {
        Workspace of_row;
        for (PhaseConvolution &c : row) {
            c.weights = workspace_.add(c.w.get_size());
            c.sums = of_row.add(c.y.get_size());
            staged = std::max(staged, static_cast<uint64_t>(4 * d.in_channels * d.out_channels_per_group() * c.taps()));
            scratchpad = std::max<uint64_t>({scratchpad, c.scratchpad.get_size(), c.pack.scratchpad.get_size()});
        }
        sums = std::max(sums, of_row.size());
    }
    staged_ = workspace_.add(staged);
    scratchpad_ = workspace_.add(scratchpad);
    const uint64_t base = workspace_.add(sums);
    for (RowPhases &row : rows_)
        for (PhaseConvolution &c : row)
            c.sums += base;
}

void ConvolutionsKernel::describe(Report &report) const {
    const PhaseConvolution &first = rows_[0][0];
    report.field("primitive", "convolution");
    report.field("implementation", first.implementation);
    report.field("x_format", name_of(x_image_->image_shape()));
    report.field("y_format", name_of(first.y_shape));
    report.field("threads", threads_);
}

// The phase's taps of w, as [group][output channel][input channel][flipped tap].
template <class T> void ConvolutionsKernel::stage(const PhaseConvolution &c, const T *w, float *staged) const {
    const WeightStrides s = weight_strides(desc_);
    const int64_t channels = desc_.in_channels_per_group(), outputs = desc_.out_channels_per_group();
    const auto tap = [&](size_t axis, int64_t t) {
        return c.phase[axis]->first_tap + (c.phase[axis]->taps - 1 - t) * phases_.axis[axis].tap_step;
    };
    parallel_for(threads_, desc_.groups * outputs, [&](int64_t item, int32_t) {
        const int64_t group = item / outputs, co = item % outputs;
        float *to = staged + item * channels * c.taps();
        for (int64_t ci = group * channels; ci < (group + 1) * channels; ++ci)
            for (int64_t z = 0; z < c.phase[0]->taps; ++z)
                for (int64_t y = 0; y < c.phase[1]->taps; ++y)
                    for (int64_t x = 0; x < c.phase[2]->taps; ++x)
                        *to++ = widen(w[ci * s.ci + co * s.co + tap(0, z) * s.z + tap(1, y) * s.y + tap(2, x) * s.x]);
    });
}

void ConvolutionsKernel::pack(dnnl::stream &stream, const PhaseConvolution &c, const ct3d_buffers &b,
                              char *workspace) const {
    char *staged = workspace + (c.pack ? staged_ : c.weights);
    with_type(desc_.dtype,
              [&]<class T>(T) { stage(c, static_cast<const T *>(b.w), reinterpret_cast<float *>(staged)); });
    if (c.pack)
        c.pack.run(stream, staged, workspace + c.weights, workspace + scratchpad_);
    stream.wait();
}

void ConvolutionsKernel::convolve(dnnl::stream &stream, const PhaseConvolution &c, void *x, char *workspace) const {
    c.primitive.execute(stream, {{DNNL_ARG_SRC, memory_at(c.x, x)},
                                 {DNNL_ARG_WEIGHTS, memory_at(c.w, workspace + c.weights)},
                                 {DNNL_ARG_DST, memory_at(c.y, workspace + c.sums)},
                                 {DNNL_ARG_SCRATCHPAD, memory_at(c.scratchpad, workspace + scratchpad_)}});
    stream.wait();
}

// Writes the bias to the outputs of a sample that no phase reaches, and to their neighbours.
template <class T> void ConvolutionsKernel::fill_rows(T *y, const T *bias) const {
    const Desc &d = desc_;
    const ActivationStrides s = output_strides(d);
    bool covered = true;
    for (size_t axis = 0; axis < 3; ++axis)
        covered = covered && phases_.axis[axis].covered() == d.out[axis];
    if (covered)
        return;
    parallel_for(threads_, d.out[0] * d.out[1], [&](int64_t item, int32_t) {
        T *row = y + item / d.out[1] * s.z + item % d.out[1] * s.y;
        if (d.layout == Layout::ncdhw) {
            for (int64_t c = 0; c < d.out_channels; ++c)
                std::fill_n(row + c * s.c, d.out[2], bias ? bias[c] : T{});
        } else {
            for (int64_t x = 0; x < d.out[2]; ++x)
                for (int64_t c = 0; c < d.out_channels; ++c)
                    row[x * s.x + c] = bias ? bias[c] : T{};
        }
    });
}

// Channels c .. c + count - 1, which share a block, of one row of outputs.
template <class T> void ConvolutionsKernel::write_row(const RowPhases &phases, const char *workspace, int64_t z,
                                                      int64_t y_row, int64_t c, int64_t count, T *row,
                                                      const T *bias) const {
    const ActivationStrides s = output_strides(desc_);
    for (const PhaseConvolution &p : phases) {
        const AxisPhase &along = *p.phase[2];
        const int64_t step = p.y_shape.block, channel_step = p.y_shape.channel_stride();
        const float *sums =
            reinterpret_cast<const float *>(workspace + p.sums) + p.y_shape.offset(0, c) + p.position(z, y_row) * step;
        const auto write = [&](int64_t i, int64_t j) {
            row[(c + i) * s.c + (along.first_out + j * phases_.axis[2].out_step) * s.x] =
                narrow<T>(sums[j * step + i * channel_step] + (bias ? widen(bias[c + i]) : 0.0f));
        };
        if (desc_.layout == Layout::ncdhw) {
            for (int64_t i = 0; i < count; ++i)
                for (int64_t j = 0; j < along.count; ++j)
                    write(i, j);
        } else {
            for (int64_t j = 0; j < along.count; ++j)
                for (int64_t i = 0; i < count; ++i)
                    write(i, j);
        }
    }
}

template <class T>
void ConvolutionsKernel::write_rows(const RowPhases &phases, const char *workspace, T *y, const T *bias) const {
    const ActivationStrides s = output_strides(desc_);
    const PhaseConvolution &first = phases[0];
    const AxisPhase &deep = *first.phase[0], &high = *first.phase[1];
    const int64_t channels = desc_.out_channels;
    const int64_t width = first.y_shape.block; // channels whose sums lie side by side
    parallel_for(threads_, deep.count * high.count, [&](int64_t item, int32_t) {
        const int64_t z = item / high.count, y_row = item % high.count;
        T *row = y + (deep.first_out + z * phases_.axis[0].out_step) * s.z +
                 (high.first_out + y_row * phases_.axis[1].out_step) * s.y;
        for (int64_t c = 0; c < channels; c += width)
            write_row(phases, workspace, z, y_row, c, std::min(width, channels - c), row, bias);
    });
}

void ConvolutionsKernel::run(const ct3d_buffers &b, dnnl::stream &stream) const {
    const Desc &d = desc_;
    char *workspace = static_cast<char *>(b.workspace);
    for (const RowPhases &row : rows_)
        for (const PhaseConvolution &c : row)
            pack(stream, c, b, workspace);
    with_type(d.dtype, [&]<class T>(T) {
        const T *bias = d.has_bias ? static_cast<const T *>(b.bias) : nullptr;
        for (int64_t n = 0; n < d.batch; ++n) {
            T *y = static_cast<T *>(b.y) + n * (d.y_elements() / d.batch);
            fill_rows(y, bias);
            const T *sample = static_cast<const T *>(b.x) + n * (d.x_elements() / d.batch);
            void *x = x_image_->read(threads_, sample, workspace);
            for (const RowPhases &row : rows_) {
                for (const PhaseConvolution &c : row)
                    convolve(stream, c, x, workspace);
                write_rows(row, workspace, y, bias);
            }
        }
    });
}

std::unique_ptr<Kernel> prepare_convolutions(const PlanContext &context) {
    const bool last = context.desc.layout == Layout::ndhwc;
    try {
        return translated([&] { return std::make_unique<ConvolutionsKernel>(context, last ? Tag::ndhwc : Tag::any); });
    } catch (const Error &error) {
        if (error.status() != CT3D_UNSUPPORTED)
            throw;
        return std::make_unique<ConvolutionsKernel>(context, last ? Tag::any : Tag::ndhwc);
    }
}

constexpr int64_t most_phases = 64;

std::string refusal(const PlanContext &context) {
    if (context.desc.op != Op::forward)
        return "computes forward only";
    if (context.phases.phases() > most_phases && !is_product(context.phases))
        return "more phases than primitives are worth making for";
    return common_refusal(context.desc);
}

double convolutions_seconds(const PlanContext &context) {
    const Desc &d = context.desc;
    double dense = context.phases.scale; // products, also those with padding
    for (const AxisTable &axis : context.phases.axis) {
        double pairs = 0;
        for (const AxisPhase &p : axis.phases)
            pairs += static_cast<double>(p.taps) * static_cast<double>(p.count);
        dense *= pairs;
    }
    const double bytes = 4.0 * (2 * static_cast<double>(d.x_elements()) + 3 * static_cast<double>(d.y_elements()) +
                                3 * static_cast<double>(d.w_elements()));
    return seconds_of_product(2 * dense * vector_padding(d.out_channels_per_group()), context.threads) +
           seconds_to_move(bytes, context.threads) +
           seconds_of_calls(static_cast<double>(d.batch) * static_cast<double>(1 + 2 * context.phases.phases()));
}

std::unique_ptr<Kernel> prepare(const PlanContext &context) {
    const ThreadScope scope(context.threads);
    return translated(
        [&] { return is_product(context.phases) ? prepare_product(context) : prepare_convolutions(context); });
}

Offer consider(const PlanContext &context) {
    if (std::string reason = refusal(context); !reason.empty())
        return refuse(std::move(reason));
    return {"", is_product(context.phases) ? product_seconds(context) : convolutions_seconds(context),
            [&context] { return prepare(context); }};
}

} // namespace

} // namespace onednn

const Candidate onednn_phase_candidate{"onednn_phase", onednn::consider};

} // namespace ct3d::cpu
