// SPDX-License-Identifier: MIT
// How the kernel for few output channels cuts a problem into blocks.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "few_outputs_params.hpp"

namespace ct3d::cuda {

struct FewOutputsPlan {
    FewOutputsParams params; // all but the addresses
    uint32_t blocks, shared_bytes;
    double seconds; // estimated; 0: no cut fits
};

// Why there is no plan, or empty and a plan.
std::string plan_few_outputs(const PlanContext &, const Device &, FewOutputsPlan &);

} // namespace ct3d::cuda
