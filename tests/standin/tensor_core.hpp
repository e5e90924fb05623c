// SPDX-License-Identifier: MIT
// The tensor-core instructions of a warp, with the fragment layouts that the PTX ISA publishes: products of f16, bf16
// and tf32 are exact in f32, sums are f32.
#pragma once

#include "half.hpp"

#include <cstdint>

namespace standin {

void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);
void mma_m16n8k8_f16(float (&d)[4], const uint32_t (&a)[2], uint32_t b);
void mma_m16n8k8_bf16(float (&d)[4], const uint32_t (&a)[2], uint32_t b);
void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

// Four 8x8 matrices of two-byte elements; lane l gives the address of row l % 8 of matrix l / 8.
void ldmatrix_x4(uint32_t (&r)[4], uint32_t address, bool transposed);
void stmatrix_x4(uint32_t address, const uint32_t (&r)[4], bool transposed);

} // namespace standin
