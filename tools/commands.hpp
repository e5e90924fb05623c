// SPDX-License-Identifier: MIT
// The commands of the command line, with their arguments.
#pragma once

#include "jobs.hpp"

#include <string>

namespace ct3d::tool {

// Exit statuses.
inline constexpr int all_passed = 0, some_failed = 1, bad_usage = 2, nothing_ran = 77;

struct CheckOptions {
    CaseOptions cases;
    uint64_t random_count = 0;
    uint64_t seed = 1;
    double max_memory_gb = 8;
    std::string json; // a file; empty for none
};

struct BenchOptions {
    CaseOptions cases;
    std::string peer;
    double max_memory_gb = 8;
    std::string json;
};

int info(bool json);
int plan(const CaseOptions &, bool json);
int check(const CheckOptions &);
int bench(const BenchOptions &);

} // namespace ct3d::tool
