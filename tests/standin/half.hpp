// SPDX-License-Identifier: MIT
// f16 as bits.
#pragma once

#include <bit>
#include <cstdint>

namespace standin {

inline float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = uint32_t{bits & 0x7fffu} << 13;
    const bool finite = (bits & 0x7c00) != 0x7c00;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f; // right for subnormals too
    const uint32_t value = finite ? std::bit_cast<uint32_t>(scaled) : magnitude | 0x7f800000;
    return std::bit_cast<float>(value | sign);
}
uint16_t float_to_half(float); // to nearest, ties to even

} // namespace standin
