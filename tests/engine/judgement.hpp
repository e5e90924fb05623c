// SPDX-License-Identifier: MIT
// The verdicts of one tensor's elements, gathered by several threads.
#pragma once

#include "parallel.hpp"
#include "runner.hpp"

#include <vector>

namespace ct3d::engine {

class Judgement {
public:
    Judgement(const char *tensor, const Rules &);

    void add(int worker, const Index &, const Exact &, double got);
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

// Calls visit(index, worker) for every element, rows in parallel; `work` as in parallel_for().
template <class Visit> void for_each_element(const Index &shape, double work, Visit &&visit) {
    const int64_t rows = shape[0] * shape[1] * shape[2] * shape[3];
    parallel_for(shape[4] > 0 ? rows : 0, work, [&](int64_t row, int worker) {
        Index index;
        index[3] = row % shape[3];
        index[2] = row / shape[3] % shape[2];
        index[1] = row / (shape[3] * shape[2]) % shape[1];
        index[0] = row / (shape[3] * shape[2] * shape[1]);
        for (index[4] = 0; index[4] < shape[4]; ++index[4])
            visit(index, worker);
    });
}

} // namespace ct3d::engine
