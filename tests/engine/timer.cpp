// SPDX-License-Identifier: MIT
#include "timer.hpp"

#include "clock.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ct3d::engine {
namespace {

constexpr int warm_ups = 3;
constexpr size_t least_runs = 9, most_runs = 51;
constexpr double enough_seconds = 0.5; // of timed work; short works run more often than the least

class HostClock final : public Clock {
public:
    explicit HostClock(Place place) : place_(place), memory_(2 * last_level_cache(place)) {}

    void flush_cache() override {
        ++value_;
        constexpr uint64_t chunk = 1 << 20;
        const auto chunks = static_cast<int64_t>((memory_.size() + chunk - 1) / chunk);
        parallel_for(chunks, static_cast<double>(memory_.size()), [&](int64_t item, int) {
            const uint64_t begin = static_cast<uint64_t>(item) * chunk;
            std::memset(memory_.data() + begin, value_, std::min<uint64_t>(chunk, memory_.size() - begin));
        });
    }

    double seconds(const Work &work) override { return engine::seconds(place_, work); }

private:
    const Place place_;
    std::vector<uint8_t> memory_;
    uint8_t value_ = 0;
};

} // namespace

uint64_t last_level_cache(Place place) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    require(ct3d_get_device_info(place.backend, place.device, &info), "ct3d_get_device_info");
    constexpr uint64_t unknown = 64u << 20;
    return info.last_level_cache != 0 ? info.last_level_cache : unknown;
}

std::unique_ptr<Clock> make_clock(Place place) {
    if (place.backend == CT3D_BACKEND_CPU)
        return std::make_unique<HostClock>(place);
    return make_device_clock(place);
}

double seconds(Place place, const Work &work) {
    require(ct3d_synchronize(place.backend, place.device), "ct3d_synchronize");
    const auto begin = std::chrono::steady_clock::now();
    work();
    require(ct3d_synchronize(place.backend, place.device), "ct3d_synchronize");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<double> time_cold(Place place, const std::vector<Work> &works) {
    const std::unique_ptr<Clock> clock = make_clock(place);
    std::vector<std::vector<double>> times(works.size());
    for (const Work &work : works)
        for (int i = 0; i < warm_ups; ++i)
            work();
    double total = 0;
    for (size_t run = 0; run < least_runs || (run < most_runs && total < enough_seconds); ++run)
        for (size_t i = 0; i < works.size(); ++i) {
            clock->flush_cache();
            times[i].push_back(clock->seconds(works[i]));
            total += times[i].back();
        }
    std::vector<double> medians;
    for (const auto &each : times)
        medians.push_back(median(each));
    return medians;
}

} // namespace ct3d::engine
