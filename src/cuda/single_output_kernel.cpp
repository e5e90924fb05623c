// SPDX-License-Identifier: MIT
#include "single_output_kernel.hpp"

#include "../gpu/function.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "../gpu/tensors.hpp"
#include "../report.hpp"
#include "gpu.hpp"
#include "single_output_plan.hpp"

#include <string>

namespace ct3d::cuda {

namespace {

std::string function_name(const Desc &d, int32_t tiles) {
    return std::string("ct3d_single_output_") + gemm_math_name(gemm_math(d)) + "_" + std::to_string(tiles) +
           (d.layout == Layout::ndhwc ? "_ndhwc" : "_ncdhw");
}

class SingleOutputKernel final : public Kernel {
public:
    SingleOutputKernel(const PlanContext &c, const SingleOutputPlan &plan)
        : plan_(plan), element_bytes_(element_size(c.desc.dtype)), name_(function_name(c.desc, plan.tiles)),
          function_(device(c.device), "single_output", name_, plan.shared_bytes) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        SingleOutputParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        p.wide = p.wide && aligned(b.x, 16);
        p.two_out = p.two_out && aligned(b.y, 2 * element_bytes_);
        function_.launch(b.stream, {plan_.blocks}, plan_.threads, p);
    }

    void describe(Report &report) const override {
        const SingleOutputParams &p = plan_.params;
        report.field("function", name_);
        report.field("block_windows", p.block_windows);
        report.field("block_pieces", p.block_pieces);
        report.field("pieces", p.pieces);
        report.field("chunks", p.chunks);
        report.field("stages", p.stages);
        report.field("shared_bytes", plan_.shared_bytes);
        report.field("blocks", plan_.blocks);
        report.field("block_list", p.block_list);
    }

private:
    const SingleOutputPlan plan_;
    const uintptr_t element_bytes_;
    const std::string name_;
    const Function function_;
};

Offer consider(const PlanContext &c) {
    SingleOutputPlan plan;
    if (std::string reason = plan_single_output(c, device(c.device), plan); !reason.empty())
        return refuse(std::move(reason));
    return {"", plan.seconds, [&c, plan] { return std::make_unique<SingleOutputKernel>(c, plan); }};
}

} // namespace

const Candidate single_output_candidate{"single_output", consider};

} // namespace ct3d::cuda
