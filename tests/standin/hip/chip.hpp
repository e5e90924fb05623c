// SPDX-License-Identifier: MIT
// The AMD GPU that is stood in for, as CT3D_STANDIN_HIP_ARCH names it.
#pragma once

#include <cstdint>

namespace standin {

struct Chip {
    const char *arch;      // "gfx90a"
    const char *arch_name; // with the features that the runtime appends
    uint32_t machine;      // of a code object, in the flags of its header; 0: no code is for it
    uint32_t wave;
    bool mfma, xf32;
    bool flushes; // MFMA of f16 and bf16 takes subnormals for zeros
    int multiprocessors, l2_bytes, memory_kilohertz, memory_bits;
};

constexpr uint32_t lds_bytes = 64 << 10;

const Chip &chip(); // as the environment says now

// As it said when the block that runs began.
const Chip &running_chip();

} // namespace standin
