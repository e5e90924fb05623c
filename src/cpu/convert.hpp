// SPDX-License-Identifier: MIT
// The 16-bit types on the CPU: widened exactly to f32, rounded to nearest even from it. Branch-free, so that loops
// over them vectorise on every instruction set. Always inlined, because translation units of several instruction sets
// include this: a shared copy would run the wrong one's instructions.
#pragma once

#include <bit>
#include <cstdint>

namespace ct3d::cpu {

struct Half {
    uint16_t bits;
};
struct Bfloat {
    uint16_t bits;
};

[[gnu::always_inline]] inline float widen(float v) { return v; }
[[gnu::always_inline]] inline double widen(double v) { return v; }
[[gnu::always_inline]] inline float widen(Bfloat v) {
    return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16);
}

[[gnu::always_inline]] inline float widen(Half v) {
    const uint32_t sign = static_cast<uint32_t>(v.bits & 0x8000u) << 16;
    const uint32_t magnitude = v.bits & 0x7fffu;
    // From an integer, so that no f32 subnormal comes up, which a thread may be set to flush.
    const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
    const uint32_t normal = (magnitude << 13) + 0x38000000u; // the exponent's bias goes from 15 to 127
    const uint32_t special = magnitude << 13 | 0x7f800000u;
    uint32_t widened = magnitude < 0x400u ? subnormal : normal;
    widened = magnitude >= 0x7c00u ? special : widened;
    return std::bit_cast<float>(sign | widened);
}

template <class To> To narrow(float v);
template <class To> To narrow(double v);
template <> [[gnu::always_inline]] inline float narrow<float>(float v) { return v; }
template <> [[gnu::always_inline]] inline double narrow<double>(double v) { return v; }

template <> [[gnu::always_inline]] inline Bfloat narrow<Bfloat>(float v) {
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

template <> [[gnu::always_inline]] inline Half narrow<Half>(float v) {
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Subnormal halves: adding 0.5 puts their last bit at the last bit of the f32, which rounds it there.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
    const uint32_t infinity = 0x7c00u;
    const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477ff000u ? infinity : half;
    half = magnitude > 0x7f800000u ? nan : half;
    return {static_cast<uint16_t>((bits >> 16 & 0x8000u) | half)};
}

} // namespace ct3d::cpu
