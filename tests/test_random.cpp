// SPDX-License-Identifier: MIT
// Random legal problems, each kernel its share.
#include "case_runs.hpp"
#include "plan.hpp"
#include "random_cases.hpp"
#include "support.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace {

using ct3d::engine::Case;
using ct3d::engine::Status;
using ct3d::tests::CaseRuns;

// CT3D_TEST_RANDOM: the number of problems, for builds that run slowly.
int64_t problems_wanted() {
    const char *text = std::getenv("CT3D_TEST_RANDOM");
    return text ? std::strtoll(text, nullptr, 10) : 2000;
}

// A channel count of a group that fills no vector to its end.
bool has_channel_tail(const Case &c) {
    const ct3d_problem &p = c.problem;
    const int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    return in % 16 != 0 || out % 16 != 0;
}

struct Share {
    int64_t problems = 0, tails = 0;

    // 200 and 50 of the 2000 problems.
    bool enough() const { return problems >= problems_wanted() / 10 && tails >= problems_wanted() / 40; }
};
using Shares = std::map<std::string, Share>;

// Of the kernels that take the case, the one that has had the fewest; empty where `scarce` and all had enough.
std::string poorest_kernel(const Case &c, const Shares &shares, bool scarce) {
    std::string poorest;
    for (const std::string &kernel : ct3d::engine::kernel_names(c.problem, ct3d::tests::tested_place())) {
        const Share &share = shares.at(kernel);
        if (scarce && share.enough())
            continue;
        if (poorest.empty() || share.problems < shares.at(poorest).problems)
            poorest = kernel;
    }
    return poorest;
}

bool any_scarce(const Shares &shares) {
    return std::any_of(shares.begin(), shares.end(), [](const auto &share) { return !share.second.enough(); });
}

Case draw(uint64_t seed, uint64_t index) {
    Case c = ct3d::engine::random_case(seed, index);
    if (const auto ops = ct3d::tests::tested_ops(); ops.size() == 1)
        ct3d::engine::set_key(c, "op", ops.front());
    return c;
}

void count(Shares &shares, const Case &c, const ct3d::engine::Result &result) {
    if (result.status == Status::skipped || result.kernel.empty())
        return;
    ++shares.at(result.kernel).problems;
    shares.at(result.kernel).tails += has_channel_tail(c);
}

void random_problems_on_every_kernel(void **) {
    const uint64_t seed = test_seed();
    CaseRuns runs(seed);
    Shares shares;
    for (const std::string &kernel : ct3d::tests::all_kernels())
        shares[kernel] = {};
    const int64_t wanted = problems_wanted();
    for (uint64_t i = 0; runs.tally().problems() < wanted; ++i) {
        const Case c = draw(seed, i);
        // The plan's own choice for every second problem.
        count(shares, c, runs.run(c, i % 2 ? poorest_kernel(c, shares, false) : ""));
    }
    // What only a few problems suit gets more of those.
    for (uint64_t i = 1000000; i < 1010000 && any_scarce(shares); ++i)
        if (const Case c = draw(seed, i); !poorest_kernel(c, shares, true).empty())
            count(shares, c, runs.run(c, poorest_kernel(c, shares, true)));
    runs.finish();
    for (const auto &[kernel, share] : shares) {
        print_message("kernel %s: %lld problems, %lld with channel tails\n", kernel.c_str(),
                      static_cast<long long>(share.problems), static_cast<long long>(share.tails));
        assert_true(share.enough());
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_on_every_kernel),
    };
    return cmocka_run_group_tests_name("random", tests, nullptr, nullptr);
}
