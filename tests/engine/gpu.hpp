// SPDX-License-Identifier: MIT
// A GPU's driver as the engine needs it beside ct3d, whoever made it.
#pragma once

#include "guarded.hpp"

#include <cstdint>
#include <memory>

namespace ct3d::engine {

// Seconds between two points of the default stream.
class GpuTimer {
public:
    virtual ~GpuTimer() = default;
    virtual void begin() const = 0;
    virtual double end() const = 0; // waits for it
};

// Work goes to the default stream, as that of a plan whose buffers name no stream.
class Gpu {
public:
    virtual ~Gpu() = default;

    // Only enqueued.
    virtual void set(void *memory, uint8_t value, uint64_t bytes) const = 0;
    virtual void copy(void *destination, const void *source, uint64_t bytes) const = 0; // within the device

    virtual std::unique_ptr<GpuTimer> timer() const = 0;
};

// Throws std::runtime_error where there is no driver, or a call fails.
std::unique_ptr<const Gpu> open_gpu(Place);

} // namespace ct3d::engine
