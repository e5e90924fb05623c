// SPDX-License-Identifier: MIT
#include "bench.hpp"

#include "commands.hpp"
#include "document.hpp"
#include "peer.hpp"
#include "progress.hpp"

#include <cstdio>
#include <functional>
#include <map>
#include <utility>

namespace ct3d::tool {
namespace {

using engine::BenchResult;

constexpr double milli = 1e3, micro = 1e6, giga = 1e9;

Json result_json(const Job &job, const BenchResult &r) {
    Json json = describe_job(job, r.kernel);
    if (!r.skipped.empty()) {
        json["skipped"] = r.skipped;
        return json;
    }
    json["time_ms"] = r.seconds * milli;
    json["floor_ms"] = r.floor_seconds * milli;
    json["flop"] = r.flop;
    json["bytes"] = r.bytes;
    if (r.peer_seconds) {
        json["peer_format"] = r.peer;
        json["peer_time_ms"] = *r.peer_seconds * milli;
        json["peer_ratio"] = *r.peer_seconds / r.seconds;
    } else if (!r.peer.empty()) {
        json["peer_refusal"] = r.peer;
    }
    return json;
}

void print_header(engine::Place place, const engine::Rates &rates, bool peer) {
    std::printf("copy %.1f GB/s", rates.copy / giga);
    if (place.backend == CT3D_BACKEND_CPU)
        std::printf(", matmul %.0f GFLOP/s", rates.f32 / giga);
    else if (rates.f32 > 0)
        std::printf(", matmul %.0f (f32) %.0f (tf32) %.0f (f16) %.0f (bf16) GFLOP/s, launch %.0f us", rates.f32 / giga,
                    rates.tf32 / giga, rates.f16 / giga, rates.bf16 / giga, rates.launch * micro);
    std::printf("\n%-20s %-14s %10s %9s %8s %7s%s\n", "case", "kernel", "ms", "GFLOP/s", "GB/s", "x floor",
                peer ? "  peer ms  peer/ct3d" : "");
}

// The name with the keys that are not in their default.
std::string label(const Job &job) {
    const std::string line = engine::to_line(job.problem);
    const size_t keys = line.find('=');
    return keys == std::string::npos ? job.problem.name : job.problem.name + line.substr(line.rfind(' ', keys));
}

void print_result(const Job &job, const BenchResult &r) {
    if (!r.skipped.empty()) {
        std::printf("skipped  %s  %s\n", arguments(job).c_str(), r.skipped.c_str());
        return;
    }
    std::printf("%-20s %-14s %10.3f %9.1f %8.2f %7.2f", label(job).c_str(), r.kernel.c_str(), r.seconds * milli,
                r.flop / r.seconds / giga, r.bytes / r.seconds / giga, r.seconds / r.floor_seconds);
    if (r.peer_seconds)
        std::printf(" %8.3f %9.2f  %s", *r.peer_seconds * milli, *r.peer_seconds / r.seconds, r.peer.c_str());
    else if (!r.peer.empty())
        std::printf("  no peer: %s", r.peer.c_str());
    std::printf("\n");
}

// Measures a backend's rates, and prints the header, when they are first asked for.
class RateTable {
public:
    RateTable(Progress &progress, bool peer) : progress_(progress), peer_(peer) {}

    const engine::Rates &operator()(engine::Place place) {
        const auto known = rates_.find(place.backend);
        if (known != rates_.end())
            return known->second;
        const engine::Rates &rates = rates_.emplace(place.backend, engine::measure_rates(place)).first->second;
        progress_.clear();
        print_header(place, rates, peer_);
        return rates;
    }

private:
    Progress &progress_;
    const bool peer_;
    std::map<int32_t, engine::Rates> rates_;
};

void check_peer(const std::string &peer) {
    if (!peer.empty() && !engine::have_peer())
        throw engine::UsageError("--peer: this build has no oneDNN");
}

} // namespace

int bench(const BenchOptions &options) {
    check_peer(options.peer);
    const std::vector<engine::Case> cases = make_cases(options.cases, 0);
    require_writable(options.json);
    const std::vector<Job> jobs = make_jobs(options.cases, cases);
    Json document = make_document(jobs.front().request.place);
    bool any = false;
    Progress progress(jobs.size());
    RateTable rates(progress, !options.peer.empty());
    for (const Job &job : jobs) {
        progress.next(job.problem.name);
        const engine::BenchOptions bench{job.request, options.max_memory_gb * giga, !options.peer.empty()};
        const BenchResult result = engine::bench(job.problem, bench, std::ref(rates));
        any |= result.skipped.empty();
        document["cases"].push_back(result_json(job, result));
        progress.clear();
        print_result(job, result);
        std::fflush(stdout);
    }
    write_file(options.json, document);
    return any ? all_passed : nothing_ran;
}

} // namespace ct3d::tool
