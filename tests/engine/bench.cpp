// SPDX-License-Identifier: MIT
#include "bench.hpp"

#include "peer.hpp"
#include "tensors.hpp"
#include "timer.hpp"

#include <algorithm>

namespace ct3d::engine {
namespace {

constexpr uint64_t fill_seed = 1;

// Formats much slower than the fastest are left out of the long measurement.
std::vector<Peer> contenders(Place place, const std::vector<Peer> &peers) {
    constexpr double close = 1.5;
    std::vector<double> times;
    for (const Peer &peer : peers)
        times.push_back(std::min(seconds(place, peer.run), seconds(place, peer.run)));
    std::vector<Peer> kept;
    for (size_t i = 0; i < peers.size(); ++i)
        if (times[i] <= close * *std::min_element(times.begin(), times.end()))
            kept.push_back(peers[i]);
    return kept;
}

void measure(BenchResult &result, const Case &c, const BenchOptions &options, const ct3d_plan *plan) {
    const Place place = options.plan.place;
    const auto filled = place.backend == CT3D_BACKEND_CPU ? Tensors::Filled::on_host : Tensors::Filled::on_device;
    const Tensors tensors(c, place, fill_seed, workspace_size(plan), filled);
    const ct3d_buffers buffers = tensors.buffers();
    std::vector<Work> works{[&] { require(ct3d_execute(plan, &buffers), "ct3d_execute"); }};
    std::vector<Peer> peers;
    if (options.peer && place.backend == CT3D_BACKEND_CPU)
        peers = contenders(place, make_peers(c.problem, buffers, result.peer));
    for (const Peer &peer : peers)
        works.push_back(peer.run);
    const std::vector<double> times = time_cold(place, works);
    result.seconds = times[0];
    if (!peers.empty()) {
        const auto best = std::min_element(times.begin() + 1, times.end());
        result.peer_seconds = *best;
        result.peer = peers[static_cast<size_t>(best - times.begin()) - 1].format;
    }
}

} // namespace

BenchResult bench(const Case &c, const BenchOptions &options, const RateSource &rates_of) try {
    BenchResult result;
    ct3d_status status;
    const Plan plan = make_plan(c.problem, options.plan, status);
    if (status == CT3D_UNSUPPORTED) {
        result.skipped = ct3d_last_error();
        return result;
    }
    require(status, "ct3d_create_plan");
    result.kernel = kernel_name(plan.get());
    result.bytes = tensor_bytes(c.problem);
    if (result.bytes + static_cast<double>(workspace_size(plan.get())) > options.max_memory) {
        result.skipped = "needs more memory than the limit";
        return result;
    }
    const Rates &rates = rates_of(options.plan.place);
    result.flop = 2 * products(c.problem);
    result.floor_seconds = rates.floor_seconds(c.problem, result.bytes, result.flop);
    measure(result, c, options, plan.get());
    return result;
} catch (const std::runtime_error &error) {
    BenchResult result;
    result.skipped = error.what();
    return result;
}

} // namespace ct3d::engine
