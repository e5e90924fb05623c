// SPDX-License-Identifier: MIT
#include "jobs.hpp"

#include "document.hpp"
#include "random_cases.hpp"

namespace ct3d::tool {
namespace {

std::vector<engine::Place> places(const std::string &backend) {
    if (backend != "all")
        return {{engine::backend_of(backend), 0}};
    return {{CT3D_BACKEND_CPU, 0}, {CT3D_BACKEND_CUDA, 0}, {CT3D_BACKEND_HIP, 0}};
}

std::vector<std::string> kernels(const std::string &kernel, const engine::Case &c, engine::Place place) {
    if (kernel != "all")
        return {kernel};
    std::vector<std::string> names = engine::kernel_names(c.problem, place);
    if (names.empty())
        names.emplace_back(); // to be reported as unsupported
    return names;
}

} // namespace

std::vector<engine::Case> make_cases(const CaseOptions &options, uint64_t random_count, uint64_t seed) {
    std::vector<engine::Case> given;
    for (const std::string &line : options.lines)
        given.push_back(engine::parse_line(line));
    for (const std::string &file : options.files)
        for (engine::Case &c : engine::parse_file(file))
            given.push_back(std::move(c));
    for (uint64_t i = 0; i < random_count; ++i)
        given.push_back(engine::random_case(seed, i));
    if (given.empty())
        throw engine::UsageError("no case is given");

    std::vector<engine::Case> cases;
    for (const engine::Case &c : given)
        for (engine::Case &each : engine::expand(c, options.selectors)) {
            engine::validate(each);
            cases.push_back(std::move(each));
        }
    return cases;
}

std::vector<Job> make_jobs(const CaseOptions &options, const std::vector<engine::Case> &cases) {
    std::vector<Job> jobs;
    for (const engine::Place place : places(options.backend))
        for (const engine::Case &c : cases)
            for (const std::string &kernel : kernels(options.kernel, c, place))
                jobs.push_back({c, {place, kernel, 0}});
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
