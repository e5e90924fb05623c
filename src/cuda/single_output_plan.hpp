// SPDX-License-Identifier: MIT
// How the kernel for one output channel cuts a problem into blocks, and what that is estimated to cost.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "single_output_params.hpp"

#include <string>

namespace ct3d::cuda {

struct SingleOutputPlan {
    SingleOutputParams params; // all but the addresses
    int32_t tiles;             // of 16 positions, of a warp
    uint32_t blocks, threads, shared_bytes;
    double seconds; // estimated
};

// Fills the plan with the least estimated time, or returns the reason why there is none.
std::string plan_single_output(const PlanContext &, const Device &, SingleOutputPlan &);

} // namespace ct3d::cuda
