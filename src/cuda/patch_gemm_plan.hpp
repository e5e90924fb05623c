// SPDX-License-Identifier: MIT
// How the patch GEMM divides columns and cells among blocks, and what that is estimated to cost.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "patch_gemm_params.hpp"
#include "tensor_map.hpp"

#include <string>

namespace ct3d::cuda {

// A row of patch_gemm_rows.inc.
struct PatchRow {
    GemmMath math;
    int32_t n;          // columns of a warpgroup's sums
    const char *kernel; // its name without the layout
};

struct PatchPlan {
    const PatchRow *row;
    bool channels_last;
    int64_t columns;        // of a group
    PatchGemmParams params; // but for addresses
    TensorMapShape x_map;   // where the copy engine can load x, if it is aligned to 16 bytes: params.copies
    uint32_t blocks, shared_bytes;
    double seconds; // estimated
};

// Fills the plan with the least estimated time, or returns the reason why there is none.
std::string plan_patch_gemm(const PlanContext &, const Device &, PatchPlan &);

} // namespace ct3d::cuda
