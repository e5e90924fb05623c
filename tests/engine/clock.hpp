// SPDX-License-Identifier: MIT
// What a time is taken with: a cache to be emptied before it, and a clock.
#pragma once

#include "timer.hpp"

#include <memory>

namespace ct3d::engine {

class Clock {
public:
    virtual ~Clock() = default;
    virtual void flush_cache() = 0; // writes memory that is larger than the last-level cache
    virtual double seconds(const Work &) = 0;
};

std::unique_ptr<Clock> make_clock(Place);
std::unique_ptr<Clock> make_device_clock(Place);

uint64_t last_level_cache(Place); // bytes; a guess where it is not known

} // namespace ct3d::engine
