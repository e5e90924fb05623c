// SPDX-License-Identifier: MIT
#include "commands.hpp"
#include "document.hpp"
#include "progress.hpp"
#include "tally.hpp"

#include <cstdio>

namespace ct3d::tool {
namespace {

using engine::Result;
using engine::Status;

Json element_json(const engine::Element &e) {
    return {{"tensor", e.tensor}, {"index", e.index}, {"expected", e.expected},
            {"got", e.got},       {"bound", e.bound}, {"products", e.products}};
}

Json result_json(const Job &job, const Result &result) {
    Json json = describe_job(job, result.kernel);
    json["status"] = engine::name(result.status);
    if (!result.reason.empty())
        json["reason"] = result.reason;
    json["checked"] = result.checked;
    json["wrong"] = result.wrong;
    json["sampled"] = result.sampled;
    if (result.worst)
        json["worst"] = element_json(*result.worst);
    return json;
}

void print_passed(const Job &job, const Result &result) {
    std::printf("passed   %s  [%s, %lld elements%s]\n", engine::to_line(job.problem).c_str(), result.kernel.c_str(),
                static_cast<long long>(result.checked), result.sampled ? " sampled" : "");
}

void print_skipped(const Job &job, const Result &result) {
    std::printf("skipped  %s  %s\n", arguments(job).c_str(), result.reason.c_str());
}

void print_failed(const Job &job, const Result &result, uint64_t seed) {
    std::printf("FAILED   ct3d check %s --seed %llu\n         %s%s%s\n", arguments(job).c_str(),
                static_cast<unsigned long long>(seed), result.kernel.c_str(), result.kernel.empty() ? "" : ": ",
                result.reason.c_str());
    if (result.worst)
        std::printf("         worst %s\n", engine::describe(*result.worst).c_str());
}

void print_tally(const engine::Tally &tally, uint64_t seed) {
    for (const auto &[kernel, count] : tally.kernels)
        std::printf("kernel %s: %lld problems, %lld passed\n", kernel.c_str(), static_cast<long long>(count.problems),
                    static_cast<long long>(count.passed));
    std::printf("%lld passed, %lld failed, %lld skipped (seed %llu)\n", static_cast<long long>(tally.passed()),
                static_cast<long long>(tally.failed()), static_cast<long long>(tally.skipped),
                static_cast<unsigned long long>(seed));
}

} // namespace

int check(const CheckOptions &options) {
    const std::vector<Job> jobs =
        make_jobs(options.cases, make_cases(options.cases, options.random_count, options.seed));
    Json document = make_document(jobs);
    document["seed"] = options.seed;
    engine::Tally tally;
    Progress progress(jobs.size());
    for (const Job &job : jobs) {
        progress.next(job.problem.name);
        engine::RunOptions run{job.request, options.seed, options.max_memory_gb * 1e9};
        const Result result = engine::run(job.problem, run);
        tally.add(result);
        document["cases"].push_back(result_json(job, result));
        progress.clear();
        if (result.status == Status::failed)
            print_failed(job, result, options.seed);
        else if (result.status == Status::skipped)
            print_skipped(job, result);
        else if (options.random_count == 0)
            print_passed(job, result);
        std::fflush(stdout);
    }
    print_tally(tally, options.seed);
    write_file(options.json, document);
    if (tally.failed() > 0)
        return some_failed;
    return tally.problems() > 0 ? all_passed : nothing_ran;
}

} // namespace ct3d::tool
