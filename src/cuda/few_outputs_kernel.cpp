// SPDX-License-Identifier: MIT
#include "few_outputs_kernel.hpp"

#include "../gpu/function.hpp"
#include "../gpu/tensors.hpp"
#include "../report.hpp"
#include "few_outputs_plan.hpp"
#include "gpu.hpp"

#include <string>

namespace ct3d::cuda {

namespace {

std::string function_name(const Desc &d) {
    return std::string("ct3d_few_outputs_") + (d.dtype == Dtype::f32 ? "tf32" : name(d.dtype));
}

class FewOutputsKernel final : public Kernel {
public:
    FewOutputsKernel(const PlanContext &c, const FewOutputsPlan &plan)
        : plan_(plan), name_(function_name(c.desc)),
          function_(device(c.device), "few_outputs", name_, plan_.shared_bytes) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        FewOutputsParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        p.wide = p.wide && aligned(b.x, 16);
        function_.launch(b.stream, {plan_.blocks}, few_outputs_threads, p);
    }

    void describe(Report &report) const override {
        report.field("function", name_);
        report.field("tile_planes", plan_.params.planes);
        report.field("tile_rows", plan_.params.rows * plan_.params.axis[1].stride);
        report.field("pairs", plan_.params.pairs);
        report.field("passes", plan_.params.passes);
        report.field("shared_bytes", plan_.shared_bytes);
        report.field("blocks", plan_.blocks);
    }

private:
    const FewOutputsPlan plan_;
    const std::string name_;
    const Function function_;
};

Offer consider(const PlanContext &c) {
    FewOutputsPlan plan;
    if (std::string reason = plan_few_outputs(c, device(c.device), plan); !reason.empty())
        return refuse(std::move(reason));
    return {"", plan.seconds, [&c, plan] { return std::make_unique<FewOutputsKernel>(c, plan); }};
}

} // namespace

const Candidate few_outputs_candidate{"few_outputs", consider};

} // namespace ct3d::cuda
