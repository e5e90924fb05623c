// SPDX-License-Identifier: MIT
// Estimated time of the direct kernel for one cut of a problem.
#pragma once

#include "direct_plan.hpp"

namespace ct3d::gpu {

struct DirectWork {
    const Desc &desc;
    const DirectParams &params;
    const DirectInstance &instance;
    const DirectCut &cut;
    double blocks;
    int64_t shared_bytes;
};

// Runs of windows along x, and warps' worth of them in a tile.
int64_t direct_runs(const DirectParams &);
int64_t direct_items(const DirectParams &);
int64_t direct_units(const DirectParams &, const DirectInstance &, const DirectCut &);

double direct_seconds(const DirectWork &, const Device &);

} // namespace ct3d::gpu
