// SPDX-License-Identifier: MIT
// Many cases run by one suite: failures and skips are printed with all that reproduces them, the rest is counted.
#pragma once

#include "runner.hpp"
#include "tally.hpp"

#include <string>
#include <vector>

namespace ct3d::tests {

class CaseRuns {
public:
    explicit CaseRuns(uint64_t seed) : seed_(seed) {}

    // An empty kernel is the plan's own choice.
    engine::Result run(const engine::Case &, const std::string &kernel = "");

    const engine::Tally &tally() const { return tally_; }

    // Prints the counts; fails the calling test if a case failed or none ran.
    void finish() const;

private:
    uint64_t seed_;
    engine::References references_;
    engine::Tally tally_;
};

// Device 0 of CT3D_BACKEND, or of the CPU.
engine::Place tested_place();

// The operations that the backend has.
std::vector<const char *> tested_ops();

// The kernels that the backend has in this build.
std::vector<std::string> all_kernels();

// Whether the environment asks for the full matrix.
bool full_matrix();

// The memory that one case may take, in bytes: CT3D_TEST_MEMORY in GB, or 8.
double memory_limit();

} // namespace ct3d::tests
