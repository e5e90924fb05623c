// SPDX-License-Identifier: MIT
// A GPU, as kernels that any vendor's can run need to know it.
#pragma once

#include <cmath>
#include <cstdint>

namespace ct3d::gpu {

struct Driver;

struct Device {
    const Driver *driver;
    int32_t index;
    int32_t multiprocessors;
    uint32_t shared_bytes_per_block; // most that a block may have, dynamic and static
    uint32_t shared_bytes_per_multiprocessor;
    uint32_t shared_bytes_reserved; // of each block, by the driver
    double threads_per_launch;      // most that a launch may have
    uint64_t memory, l2_bytes;
    double bytes_per_second; // memory bandwidth that a copy reaches, for cost models
    char name[64];
    char arch[32]; // "sm_90", "gfx90a"

    bool can_launch(double blocks, int64_t threads) const {
        return blocks <= INT32_MAX && blocks * static_cast<double>(threads) <= threads_per_launch;
    }

    // Blocks of so much shared memory each that a multiprocessor has room for.
    double resident_blocks(double shared_bytes) const {
        return std::floor(shared_bytes_per_multiprocessor / (shared_bytes + shared_bytes_reserved));
    }
};

} // namespace ct3d::gpu
