// SPDX-License-Identifier: MIT
#include "rates.hpp"

#include "parallel.hpp"
#include "timer.hpp"

#include <algorithm>
#include <cstring>

namespace ct3d::engine {
namespace {

constexpr int tries = 7;

double copy_rate(Place place) {
    constexpr uint64_t bytes = 256u << 20, chunk = 1u << 20;
    const Guarded from(place, bytes, 0, 0, 1), to(place, bytes, 0, 0, 2);
    const Work on_host = [&] {
        parallel_for(bytes / chunk, bytes, [&](int64_t item, int) {
            const uint64_t begin = static_cast<uint64_t>(item) * chunk;
            std::memcpy(static_cast<uint8_t *>(to.device()) + begin, static_cast<uint8_t *>(from.device()) + begin,
                        chunk);
        });
    };
    const Work on_device = [&] {
        require(ct3d_copy(place.backend, place.device, to.device(), from.device(), bytes), "ct3d_copy");
    };
    double best = seconds(place, place.backend == CT3D_BACKEND_CPU ? on_host : on_device);
    for (int i = 1; i < tries; ++i)
        best = std::min(best, seconds(place, place.backend == CT3D_BACKEND_CPU ? on_host : on_device));
    return 2.0 * static_cast<double>(bytes) / best;
}

double matmul_rate() {
    MatmulTime best = time_matmul();
    for (int i = 1; i < tries; ++i)
        best.seconds = std::min(best.seconds, time_matmul().seconds);
    return best.flop / best.seconds;
}

} // namespace

Rates measure_rates(Place place) { return {copy_rate(place), place.backend == CT3D_BACKEND_CPU ? matmul_rate() : 0.0}; }

} // namespace ct3d::engine
