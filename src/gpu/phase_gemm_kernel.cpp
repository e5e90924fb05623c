// SPDX-License-Identifier: MIT
// The phase GEMM on matrix units as a kernel of a backend: weights are packed, then multiplied.
#include "phase_gemm_kernel.hpp"

#include "../arithmetic.hpp"
#include "../report.hpp"
#include "../status.hpp"
#include "function.hpp"
#include "phase_gemm_tile.hpp"
#include "tensors.hpp"

#include <algorithm>

namespace ct3d::gpu {

namespace {

constexpr int64_t pack_warps = 4096; // so many hide the latency of reading weights

GemmAxis make_axis(const PlanContext &c, const GemmTiling &t, size_t a) {
    const AxisTable &table = c.phases.axis[a];
    GemmAxis axis{};
    axis.in = static_cast<int32_t>(c.desc.in[a]);
    axis.out = static_cast<int32_t>(c.desc.out[a]);
    axis.stride = static_cast<int32_t>(c.desc.stride[a]);
    axis.kernel = static_cast<int32_t>(c.desc.kernel[a]);
    axis.tap_step = static_cast<int32_t>(table.tap_step);
    axis.in_step = static_cast<int32_t>(table.in_step);
    axis.lattice = static_cast<int32_t>(t.lattice[a]);
    axis.tiles = static_cast<int32_t>(t.tiles[a]);
    axis.tile = make_divisor(t.tile[a]);
    axis.box = make_divisor(t.box[a]);
    for (const AxisPhase &f : table.phases) {
        axis.phase[axis.phases] = {static_cast<int32_t>(f.first_out),
                                   static_cast<int32_t>(f.taps),
                                   static_cast<int32_t>(f.first_in),
                                   static_cast<int32_t>(gemm_low(c.phases, a, static_cast<size_t>(axis.phases))),
                                   axis.all_taps,
                                   static_cast<int32_t>(f.first_tap)};
        axis.all_taps += static_cast<int32_t>(f.taps);
        ++axis.phases;
    }
    return axis;
}

GemmChannels make_channels(const Desc &d, const GemmTiling &t) {
    return {static_cast<int32_t>(d.in_channels_per_group()),
            static_cast<int32_t>(d.out_channels_per_group()),
            static_cast<int32_t>(d.groups),
            static_cast<int32_t>(t.out_blocks),
            static_cast<int32_t>(t.chunks),
            static_cast<int32_t>(t.chunk_words)};
}

class PhaseGemmKernel final : public Kernel {
public:
    PhaseGemmKernel(const PlanContext &c, const Device &device, const char *pack_image, const GemmTiling &t)
        : tiling_(t), pack_(device, pack_image, std::string("ct3d_phase_gemm_pack_") + gemm_math_name(t.row->math)),
          gemm_(device, t.row->image, t.row->kernel, static_cast<uint32_t>(t.shared_bytes)) {
        set_params(c);
        set_inputs(c);
        set_pack_params(c);
    }

    uint64_t workspace_size() const override {
        return params_.axis[2].all_taps == 0 ? 0 : weights_bytes_ + input_bytes_;
    }

    void execute(const ct3d_buffers &b) const override {
        const bool direct = takes_input_ && aligned(b.x, 16);
        PhaseGemmParams p = params_;
        p.input = direct ? own_input_ : packed_input_;
        p.input.x = direct ? b.x : static_cast<unsigned char *>(b.workspace) + weights_bytes_;
        p.weights = b.workspace;
        if (workspace_size() > 0)
            pack(b, direct);
        p.y = b.y;
        p.bias = b.bias;
        p.y_aligned = y_aligned_ && aligned(b.y, 16);
        gemm_.launch(b.stream, {static_cast<uint32_t>(tiling_.blocks)}, static_cast<uint32_t>(tiling_.row->threads()),
                     p);
    }

    void describe(Report &report) const override {
        report.field("function", tiling_.row->kernel);
        report.list("tile", std::array{tiling_.samples, tiling_.tile[0], tiling_.tile[1], tiling_.tile[2]});
        report.list("box", tiling_.box);
        report.field("chunks", tiling_.chunks);
        report.field("box_buffers", tiling_.box_buffers);
        report.field("stage_taps", tiling_.stage_taps);
        report.field("row_spans", static_cast<int>(tiling_.row_spans));
        report.field("shared_bytes", tiling_.shared_bytes);
        report.field("blocks", tiling_.blocks);
    }

private:
    void pack(const ct3d_buffers &b, bool direct) const {
        GemmPackParams p = pack_params_;
        p.weights.w = b.w;
        p.weights.packed = b.workspace;
        p.input.x = b.x;
        p.input.packed = static_cast<unsigned char *>(b.workspace) + weights_bytes_;
        const int64_t blocks = p.weight_blocks + (direct ? 0 : ceil_div(p.input.threads, gemm_pack_threads));
        pack_.launch(b.stream, {static_cast<uint32_t>(blocks)}, gemm_pack_threads, p);
    }

    void set_params(const PlanContext &c) {
        const Desc &d = c.desc;
        const GemmTiling &t = tiling_;
        PhaseGemmParams &p = params_;
        for (size_t a = 0; a < 3; ++a)
            p.axis[a] = make_axis(c, t, a);
        p.channels = make_channels(d, t);
        const ActivationStrides y = output_strides(d);
        p.y_sample = y.n;
        p.y_channel = y.c;
        std::ranges::copy(std::array{y.z, y.y, y.x}, p.y_step);
        p.batch = static_cast<int32_t>(d.batch);
        p.tile_samples = make_divisor(t.samples);
        p.tile_positions = static_cast<int32_t>(t.samples * t.tile[0] * t.tile[1] * t.tile[2]);
        p.box_rows = static_cast<int32_t>(t.box_rows);
        p.cell_quads = make_divisor(gemm_planes(t.row->math) * t.chunk_words / 4);
        p.cell_words = static_cast<int32_t>(t.cell_words);
        p.box_bytes = static_cast<int32_t>(t.box_bytes);
        p.box_buffers = static_cast<int32_t>(t.box_buffers);
        p.box_offset = static_cast<int32_t>(t.box_offset);
        p.ring_offset = static_cast<int32_t>(t.ring_offset);
        p.output_offset = static_cast<int32_t>(t.output_offset);
        p.spans = static_cast<int32_t>(t.spans);
        p.span_bytes = static_cast<int32_t>(t.span_bytes);
        p.row_spans = t.row_spans;
        p.stage_taps = static_cast<int32_t>(t.stage_taps);
        p.slice = static_cast<int32_t>(t.slice);
        p.channels_last = d.layout == Layout::ndhwc;
        y_aligned_ = p.channels_last && d.out_channels_per_group() * gemm_element_bytes(t.row->math) % 16 == 0;
    }

    void set_inputs(const PlanContext &c) {
        const Desc &d = c.desc;
        const int64_t chunk = params_.cell_quads.value * 16;
        const int64_t cell = d.groups * tiling_.chunks * chunk;
        packed_input_ = input_of(d, cell, tiling_.chunks * chunk, chunk);
        input_bytes_ = static_cast<uint64_t>(d.batch * packed_input_.sample);
        takes_input_ = gemm_takes_input(d);
        const int64_t bytes = gemm_element_bytes(tiling_.row->math);
        own_input_ = input_of(d, d.in_channels * bytes, d.in_channels_per_group() * bytes, chunk);
    }

    static GemmInput input_of(const Desc &d, int64_t cell, int64_t group, int64_t chunk) {
        const auto step = [](int64_t bytes) { return static_cast<int32_t>(bytes); };
        return {nullptr,
                d.in[0] * d.in[1] * d.in[2] * cell,
                group,
                chunk,
                {step(d.in[1] * d.in[2] * cell), step(d.in[2] * cell), step(cell)},
                static_cast<int32_t>(group / 16)};
    }

    void set_pack_params(const PlanContext &c) {
        const Desc &d = c.desc;
        const int64_t steps = tiling_.chunks * (tiling_.chunk_words / gemm_step_words);
        GemmPackParams &p = pack_params_;
        p.channels = params_.channels;
        set_pack_weights(d, d.groups * tiling_.out_blocks * steps * (tiling_.row->channels() / 16));
        const ActivationStrides x = input_strides(d);
        p.input.cells = d.in[0] * d.in[1] * d.in[2];
        p.input.sample = x.n;
        p.input.channel = x.c;
        p.input.cell = x.x;
        p.input.threads = d.batch * p.input.cells * d.groups * steps;
        p.input.channels_last = params_.channels_last;
    }

    void set_pack_weights(const Desc &d, int64_t fragments) {
        const WeightStrides w = weight_strides(d);
        GemmPackWeights &p = pack_params_.weights;
        std::ranges::copy(params_.axis, p.axis);
        p.w_in = w.ci;
        p.w_out = w.co;
        std::ranges::copy(std::array{w.z, w.y, w.x}, p.w_step);
        p.block_channels = tiling_.row->channels();
        p.channels_last = params_.channels_last;
        const int64_t taps = d.kernel[0] * d.kernel[1] * d.kernel[2];
        p.taps_per_thread = static_cast<int32_t>(std::clamp<int64_t>(fragments * taps / pack_warps, 1, taps));
        p.warps = fragments * ceil_div(taps, p.taps_per_thread);
        pack_params_.weight_blocks = static_cast<uint32_t>(ceil_div(p.warps, gemm_pack_threads / tiling_.row->warp));
        weights_bytes_ = static_cast<uint64_t>(round_up(
            d.groups * tiling_.out_blocks * gemm_packed_taps(params_.axis, params_.channels.chunks) * tiling_.tap_bytes,
            256));
    }

    const GemmTiling tiling_;
    const Function pack_, gemm_;
    PhaseGemmParams params_{};
    GemmInput own_input_{}, packed_input_{}; // x as it is, and packed
    GemmPackParams pack_params_{};
    bool takes_input_, y_aligned_;
    uint64_t weights_bytes_, input_bytes_; // of the workspace
};

} // namespace

Offer consider_phase_gemm(const PlanContext &c, const Device &device, const GemmTarget &target) {
    if (std::string reason = gemm_refusal(c.desc); !reason.empty())
        return refuse(std::move(reason));
    const std::optional<GemmTiling> tiling = choose_gemm_tiling(c, device, target);
    if (!tiling)
        return refuse("no tile fits in shared memory with a workspace of at most twice the input");
    return {"", tiling->seconds, [&c, &device, image = target.pack_image, tiling = *tiling] {
                return std::make_unique<PhaseGemmKernel>(c, device, image, tiling);
            }};
}

} // namespace ct3d::gpu
