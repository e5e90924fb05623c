// SPDX-License-Identifier: MIT
#include "tally.hpp"

namespace ct3d::engine {

void Tally::add(const Result &result) {
    if (result.status == Status::skipped) {
        ++skipped;
        return;
    }
    Count &count = kernels[result.kernel.empty() ? "(none)" : result.kernel];
    ++count.problems;
    count.passed += result.status == Status::passed;
}

int64_t Tally::problems() const {
    int64_t sum = 0;
    for (const auto &[kernel, count] : kernels)
        sum += count.problems;
    return sum;
}

int64_t Tally::passed() const {
    int64_t sum = 0;
    for (const auto &[kernel, count] : kernels)
        sum += count.passed;
    return sum;
}

} // namespace ct3d::engine
