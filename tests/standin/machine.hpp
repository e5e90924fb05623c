// SPDX-License-Identifier: MIT
// What differs between the machines that are stood in for, and the core must know.
#pragma once

#include <cstdint>

namespace standin {

struct Machine {
    uint32_t warp;         // lanes
    uint32_t shared_bytes; // most that a block may have

    // Around each block; the end finds what a block must not leave behind.
    void (*begin_block)(uint32_t threads);
    void (*end_block)();
};

// Defined by the one stand-in that the core is linked to.
Machine machine();

} // namespace standin
