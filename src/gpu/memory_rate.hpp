// SPDX-License-Identifier: MIT
// The memory bandwidth of a device, from what a driver tells of its memory.
#pragma once

namespace ct3d::gpu {

// Bytes per second that a copy reaches; `efficiency` is its share of what clock, transfers per clock and bus width
// make.
inline double copy_rate(double kilohertz, double transfers, double bus_bits, double efficiency) {
    constexpr double unknown = 5e11;
    const double peak = 1e3 * kilohertz * transfers * bus_bits / 8;
    return peak > 0 ? efficiency * peak : unknown;
}

} // namespace ct3d::gpu
