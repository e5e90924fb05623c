// SPDX-License-Identifier: MIT
// The tensor-core instructions of a warp, with the fragment layouts that the PTX ISA publishes: products of f16, bf16
// and tf32 are exact in f32, sums are f32.
#pragma once

#include <bit>
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

inline float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = uint32_t{bits & 0x7fffu} << 13;
    const bool finite = (bits & 0x7c00) != 0x7c00;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f; // right for subnormals too
    const uint32_t value = finite ? std::bit_cast<uint32_t>(scaled) : magnitude | 0x7f800000;
    return std::bit_cast<float>(value | sign);
}
uint16_t float_to_half(float); // to nearest, ties to even

} // namespace standin
