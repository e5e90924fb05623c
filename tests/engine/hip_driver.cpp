// SPDX-License-Identifier: MIT
#include "hip_driver.hpp"

#include "driver_call.hpp"

namespace ct3d::engine {
namespace {

// The one that ct3d has opened: the process has one state of it.
Handle opened() {
    for (const char *name : {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
        if (void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
            return library;
    refuse("libamdhip64.so", "is not opened");
}

const DriverCalls &driver() {
    static const DriverCalls calls(opened());
    return calls;
}

constexpr int device_to_device = 3;

class HipTimer final : public GpuTimer {
public:
    HipTimer() {
        driver()("hipEventCreate", &begin_);
        driver()("hipEventCreate", &end_);
    }
    ~HipTimer() override {
        for (const Handle event : {begin_, end_})
            driver().or_print("hipEventDestroy", event);
    }

    void begin() const override { driver()("hipEventRecord", begin_, Handle{}); }

    double end() const override {
        driver()("hipEventRecord", end_, Handle{});
        driver()("hipEventSynchronize", end_);
        float milliseconds = 0;
        driver()("hipEventElapsedTime", &milliseconds, begin_, end_);
        return static_cast<double>(milliseconds) * 1e-3;
    }

private:
    Handle begin_ = nullptr, end_ = nullptr;
};

} // namespace

HipDevice::HipDevice(int32_t device) { driver()("hipSetDevice", device); }

void HipDevice::set(void *memory, uint8_t value, uint64_t bytes) const {
    driver()("hipMemsetAsync", memory, int{value}, static_cast<size_t>(bytes), Handle{});
}

void HipDevice::copy(void *destination, const void *source, uint64_t bytes) const {
    driver()("hipMemcpyAsync", destination, source, static_cast<size_t>(bytes), device_to_device, Handle{});
}

std::unique_ptr<GpuTimer> HipDevice::timer() const { return std::make_unique<HipTimer>(); }

} // namespace ct3d::engine
