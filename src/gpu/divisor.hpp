// SPDX-License-Identifier: MIT
// Division of counts by a number that the host knows, without a division on the device.
#pragma once

#include <cstdint>

namespace ct3d::gpu {

// Exact for dividends and divisors below 2^16.
struct Divisor {
    uint32_t value;
    uint32_t magic; // 2^32 / value rounded up; 0 where value is 1
};

constexpr int64_t divisor_limit = 1 << 16;

inline Divisor make_divisor(int64_t value) {
    return {static_cast<uint32_t>(value), value == 1 ? 0 : static_cast<uint32_t>((0xffffffff + value) / value)};
}

// Exact for dividends and divisors below 2^31.
struct WideDivisor {
    uint32_t value;
    uint32_t magic; // 2^(32 + shift) / value rounded up; 0 where value is 1
    uint32_t shift;
};

constexpr int64_t wide_divisor_limit = int64_t{1} << 31;

inline WideDivisor make_wide_divisor(int64_t value) {
    if (value == 1)
        return {1, 0, 0};
    uint32_t shift = 0; // 2^(shift + 1) is the least power of two that is not below value
    while (int64_t{2} << shift < value)
        ++shift;
    const uint64_t scale = uint64_t{1} << (32 + shift), divisor = static_cast<uint64_t>(value);
    return {static_cast<uint32_t>(value), static_cast<uint32_t>((scale + divisor - 1) / divisor), shift};
}

} // namespace ct3d::gpu
