// SPDX-License-Identifier: MIT
#include "jobs.hpp"

#include "document.hpp"
#include "dtype.hpp"
#include "random_cases.hpp"

#include <cstdlib>

namespace ct3d::tool {
namespace {

std::vector<std::string> kernels(const std::string &kernel, const engine::Case &c, engine::Place place) {
    if (kernel != "all")
        return {kernel};
    unsetenv("CT3D_KERNEL"); // would leave that kernel only
    std::vector<std::string> names = engine::kernel_names(c.problem, place);
    if (names.empty())
        names.emplace_back(); // to be reported as unsupported
    return names;
}

std::vector<engine::Case> given_cases(const CaseOptions &options) {
    std::vector<engine::Case> given;
    for (const std::string &line : options.lines)
        given.push_back(engine::parse_line(line));
    for (const std::string &file : options.files)
        for (engine::Case &c : engine::parse_file(file))
            given.push_back(std::move(c));
    return given;
}

} // namespace

std::vector<engine::Place> places(const CaseOptions &options) {
    if (options.backend != "all")
        return {{engine::backend_of(options.backend), 0}};
    return {{CT3D_BACKEND_CPU, 0}, {CT3D_BACKEND_CUDA, 0}, {CT3D_BACKEND_HIP, 0}};
}

std::vector<engine::Case> make_cases(const CaseOptions &options, uint64_t random_count) {
    std::vector<engine::Case> cases;
    for (const engine::Case &c : given_cases(options))
        for (engine::Case &each : engine::expand(c, options.selectors)) {
            engine::validate(each);
            cases.push_back(std::move(each));
        }
    if (cases.empty() && random_count == 0)
        throw engine::UsageError("no case is given");
    return cases;
}

std::vector<engine::Case> make_random_cases(const CaseOptions &options, uint64_t seed, uint64_t index) {
    std::vector<engine::Case> cases = engine::expand(engine::random_case(seed, index), options.selectors);
    for (engine::Case &c : cases)
        c.offset -= c.offset % engine::element_size(c.problem.dtype); // drawn for another type
    return cases;
}

std::vector<Job> make_jobs(const CaseOptions &options, engine::Place place, const engine::Case &c) {
    std::vector<Job> jobs;
    for (const std::string &kernel : kernels(options.kernel, c, place))
        jobs.push_back({c, {place, kernel, 0}});
    return jobs;
}

std::vector<Job> make_jobs(const CaseOptions &options, const std::vector<engine::Case> &cases) {
    std::vector<Job> jobs;
    for (const engine::Place place : places(options))
        for (const engine::Case &c : cases)
            for (Job &job : make_jobs(options, place, c))
                jobs.push_back(std::move(job));
    return jobs;
}

std::string arguments(const Job &job) {
    std::string text(1, '"');
    text += engine::to_line(job.problem);
    text += '"';
    if (job.request.place.backend != CT3D_BACKEND_CPU)
        text += " --backend " + backend_name(job.request.place.backend);
    if (!job.request.kernel.empty())
        text += " --kernel " + job.request.kernel;
    return text;
}

} // namespace ct3d::tool
