// SPDX-License-Identifier: MIT
#include "timer.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ct3d::engine {
namespace {

constexpr int warm_ups = 3;
constexpr size_t least_runs = 9, most_runs = 51;
constexpr double enough_seconds = 0.5; // of timed work; short works run more often than the least

uint64_t flush_bytes(Place place) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    require(ct3d_get_device_info(place.backend, place.device, &info), "ct3d_get_device_info");
    constexpr uint64_t unknown = 64u << 20;
    return 2 * (info.last_level_cache != 0 ? info.last_level_cache : unknown);
}

} // namespace

CacheFlush::CacheFlush(Place place) : place_(place), memory_(place, flush_bytes(place), 0, 0, 0) {}

void CacheFlush::operator()() {
    ++value_;
    constexpr uint64_t chunk = 1 << 20;
    parallel_for(static_cast<int64_t>((memory_.bytes() + chunk - 1) / chunk), static_cast<double>(memory_.bytes()),
                 [&](int64_t item, int) {
                     const uint64_t begin = static_cast<uint64_t>(item) * chunk;
                     std::memset(static_cast<uint8_t *>(memory_.host()) + begin, value_,
                                 std::min(chunk, memory_.bytes() - begin));
                 });
    memory_.upload();
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
    CacheFlush flush(place);
    std::vector<std::vector<double>> times(works.size());
    for (const Work &work : works)
        for (int i = 0; i < warm_ups; ++i)
            work();
    double total = 0;
    for (size_t run = 0; run < least_runs || (run < most_runs && total < enough_seconds); ++run)
        for (size_t i = 0; i < works.size(); ++i) {
            flush();
            times[i].push_back(seconds(place, works[i]));
            total += times[i].back();
        }
    std::vector<double> medians;
    for (const auto &each : times)
        medians.push_back(median(each));
    return medians;
}

} // namespace ct3d::engine
