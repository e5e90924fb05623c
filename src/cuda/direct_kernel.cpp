// SPDX-License-Identifier: MIT
#include "direct_kernel.hpp"

#include "../report.hpp"
#include "../status.hpp"
#include "direct_plan.hpp"
#include "direct_windows_plan.hpp"
#include "function.hpp"

#include <optional>

namespace ct3d::cuda {

namespace {

bool aligned(const void *p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// Stride and kernel are compiled in.
class WindowsLaunch {
public:
    WindowsLaunch(const PlanContext &c, bool wide)
        : plan_(plan(c, wide)), name_(windows_function(c.desc, plan_)),
          function_(device(c.device), "direct_windows", name_, static_cast<uint32_t>(plan_.shared_bytes)) {}

    void enqueue(const ct3d_buffers &b) const {
        WindowsParams p = plan_.params;
        p.x = b.x;
        p.w = b.w;
        p.bias = b.bias;
        p.y = b.y;
        p.vector = p.vector && aligned(b.y);
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
    static WindowsPlan plan(const PlanContext &c, bool wide) {
        WindowsPlan plan{};
        if (const std::string reason = plan_windows(c, device(c.device), wide, plan); !reason.empty())
            throw Error(CT3D_UNSUPPORTED, "%s", reason.c_str());
        return plan;
    }

    const WindowsPlan plan_;
    const std::string name_;
    const Function function_;
};

class WindowsKernel final : public Kernel {
public:
    explicit WindowsKernel(const PlanContext &c) : launch_(c, windows_wide(c.desc)) {
        if (windows_wide(c.desc))
            unaligned_.emplace(c, false);
    }

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        (unaligned_ && !aligned(b.x) ? *unaligned_ : launch_).enqueue(b);
    }

    void describe(Report &report) const override { launch_.describe(report); }

private:
    const WindowsLaunch launch_;
    std::optional<WindowsLaunch> unaligned_;
};

class DirectKernel final : public Kernel {
public:
    DirectKernel(const PlanContext &c, const DirectPlan &plan)
        : plan_(plan), function_(device(c.device), "direct", plan_.instance->name, plan_.shared_bytes) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        DirectParams p = plan_.params;
        p.x = b.x;
        p.w = b.w;
        p.bias = b.bias;
        p.y = b.y;
        if (!aligned(b.y) && p.vector > 1) {
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

// A shape that is compiled in is always faster so.
bool compiled_in(const PlanContext &c, WindowsPlan &plan) {
    return plan_windows(c, device(c.device), false, plan).empty() &&
           (!windows_wide(c.desc) || plan_windows(c, device(c.device), true, plan).empty());
}

DirectPlan plan_of(const PlanContext &c) {
    DirectPlan plan;
    if (const std::string reason = plan_direct(c, device(c.device), plan); !reason.empty())
        throw Error(CT3D_UNSUPPORTED, "%s", reason.c_str());
    return plan;
}

std::string refusal(const PlanContext &c) {
    WindowsPlan windows;
    DirectPlan direct;
    return compiled_in(c, windows) ? "" : plan_direct(c, device(c.device), direct);
}

double cost(const PlanContext &c) {
    WindowsPlan plan;
    return compiled_in(c, plan) ? plan.seconds : plan_of(c).seconds;
}

std::unique_ptr<Kernel> prepare(const PlanContext &c) {
    if (WindowsPlan plan; compiled_in(c, plan))
        return std::make_unique<WindowsKernel>(c);
    return std::make_unique<DirectKernel>(c, plan_of(c));
}

} // namespace

const Candidate direct_candidate{"direct", refusal, cost, prepare};

} // namespace ct3d::cuda
