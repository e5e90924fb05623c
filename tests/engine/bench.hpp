// SPDX-License-Identifier: MIT
// Times a case, beside the least time that the machine's copy and matmul rates allow.
#pragma once

#include "case.hpp"
#include "plan.hpp"
#include "rates.hpp"

#include <functional>
#include <optional>
#include <string>

namespace ct3d::engine {

struct BenchOptions {
    PlanRequest plan;
    double max_memory = 8e9; // bytes
    bool peer = false;
};

struct BenchResult {
    std::string skipped; // why nothing was timed; empty if it was
    std::string kernel;
    double seconds = 0; // median, cold cache
    double floor_seconds = 0;
    double flop = 0;  // 2 per product inside the input
    double bytes = 0; // of the tensors, each once
    std::optional<double> peer_seconds;
    std::string peer; // its best format, or why it has none
};

// Asked only for a place where a case is about to be timed.
using RateSource = std::function<const Rates &(Place)>;

BenchResult bench(const Case &, const BenchOptions &, const RateSource &);

} // namespace ct3d::engine
