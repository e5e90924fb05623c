// SPDX-License-Identifier: MIT
// How the direct kernel cuts a problem into tiles: the search for the fastest cut that fits.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "direct_params.hpp"

namespace ct3d::gpu {

// A row of direct_instances.inc.
struct DirectInstance {
    const char *name;
    int32_t axes, stride, kernel, padding, tile;
};

// What can be chosen for one instance.
struct DirectCut {
    int32_t windows[3]; // of a tile
    int32_t groups;     // of a tile
    int32_t outputs;    // channels of each of them
    int32_t inputs;     // channels that are staged at a time
    int32_t threads;    // of a block
};

struct DirectPlan {
    const DirectInstance *instance;
    DirectCut cut;
    DirectParams params; // all but the addresses
    uint32_t blocks, shared_bytes;
    double seconds; // estimated
};

// Why there is no plan, or empty and a plan.
std::string plan_direct(const PlanContext &, const Device &, DirectPlan &);

} // namespace ct3d::gpu
