// SPDX-License-Identifier: MIT
// A plan: a checked problem, its phases, and the kernel that was chosen for it.
#pragma once

#include "backend.hpp"
#include "report.hpp"

#include <string>
#include <vector>

struct ct3d_plan {
    ct3d_plan(const ct3d_problem *, const ct3d_plan_options *);

    uint64_t workspace_size() const { return kernel ? kernel->workspace_size() : 0; }
    void execute(const ct3d_buffers *) const;
    std::string describe(ct3d::Report::Format) const;

    struct Passed { // a candidate that was not chosen
        const char *kernel;
        std::string reason;
    };

    ct3d::Desc desc;
    ct3d::PhaseTable phases;
    const ct3d::Backend *backend;
    int32_t device;
    int32_t threads;
    const char *kernel_name = nullptr;
    double estimated_seconds = 0;
    std::unique_ptr<const ct3d::Kernel> kernel; // null for an empty batch
    std::vector<Passed> passed;

private:
    void choose(const ct3d_plan_options &);
    bool prepare(const char *name, const ct3d::Offer &, uint64_t max_workspace);
};
