// SPDX-License-Identifier: MIT
#include "commands.hpp"
#include "document.hpp"

#include <cstdio>

namespace ct3d::tool {
namespace {

// Adds a job to the document or prints it; false if there is no plan for it.
bool report_job(const Job &job, Json *document) {
    ct3d_status status;
    const engine::Plan plan = engine::make_plan(job.problem.problem, job.request, status);
    const std::string refusal = plan ? "" : std::string(ct3d_status_string(status)) + ": " + ct3d_last_error();
    if (document == nullptr) {
        std::printf("%s\n%s\n", engine::to_line(job.problem).c_str(),
                    plan ? engine::describe(plan.get(), CT3D_DESCRIBE_TEXT).c_str() : refusal.c_str());
        return plan != nullptr;
    }
    Json json = describe_job(job, plan ? engine::kernel_name(plan.get()) : "");
    if (plan)
        json["plan"] = Json::parse(engine::describe(plan.get(), CT3D_DESCRIBE_JSON));
    else
        json["refusal"] = refusal;
    (*document)["cases"].push_back(std::move(json));
    return plan != nullptr;
}

} // namespace

int plan(const CaseOptions &options, bool json) {
    const std::vector<Job> jobs = make_jobs(options, make_cases(options, 0));
    Json document = make_document(jobs.front().request.place);
    bool any = false;
    for (const Job &job : jobs)
        any |= report_job(job, json ? &document : nullptr);
    if (json)
        print(document);
    return any ? all_passed : nothing_ran;
}

} // namespace ct3d::tool
