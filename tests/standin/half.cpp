// SPDX-License-Identifier: MIT
#include "half.hpp"

namespace standin {

uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return static_cast<uint16_t>(sign | 0x7fff);
    if (magnitude >= 0x477ff000) // 65520
        return static_cast<uint16_t>(sign | 0x7c00);
    if (magnitude < 0x38800000) { // below the normal range: counted in steps of 2^-24
        const float steps = std::bit_cast<float>(magnitude) * 0x1p24f + 0x1p23f; // the sum rounds
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(steps) - 0x4b000000));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return static_cast<uint16_t>(sign | ((magnitude + 0xfff + odd - (112u << 23)) >> 13));
}

} // namespace standin
