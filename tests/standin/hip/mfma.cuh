// SPDX-License-Identifier: MIT
// The names of src/hip/mfma.cuh, carried out on the host.
#pragma once

#include "chip.hpp"
#include "device_language.hpp"
#include "mfma.hpp"

namespace ct3d::gpu {

// Known when a source is compiled for a chip; here one runs on all of them.
inline bool mfma_keeps_subnormals() { return !standin::running_chip().flushes; }
inline bool mfma_has_xf32() { return standin::running_chip().xf32; }

inline uint64_t mfma_operand(uint2 v) { return v.x | uint64_t{v.y} << 32; }
inline void mfma_f16(float (&d)[4], uint2 a, uint2 b) {
    standin::mfma_f32_16x16x16_f16(d, mfma_operand(a), mfma_operand(b));
}
inline void mfma_bf16(float (&d)[4], uint2 a, uint2 b) {
    standin::mfma_f32_16x16x16_bf16(d, mfma_operand(a), mfma_operand(b));
}
inline void mfma_f32(float (&d)[4], float a, float b) { standin::mfma_f32_16x16x4_f32(d, a, b); }
inline void mfma_xf32(float (&d)[4], uint2 a, uint2 b) {
    standin::mfma_f32_16x16x8_xf32(d, mfma_operand(a), mfma_operand(b));
}

} // namespace ct3d::gpu
