// SPDX-License-Identifier: MIT
#include "group_gemm_kernel.hpp"

#include "../gpu/function.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "../gpu/tensors.hpp"
#include "../report.hpp"
#include "gpu.hpp"
#include "group_gemm_plan.hpp"

#include <string>

namespace ct3d::cuda {

namespace {

std::string function_name(const Desc &d) {
    return std::string("ct3d_group_gemm_") + gemm_math_name(gemm_math(d)) + '_' + std::to_string(d.stride[2]) + '_' +
           name(d.layout);
}

class GroupGemmKernel final : public Kernel {
public:
    GroupGemmKernel(const PlanContext &c, const GroupPlan &plan)
        : plan_(plan), name_(function_name(c.desc)), element_bytes_(element_size(c.desc.dtype)),
          function_(device(c.device), "group_gemm", name_, plan_.shared_bytes) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        GroupGemmParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        p.wide = p.wide && aligned(b.x, 16);
        p.pairs = p.pairs && aligned(b.y, 2 * element_bytes_);
        p.vectors = p.vectors && aligned(b.y, 16);
        function_.launch(b.stream, {plan_.blocks}, group_threads, p);
    }

    void describe(Report &report) const override {
        const GroupGemmParams &p = plan_.params;
        report.field("function", name_);
        report.list("tile", std::array{p.axis[0].tile, p.axis[1].tile, p.axis[2].tile});
        report.list("box", std::array{p.axis[0].box, p.axis[1].box, p.axis[2].box});
        report.field("joined", p.joined);
        report.field("steps", p.steps);
        report.field("channel_tiles", p.channel_tiles);
        report.field("shared_bytes", plan_.shared_bytes);
        report.field("blocks", plan_.blocks);
    }

private:
    const GroupPlan plan_;
    const std::string name_;
    const uintptr_t element_bytes_;
    const Function function_;
};

Offer consider(const PlanContext &c) {
    GroupPlan plan{};
    if (std::string reason = plan_group_gemm(c, device(c.device), plan); !reason.empty())
        return refuse(std::move(reason));
    return {"", plan.seconds, [&c, plan] { return std::make_unique<GroupGemmKernel>(c, plan); }};
}

} // namespace

const Candidate group_gemm_candidate{"group_gemm", consider};

} // namespace ct3d::cuda
