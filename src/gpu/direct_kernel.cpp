// SPDX-License-Identifier: MIT
#include "direct_kernel.hpp"

#include "../report.hpp"
#include "direct_plan.hpp"
#include "direct_windows_plan.hpp"
#include "function.hpp"
#include "tensors.hpp"

#include <optional>

namespace ct3d::gpu {

namespace {

// Stride and kernel are compiled in.
class WindowsLaunch {
public:
    WindowsLaunch(const PlanContext &c, const Device &device, const WindowsPlan &plan)
        : plan_(plan), name_(windows_function(c.desc, plan_)),
          function_(device, "direct_windows", name_, static_cast<uint32_t>(plan_.shared_bytes)) {}

    void enqueue(const ct3d_buffers &b) const {
        WindowsParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        p.vector = p.vector && aligned(b.y, 16);
        function_.launch(b.stream, {static_cast<uint32_t>(plan_.blocks)}, static_cast<uint32_t>(plan_.threads), p);
    }

    void describe(Report &report) const {
        report.field("function", name_);
        report.field("block_channel_tiles", plan_.params.block_cells.value);
        report.field("block_items", plan_.params.block_items.value);
        report.field("steps", plan_.params.steps);
        report.field("staged_inputs", plan_.params.staged.value);
        report.field("threads", plan_.threads);
        report.field("shared_bytes", plan_.shared_bytes);
        report.field("blocks", plan_.blocks);
    }

private:
    const WindowsPlan plan_;
    const std::string name_;
    const Function function_;
};

class WindowsKernel final : public Kernel {
public:
    // `aligned` may only be used where x is; none: `any` always.
    WindowsKernel(const PlanContext &c, const Device &device, const WindowsPlan &any,
                  const std::optional<WindowsPlan> &aligned)
        : any_(c, device, any) {
        if (aligned)
            aligned_.emplace(c, device, *aligned);
    }

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override { (aligned_ && aligned(b.x, 16) ? *aligned_ : any_).enqueue(b); }

    void describe(Report &report) const override { (aligned_ ? *aligned_ : any_).describe(report); }

private:
    const WindowsLaunch any_;
    std::optional<WindowsLaunch> aligned_;
};

class DirectKernel final : public Kernel {
public:
    DirectKernel(const Device &device, const DirectPlan &plan)
        : plan_(plan), function_(device, "direct", plan_.instance->name, plan_.shared_bytes) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        DirectParams p = plan_.params;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        if (!aligned(b.y, 16) && p.vector > 1) {
            p.vectors = make_divisor(int64_t{p.vectors.value} * p.vector);
            p.vector = 1;
        }
        function_.launch(b.stream, {plan_.blocks}, static_cast<uint32_t>(plan_.cut.threads), p);
    }

    void describe(Report &report) const override {
        report.field("function", plan_.instance->name);
        report.list("tile_windows", plan_.cut.windows);
        report.field("tile_groups", plan_.cut.groups);
        report.field("tile_outputs", plan_.cut.outputs);
        report.field("staged_inputs", plan_.cut.inputs);
        report.field("threads", plan_.cut.threads);
        report.field("shared_bytes", plan_.shared_bytes);
        report.field("blocks", plan_.blocks);
    }

private:
    const DirectPlan plan_;
    const Function function_;
};

Offer offer_windows(const PlanContext &c, const Device &device) {
    WindowsPlan any;
    if (std::string reason = plan_windows(c, device, false, any); !reason.empty())
        return refuse(std::move(reason));
    std::optional<WindowsPlan> aligned;
    if (windows_wide(c.desc))
        if (std::string reason = plan_windows(c, device, true, aligned.emplace()); !reason.empty())
            return refuse(std::move(reason));
    return {"", aligned ? aligned->seconds : any.seconds,
            [&, any, aligned] { return std::make_unique<WindowsKernel>(c, device, any, aligned); }};
}

} // namespace

// A shape that is compiled in is always faster so.
Offer consider_direct(const PlanContext &c, const Device &device) {
    if (Offer windows = offer_windows(c, device); windows.refusal.empty())
        return windows;
    DirectPlan plan;
    if (std::string reason = plan_direct(c, device, plan); !reason.empty())
        return refuse(std::move(reason));
    return {"", plan.seconds, [&device, plan] { return std::make_unique<DirectKernel>(device, plan); }};
}

} // namespace ct3d::gpu
