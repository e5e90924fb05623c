// SPDX-License-Identifier: MIT
// A plan that is destroyed with its owner, and what it says of itself.
#pragma once

#include "guarded.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ct3d::engine {

struct PlanDeleter {
    void operator()(ct3d_plan *plan) const { ct3d_destroy_plan(&plan); }
};
using Plan = std::unique_ptr<ct3d_plan, PlanDeleter>;

struct PlanRequest {
    Place place;
    std::string kernel;  // empty: the plan's own choice
    int32_t threads = 0; // 0: the library's default
};

// Null, with the status and ct3d_last_error(), if there is no such plan.
Plan make_plan(const ct3d_problem &, const PlanRequest &, ct3d_status &);

std::string describe(const ct3d_plan *, int32_t format);
std::string kernel_name(const ct3d_plan *);
uint64_t workspace_size(const ct3d_plan *);

// The kernels that take the problem, the chosen one first.
std::vector<std::string> kernel_names(const ct3d_problem &, Place);

// The backend of a name (cpu, cuda, hip); throws UsageError.
int32_t backend_of(const std::string &name);
std::string device_name(Place);

} // namespace ct3d::engine
