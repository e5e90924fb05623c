// SPDX-License-Identifier: MIT
// The clock of a GPU: events of its own around the work, which the host has enqueued long before they happen.
#include "clock.hpp"
#include "device_memory.hpp"
#include "gpu.hpp"

#include <algorithm>

namespace ct3d::engine {
namespace {

// Writing less is over before the host has enqueued the work, and its latency would be timed too.
constexpr uint64_t least_flush = 512u << 20;

class DeviceClock final : public Clock {
public:
    explicit DeviceClock(Place place)
        : device_(open_gpu(place)), timer_(device_->timer()),
          memory_(place, std::max(2 * last_level_cache(place), least_flush)) {}

    void flush_cache() override { device_->set(memory_.address(), ++value_, memory_.bytes()); }

    double seconds(const Work &work) override {
        timer_->begin();
        work();
        return timer_->end();
    }

private:
    const std::unique_ptr<const Gpu> device_;
    const std::unique_ptr<const GpuTimer> timer_;
    const DeviceMemory memory_;
    uint8_t value_ = 0;
};

} // namespace

std::unique_ptr<Clock> make_device_clock(Place place) { return std::make_unique<DeviceClock>(place); }

} // namespace ct3d::engine
