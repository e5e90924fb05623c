// SPDX-License-Identifier: MIT
// Times of work on a device whose caches hold nothing of it: wall clock on the CPU, events of the device on a GPU.
#pragma once

#include "guarded.hpp"

#include <functional>
#include <vector>

namespace ct3d::engine {

using Work = std::function<void()>;

// Seconds of one call, the device idle before and after.
double seconds(Place, const Work &);

double median(std::vector<double>);

// The median time of each work with a cold cache, after warm-up runs of each. The works take turns, so that what
// disturbs the machine disturbs them alike. On a GPU they put their work on the legacy default stream.
std::vector<double> time_cold(Place, const std::vector<Work> &);

} // namespace ct3d::engine
