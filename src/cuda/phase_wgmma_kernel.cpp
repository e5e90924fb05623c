// SPDX-License-Identifier: MIT
// The phase GEMM for sm_90a as a kernel of the backend: weights and input are packed, then multiplied.
#include "phase_wgmma_kernel.hpp"

#include "../arithmetic.hpp"
#include "../gpu/function.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "../gpu/tensors.hpp"
#include "../report.hpp"
#include "../status.hpp"
#include "gpu.hpp"
#include "phase_wgmma_pack.hpp"
#include "phase_wgmma_tile.hpp"
#include "tensor_map.hpp"

#include <algorithm>
#include <array>

namespace ct3d::cuda {

namespace {

constexpr int64_t workspace_alignment = 256;

std::string function_name(const WgmmaTiling &t) {
    return std::string(t.row->kernel) + (t.out.channels_last ? "_last" : t.out.straight ? "_straight" : "_spans");
}

// Boxes of [z][y][sample][x][channel], the latter being operands.
TensorMapShape box_source(const Desc &d, const WgmmaTiling &t, int64_t channels, int64_t operand_bytes) {
    const auto wide = [](int64_t value) { return static_cast<uint64_t>(value); };
    const auto natural = [](int32_t value) { return static_cast<uint32_t>(value); };
    const int64_t cell = channels * operand_bytes;
    return {
        static_cast<int32_t>(operand_bytes),
        {wide(channels), wide(d.in[2]), wide(d.batch), wide(d.in[1]), wide(d.in[0])},
        {wide(cell), wide(d.in[0] * d.in[1] * d.in[2] * cell), wide(d.in[2] * cell), wide(d.in[1] * d.in[2] * cell)},
        {natural(t.operands.slab_elements), natural(t.tile.box_x), natural(t.tile.samples), natural(t.tile.box_y), 1},
        t.operands.slab_bytes};
}

WgmmaJobs make_jobs(const WgmmaCuts &c) {
    WgmmaJobs jobs{};
    jobs.y_residues = make_wide_divisor(c.y_residues);
    jobs.z_residues = make_wide_divisor(c.z_residues);
    jobs.row_tiles = make_wide_divisor(c.row_tiles);
    jobs.groups = make_wide_divisor(c.groups);
    jobs.x = make_wide_divisor(c.x);
    jobs.z_planes = static_cast<int32_t>(c.z_planes);
    const auto part = [&](int64_t first_y, int64_t y, int64_t first_z, int64_t z) {
        const WgmmaJobs::Part made{jobs.count, static_cast<int32_t>(first_y), static_cast<int32_t>(first_z),
                                   make_wide_divisor(std::max<int64_t>(y, 1)),
                                   make_wide_divisor(std::max<int64_t>(z, 1))};
        jobs.count += static_cast<uint32_t>(c.jobs(y, z));
        return made;
    };
    jobs.part[0] = part(0, c.full_y, 0, c.full_z);
    jobs.part[1] = part(c.full_y, c.y - c.full_y, 0, c.z);
    jobs.part[2] = part(0, c.full_y, c.full_z, c.z - c.full_z);
    return jobs;
}

class PhaseWgmmaKernel final : public Kernel {
public:
    PhaseWgmmaKernel(const PlanContext &c, const Device &device, const WgmmaTiling &t)
        : device_(device), tiling_(t),
          pack_(device, "phase_wgmma_pack", std::string("ct3d_phase_wgmma_pack_") + gemm_math_name(t.row->math)),
          gemm_(device, (std::string("phase_wgmma_") + gemm_math_name(t.row->math)).c_str(), function_name(t),
                static_cast<uint32_t>(t.shared_bytes)),
          blocks_(std::min(static_cast<uint32_t>(device.multiprocessors),
                           static_cast<uint32_t>(t.cuts.jobs(t.cuts.y, t.cuts.z)))) {
        require_tensor_maps();
        set_params(c.desc);
        set_inputs(c.desc);
        set_pack_params(c.desc);
    }

    uint64_t workspace_size() const override { return weights_bytes_ + input_bytes_; }

    void execute(const ct3d_buffers &b) const override {
        const bool direct = takes_input_ && aligned(b.x, 16);
        PhaseWgmmaParams p = params_;
        unsigned char *const packed = static_cast<unsigned char *>(b.workspace) + weights_bytes_;
        p.x = make_tensor_map(device_, direct ? own_input_ : packed_input_, direct ? b.x : packed);
        p.weights = b.workspace;
        p.bias = b.bias;
        p.y = b.y;
        pack(b, packed, direct);
        gemm_.launch_early(b.stream, {blocks_}, wgmma_threads, p);
    }

    void describe(Report &report) const override {
        const WgmmaTile &t = tiling_.tile;
        report.field("function", function_name(tiling_));
        report.list("tile", std::array{t.samples, t.y, t.x});
        report.list("box", std::array{t.box_y, t.box_x});
        report.field("rows_split", static_cast<int>(t.second_y > 0));
        report.field("slab_bytes", tiling_.operands.slab_bytes);
        report.field("keep", tiling_.shared.keep);
        report.field("entries", tiling_.shared.entries);
        report.field("stages", tiling_.shared.stages);
        report.field("stage_taps", tiling_.shared.stage_taps);
        report.field("straight", tiling_.out.straight);
        report.field("row_spans", tiling_.out.row_spans);
        report.field("cell_spans", tiling_.out.cell_spans);
        report.field("handed", tiling_.out.handed);
        report.field("short_spans", tiling_.out.short_spans);
        report.field("z_planes", tiling_.cuts.z_planes);
        report.field("jobs", params_.jobs.count);
        report.field("full_jobs", tiling_.cuts.jobs(tiling_.cuts.full_y, tiling_.cuts.full_z));
        report.field("shared_bytes", tiling_.shared_bytes);
    }

private:
    void pack(const ct3d_buffers &b, void *packed_x, bool direct) const {
        WgmmaPackParams p = pack_params_;
        p.x = b.x;
        p.w = b.w;
        p.packed_x = packed_x;
        p.packed_weights = b.workspace;
        const int64_t blocks = p.weight_blocks + (direct ? 0 : wgmma_input_blocks(tiling_.row->math, p));
        pack_.launch(b.stream, {static_cast<uint32_t>(blocks)}, wgmma_pack_threads, p);
    }

    void set_params(const Desc &d) {
        PhaseWgmmaParams &p = params_;
        p.operands = tiling_.operands;
        p.tile = tiling_.tile;
        p.jobs = make_jobs(tiling_.cuts);
        p.shared = tiling_.shared;
        p.out = tiling_.out;
        p.batch = static_cast<int32_t>(d.batch);
    }

    void set_inputs(const Desc &d) {
        const WgmmaOperands &o = tiling_.operands;
        const int64_t bytes = wgmma_operand_bytes(tiling_.row->math), cell = wgmma_packed_cell(d, o);
        takes_input_ = wgmma_takes_input(d);
        own_input_ = box_source(d, tiling_, d.in_channels, bytes);
        packed_input_ = box_source(d, tiling_, cell / bytes, bytes);
        input_bytes_ = static_cast<uint64_t>(d.batch * d.in[0] * d.in[1] * d.in[2] * cell);
        weights_bytes_ = static_cast<uint64_t>(
            round_up(d.groups * o.row_tiles * wgmma_stages(o) * o.stage_bytes, workspace_alignment));
    }

    void set_pack_params(const Desc &d) {
        const WeightStrides w = weight_strides(d);
        const ActivationStrides x = input_strides(d);
        WgmmaPackParams &p = pack_params_;
        p.operands = tiling_.operands;
        p.w_in = w.ci;
        p.w_out = w.co;
        std::ranges::copy(std::array{w.z, w.y, w.x}, p.w_step);
        p.x_sample = x.n;
        p.x_channel = x.c;
        p.x_cell = x.x;
        p.cells = d.in[0] * d.in[1] * d.in[2];
        p.batch = static_cast<int32_t>(d.batch);
        p.channels_last = d.layout == Layout::ndhwc;
        p.weight_blocks = static_cast<uint32_t>(wgmma_weight_blocks(p.operands));
    }

    const Device &device_;
    const WgmmaTiling tiling_;
    const Function pack_, gemm_;
    const uint32_t blocks_;
    PhaseWgmmaParams params_{};
    WgmmaPackParams pack_params_{};
    TensorMapShape own_input_{}, packed_input_{}; // x as it is, and packed
    bool takes_input_ = false;
    uint64_t weights_bytes_ = 0, input_bytes_ = 0; // of the workspace
};

std::string refusal(const PlanContext &c) {
    for (const AxisTable &axis : c.phases.axis)
        if (axis.phases.empty())
            return "no tap reaches an output";
    return gemm_refusal(c.desc);
}

Offer consider(const PlanContext &c) {
    if (std::string reason = refusal(c); !reason.empty())
        return refuse(std::move(reason));
    const Device &on = device(c.device);
    if (on.compute_capability() != 90)
        return refuse("for compute capability 9.0 only");
    const std::optional<WgmmaTiling> tiling = choose_wgmma_tiling(c, on);
    if (!tiling)
        return refuse("no tile fits in shared memory with a packed input of at most twice the input");
    return {"", tiling->seconds,
            [&c, &on, tiling = *tiling] { return std::make_unique<PhaseWgmmaKernel>(c, on, tiling); }};
}

} // namespace

const Candidate phase_wgmma_candidate{"phase_wgmma", consider};

} // namespace ct3d::cuda
