// SPDX-License-Identifier: MIT
#include "direct.hpp"

#include "../report.hpp"
#include "isa.hpp"
#include "parallel.hpp"

namespace ct3d::cpu {

namespace {

constexpr double work_per_thread = 2e4; // multiplications and elements

class DirectKernel final : public Kernel {
public:
    explicit DirectKernel(const PlanContext &c)
        : desc_(c.desc), phases_(c.phases),
          threads_(worthwhile_threads(c.threads, c.phases.multiplications() + total_elements(c.desc), work_per_thread)),
          run_(best_isa().direct(c.desc.op, c.desc.dtype)) {}

    uint64_t workspace_size() const override { return 0; }
    void execute(const ct3d_buffers &b) const override { run_(desc_, phases_, b, usable_threads(threads_)); }
    void describe(Report &report) const override { report.field("isa", best_isa().name); }

private:
    const Desc desc_;
    const PhaseTable phases_;
    const int32_t threads_;
    const DirectFn run_;
};

// Each product costs about as much as a load and a store of the sum.
double cost(const PlanContext &c) {
    constexpr double efficiency = 0.05;
    return 2 * c.phases.multiplications() / (efficiency * best_isa().flops_per_thread * c.threads);
}

Offer consider(const PlanContext &c) {
    return {"", cost(c), [&c] { return std::make_unique<DirectKernel>(c); }};
}

} // namespace

const Candidate direct_candidate{"direct", consider};

} // namespace ct3d::cpu
