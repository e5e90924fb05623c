// SPDX-License-Identifier: MIT
#include "rates.hpp"

#include "clock.hpp"
#include "device_memory.hpp"
#include "gpu.hpp"
#include "parallel.hpp"
#include "plan.hpp"
#include "recorded_rates.hpp"

#include <algorithm>
#include <cstring>

namespace ct3d::engine {
namespace {

constexpr int tries = 7;

double best_of_tries(Clock &clock, const Work &work) {
    double best = clock.seconds(work);
    for (int i = 1; i < tries; ++i)
        best = std::min(best, clock.seconds(work));
    return best;
}

double host_copy_rate(Place place) {
    constexpr uint64_t bytes = 256u << 20, chunk = 1u << 20;
    const Guarded from(place, bytes, 0, 0, 1), to(place, bytes, 0, 0, 2);
    const Work copy = [&] {
        parallel_for(bytes / chunk, bytes, [&](int64_t item, int) {
            const uint64_t begin = static_cast<uint64_t>(item) * chunk;
            std::memcpy(static_cast<uint8_t *>(to.device()) + begin, static_cast<uint8_t *>(from.device()) + begin,
                        chunk);
        });
    };
    return 2.0 * static_cast<double>(bytes) / best_of_tries(*make_clock(place), copy);
}

double device_copy_rate(Place place) {
    constexpr uint64_t bytes = uint64_t{2} << 30;
    const auto device = open_gpu(place);
    const DeviceMemory from(place, bytes), to(place, bytes);
    device->set(from.address(), 1, bytes);
    const std::unique_ptr<Clock> clock = make_clock(place);
    const double best = best_of_tries(*clock, [&] { device->copy(to.address(), from.address(), bytes); });
    return 2.0 * static_cast<double>(bytes) / best;
}

double host_matmul_rate() {
    MatmulTime best = time_matmul();
    for (int i = 1; i < tries; ++i)
        best.seconds = std::min(best.seconds, time_matmul().seconds);
    return best.flop / best.seconds;
}

} // namespace

double Rates::matmul(const ct3d_problem &p) const {
    switch (p.dtype) {
    case CT3D_F64:
        return f64;
    case CT3D_F16:
        return f16;
    case CT3D_BF16:
        return bf16;
    default:
        return p.math == CT3D_MATH_TF32 ? tf32 : f32;
    }
}

double Rates::floor_seconds(const ct3d_problem &p, double bytes, double flop) const {
    const double multiply = matmul(p) > 0 ? flop / matmul(p) : 0;
    return std::max({bytes / copy, multiply, launch});
}

Rates measure_rates(Place place) {
    if (place.backend == CT3D_BACKEND_CPU) {
        const double matmul = host_matmul_rate();
        return {host_copy_rate(place), matmul, matmul, matmul, matmul, matmul, 0};
    }
    Rates rates = recorded_rates(device_name(place));
    rates.copy = std::max(rates.copy, device_copy_rate(place));
    return rates;
}

} // namespace ct3d::engine
