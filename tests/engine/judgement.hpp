// SPDX-License-Identifier: MIT
// The verdicts of one tensor's elements, gathered from several threads or from a device.
#pragma once

#include "device_params.hpp"
#include "parallel.hpp"
#include "runner.hpp"

#include <vector>

namespace ct3d::engine {

class Judgement {
public:
    Judgement(const char *tensor, const Rules &);

    void add(int worker, const Index &, const Exact &, double got);
    // Verdicts that were found elsewhere, with the index of the worst one.
    void add(const Verdicts &, const Index &);
    // Adds the counts, the worst element and, if there is one, the failure.
    void report(Result &) const;

private:
    struct alignas(64) Part { // of one worker
        int64_t checked = 0, wrong = 0;
        double worst_share = -1; // of the bound
        Element worst{};
        int64_t long_sums = 0;
        double mean_errors = 0; // summed, in units of 2^-24 M
    };

    const char *tensor_;
    Rules rules_;
    std::vector<Part> parts_;
};

} // namespace ct3d::engine
