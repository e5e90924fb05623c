// SPDX-License-Identifier: MIT
// The matrix instructions (MFMA) of a wave, with the lanes and registers that AMD's CDNA 2 and CDNA 3 documents give.
// Products are exact, and join the sum in f32 one by one in the order of k, from the accumulator on. (f32: each step is
// a fused multiply-add.) A fault where a lane is missing, or the chip has no such instruction.
#pragma once

#include <cstdint>

namespace standin {

// d = a * b + d: d has 16 rows and 16 columns; a lane has rows 4 * (lane / 16) + i of column lane % 16.

// k = 4 * (lane / 16) + e of a's row, and of b's column, lane % 16: element e is in bits 16 * e and up. Chips that
// flush take subnormal elements, sums and results for zeros.
void mfma_f32_16x16x16_f16(float (&d)[4], uint64_t a, uint64_t b);
void mfma_f32_16x16x16_bf16(float (&d)[4], uint64_t a, uint64_t b);

// k = lane / 16.
void mfma_f32_16x16x4_f32(float (&d)[4], float a, float b);

// k = 2 * (lane / 16) + e: element e is in bits 32 * e and up, an f32 of which the low 13 bits do not count.
void mfma_f32_16x16x8_xf32(float (&d)[4], uint64_t a, uint64_t b);

} // namespace standin
