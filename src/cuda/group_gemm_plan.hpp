// SPDX-License-Identifier: MIT
// How the grouped GEMM cuts a problem into tiles, and what that is estimated to cost.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "group_gemm_params.hpp"

#include <string>

namespace ct3d::cuda {

struct GroupPlan {
    GroupGemmParams params; // but for addresses
    uint32_t blocks, shared_bytes;
    double seconds; // estimated
};

// Fills the plan with the least estimated time, or returns the reason why there is none.
std::string plan_group_gemm(const PlanContext &, const Device &, GroupPlan &);

} // namespace ct3d::cuda
