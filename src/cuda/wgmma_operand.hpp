// SPDX-License-Identifier: MIT
// How an operand of a warpgroup's matrix instruction is described: rows of 32, 64 or 128 bytes that lie one after the
// other in shared memory, their parts of 16 bytes swizzled by as many.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

constexpr int wgmma_row_alignment = 1024; // of an operand's first row, for all widths of rows
constexpr int wgmma_step_bytes = 32;      // of a row, that one matrix instruction multiplies

// Of the rows from `address` on. Any row may be the first, as the swizzle goes by the bits of addresses; so may any 32
// bytes of a row.
constexpr uint64_t wgmma_operand(uint32_t address, uint32_t slab_bytes) {
    constexpr uint64_t leading_bytes = 1; // has no meaning with a swizzle
    const uint64_t eight_rows = 8 * slab_bytes;
    const uint64_t layout = slab_bytes == 128 ? 1 : slab_bytes == 64 ? 2 : 3;
    return (address >> 4 & 0x3fff) | leading_bytes << 16 | eight_rows >> 4 << 32 | layout << 62;
}

// Where byte `byte` of row `row` lies in an operand with rows of slab_bytes, relative to an address that is a multiple
// of wgmma_row_alignment: the bits above the seventh of the address are added to those of the 16 bytes.
constexpr uint32_t wgmma_swizzle(uint32_t row, uint32_t byte, uint32_t slab_bytes) {
    const uint32_t at = row * slab_bytes + byte;
    return at ^ (at >> 3 & (slab_bytes - 16) & 0x70);
}

} // namespace ct3d::cuda
