// SPDX-License-Identifier: MIT
// The matrix instructions of four warps. Each warp computes its 16 rows by itself, from shared memory: as the seed
// draws it, when all its lanes have issued the instruction, or not before a wait demands it, so that operands that are
// given up too early show.
#pragma once

#include <cstdint>

namespace standin {

// Around each block; the end finds products that a block must not leave behind.
void begin_products(uint32_t threads);
void end_products();

enum class Product { f16, bf16, tf32 };

// m64nNk16, or m64nNk8 for tf32: N / 2 sums of each lane, and descriptors of operands in shared memory.
void warpgroup_multiply(Product, uint32_t columns, float *sums, uint64_t a, uint64_t b, bool accumulate);
// With the first operand in four registers of each lane, which are read when the instruction is carried out.
void warpgroup_multiply(Product, uint32_t columns, float *sums, const uint32_t *a, uint64_t b, bool accumulate);
void fence_products();
void commit_products();
void wait_products(uint32_t groups_left);

} // namespace standin
