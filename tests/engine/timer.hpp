// SPDX-License-Identifier: MIT
// Wall-clock times of work on a device whose caches hold nothing of it.
#pragma once

#include "guarded.hpp"

#include <functional>
#include <vector>

namespace ct3d::engine {

// Memory larger than the last-level cache; writing it pushes everything else out.
class CacheFlush {
public:
    explicit CacheFlush(Place);
    void operator()();

private:
    Place place_;
    Guarded memory_;
    uint8_t value_ = 0;
};

using Work = std::function<void()>;

// Seconds of one call, the device idle before and after.
double seconds(Place, const Work &);

double median(std::vector<double>);

// The median time of each work with a cold cache, after warm-up runs of each. The works take turns, so that what
// disturbs the machine disturbs them alike.
std::vector<double> time_cold(Place, const std::vector<Work> &);

} // namespace ct3d::engine
