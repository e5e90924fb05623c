// SPDX-License-Identifier: MIT
// What a device does at best, measured in the run: the roofline that times are compared with.
#pragma once

#include "guarded.hpp"

namespace ct3d::engine {

struct Rates {
    double copy;   // bytes per second, read and written
    double matmul; // f32 FLOP per second; 0 where it is not measured
};

Rates measure_rates(Place);

// Seconds of one product of two square f32 matrices on the CPU, or of as much work in another form.
struct MatmulTime {
    double seconds, flop;
};
MatmulTime time_matmul();

} // namespace ct3d::engine
