// SPDX-License-Identifier: MIT
// The CUDA devices of this machine, as kernels need to know them.
#pragma once

#include <cmath>
#include <cstdint>

namespace ct3d::cuda {

struct Device {
    int32_t index;
    int32_t major, minor; // compute capability
    int32_t multiprocessors;
    uint32_t shared_bytes_per_block; // most that a block may have, dynamic and static
    uint32_t shared_bytes_per_multiprocessor;
    uint64_t memory, l2_bytes;
    double bytes_per_second; // memory bandwidth that a copy reaches, for cost models
    void *context;           // CUcontext: the primary context, retained
    char name[64];

    int32_t compute_capability() const { return 10 * major + minor; } // 90 for 9.0

    // Blocks of so much shared memory each that a multiprocessor has room for.
    double resident_blocks(double shared_bytes) const {
        constexpr double reserved = 1024; // of each block, by the driver
        return std::floor(shared_bytes_per_multiprocessor / (shared_bytes + reserved));
    }
};

// The device of a plan; throws Error where it cannot be used.
const Device &device(int32_t index);

// How many there are, at least 1; throws Error with the reason where none can be used.
int32_t device_count();

// A device that need not be usable: `context` may be null.
const Device &device_properties(int32_t index);

} // namespace ct3d::cuda
