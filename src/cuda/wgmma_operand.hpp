// SPDX-License-Identifier: MIT
// How an operand of a warpgroup's matrix instruction is described: rows of 32, 64 or 128 bytes that lie one after the
// other in shared memory, their parts of 16 bytes swizzled by as many.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

// Of the rows from `address` on. Any row may be the first, as the swizzle goes by the bits of addresses; so may any 32
// bytes of a row.
constexpr uint64_t wgmma_operand(uint32_t address, uint32_t slab_bytes) {
    constexpr uint64_t leading_bytes = 1; // has no meaning with a swizzle
    const uint64_t eight_rows = 8 * slab_bytes;
    const uint64_t layout = slab_bytes == 128 ? 1 : slab_bytes == 64 ? 2 : 3;
    return (address >> 4 & 0x3fff) | leading_bytes << 16 | eight_rows >> 4 << 32 | layout << 62;
}

} // namespace ct3d::cuda
