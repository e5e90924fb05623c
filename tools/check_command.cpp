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

void print_result(const CheckOptions &options, const Job &job, const Result &result) {
    if (result.status == Status::failed)
        print_failed(job, result, options.seed);
    else if (result.status == Status::skipped)
        print_skipped(job, result);
    else if (options.random_count == 0)
        print_passed(job, result);
    std::fflush(stdout);
}

// Runs cases; collects what comes of them.
class Check {
public:
    Check(const CheckOptions &options, size_t cases)
        : options_(options), document_(make_document(places(options.cases).front())), progress_(cases) {
        document_["seed"] = options.seed;
    }

    void add(engine::Place place, const std::vector<engine::Case> &cases) {
        progress_.next(cases.front().name);
        for (const engine::Case &c : cases)
            for (const Job &job : make_jobs(options_.cases, place, c))
                run(job);
    }

    const engine::Tally &tally() const { return tally_; }
    const Json &document() const { return document_; }

private:
    void run(const Job &job) {
        progress_.show();
        const engine::RunOptions run{job.request, options_.seed, options_.max_memory_gb * 1e9, ct3d_execute,
                                     &references_};
        const Result result = engine::run(job.problem, run);
        tally_.add(result);
        if (!options_.json.empty())
            document_["cases"].push_back(result_json(job, result));
        progress_.clear();
        print_result(options_, job, result);
    }

    const CheckOptions &options_;
    Json document_;
    engine::References references_;
    engine::Tally tally_;
    Progress progress_;
};

} // namespace

int check(const CheckOptions &options) {
    const std::vector<engine::Case> given = make_cases(options.cases, options.random_count);
    require_writable(options.json);
    const std::vector<engine::Place> all_places = places(options.cases);
    Check check(options, all_places.size() * (given.size() + options.random_count));
    for (const engine::Place place : all_places) {
        for (const engine::Case &c : given)
            check.add(place, {c});
        for (uint64_t i = 0; i < options.random_count; ++i) // one by one: a list of all might not fit
            check.add(place, make_random_cases(options.cases, options.seed, i));
    }
    const engine::Tally &tally = check.tally();
    print_tally(tally, options.seed);
    write_file(options.json, check.document());
    if (tally.failed() > 0)
        return some_failed;
    return tally.problems() > 0 ? all_passed : nothing_ran;
}

} // namespace ct3d::tool
