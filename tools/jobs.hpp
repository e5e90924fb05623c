// SPDX-License-Identifier: MIT
// What the arguments ask to be run: cases, each on a place with a kernel.
#pragma once

#include "plan.hpp"
#include "selector.hpp"

#include <string>
#include <vector>

namespace ct3d::tool {

struct CaseOptions {
    std::vector<std::string> lines;
    std::vector<std::string> files;
    engine::Selectors selectors;
    std::string backend = "cpu";
    std::string kernel; // empty: the plan's own choice; "all": each that takes the problem
};

struct Job {
    engine::Case problem;
    engine::PlanRequest request;
};

// Of the selected backends; at least one.
std::vector<engine::Place> places(const CaseOptions &);

// The cases of lines and files, each for every selected value. Throws UsageError for the first that is not legal, and
// if there is none, of these or at random.
std::vector<engine::Case> make_cases(const CaseOptions &, uint64_t random_count);

// One random case for every selected value.
std::vector<engine::Case> make_random_cases(const CaseOptions &, uint64_t seed, uint64_t index);

// The case with every selected kernel; each case on every selected backend too.
std::vector<Job> make_jobs(const CaseOptions &, engine::Place, const engine::Case &);
std::vector<Job> make_jobs(const CaseOptions &, const std::vector<engine::Case> &);

// How a person repeats a job: its line and the options that are not part of it.
std::string arguments(const Job &);

} // namespace ct3d::tool
