// SPDX-License-Identifier: MIT
#include "patch_gemm_kernel.hpp"

#include "../gpu/function.hpp"
#include "../gpu/tensors.hpp"
#include "../report.hpp"
#include "gpu.hpp"
#include "patch_gemm_plan.hpp"

namespace ct3d::cuda {

namespace {

std::string function_name(const PatchPlan &plan) {
    return std::string(plan.row->kernel) + (plan.channels_last ? "_ndhwc" : "_ncdhw");
}

class PatchGemmKernel final : public Kernel {
public:
    PatchGemmKernel(const PlanContext &c, const Device &device, const PatchPlan &plan)
        : device_(device), plan_(plan), element_bytes_(element_size(c.desc.dtype)),
          function_(device, "patch_gemm", function_name(plan), plan.shared_bytes) {
        if (plan.params.copies)
            require_tensor_maps();
    }

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        PatchGemmParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        p.copies = p.copies && aligned(b.x, 16);
        while (p.vectors > 1 && !aligned(b.y, static_cast<uintptr_t>(p.vectors) * element_bytes_))
            p.vectors = plan_.channels_last ? 1 : p.vectors / 2;
        if (!aligned(b.w, 16))
            p.w_order = PatchWeightsOrder::scattered;
        if (p.copies)
            p.x_map = make_tensor_map(device_, plan_.x_map, b.x);
        function_.launch(b.stream, {plan_.blocks}, patch_threads, p);
    }

    void describe(Report &report) const override {
        const PatchGemmParams &p = plan_.params;
        report.field("function", function_name(plan_));
        report.field("columns", plan_.columns);
        report.field("slice_columns", p.slice_columns);
        report.field("tiles", p.tiles);
        report.field("tile_step", p.tile_step);
        report.field("chunks", p.chunks);
        report.field("entries", p.entries.value);
        report.field("warpgroups", p.warpgroups);
        report.field("blocks", plan_.blocks);
        report.field("shared_bytes", plan_.shared_bytes);
    }

private:
    const Device &device_;
    const PatchPlan plan_;
    const uintptr_t element_bytes_;
    const Function function_;
};

Offer consider(const PlanContext &c) {
    const Device &on = device(c.device);
    PatchPlan plan;
    if (std::string reason = plan_patch_gemm(c, on, plan); !reason.empty())
        return refuse(std::move(reason));
    return {"", plan.seconds, [&c, &on, plan] { return std::make_unique<PatchGemmKernel>(c, on, plan); }};
}

} // namespace

const Candidate patch_gemm_candidate{"patch_gemm", consider};

} // namespace ct3d::cuda
