// SPDX-License-Identifier: MIT
// What a device does at best: the roofline that times are compared with.
#pragma once

#include "guarded.hpp"

namespace ct3d::engine {

struct Rates {
    double copy = 0;                                      // bytes per second, read and written
    double f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, f64 = 0; // FLOP per second of a matmul; 0 where it is not known
    double launch = 0;                                    // seconds of work that does nothing

    double matmul(const ct3d_problem &) const;
    double floor_seconds(const ct3d_problem &, double bytes, double flop) const;
};

// The copy measured now, or the recorded one if that is larger; the matmul measured now on the CPU, recorded on a GPU.
Rates measure_rates(Place);

// Seconds of one product of two square f32 matrices on the CPU, or of as much work in another form.
struct MatmulTime {
    double seconds, flop;
};
MatmulTime time_matmul();

} // namespace ct3d::engine
