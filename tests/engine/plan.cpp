// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include "case.hpp"

#include <nlohmann/json.hpp>

namespace ct3d::engine {

Plan make_plan(const ct3d_problem &problem, const PlanRequest &request, ct3d_status &status) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.backend = request.place.backend;
    options.device = request.place.device;
    options.threads = request.threads;
    options.kernel = request.kernel.empty() ? nullptr : request.kernel.c_str();
    ct3d_plan *plan = nullptr;
    status = ct3d_create_plan(&plan, &problem, &options);
    return Plan(plan);
}

std::string describe(const ct3d_plan *plan, int32_t format) {
    size_t needed = 0;
    require(ct3d_describe_plan(plan, format, nullptr, 0, &needed), "ct3d_describe_plan");
    std::string text(needed, '\0');
    require(ct3d_describe_plan(plan, format, text.data(), text.size(), nullptr), "ct3d_describe_plan");
    text.resize(needed - 1);
    return text;
}

std::string kernel_name(const ct3d_plan *plan) {
    return nlohmann::json::parse(describe(plan, CT3D_DESCRIBE_JSON)).at("kernel").get<std::string>();
}

std::vector<std::string> kernel_names(const ct3d_problem &problem, Place place) {
    ct3d_status status;
    const Plan plan = make_plan(problem, {place, "", 0}, status);
    std::vector<std::string> names;
    if (!plan)
        return names;
    const auto report = nlohmann::json::parse(describe(plan.get(), CT3D_DESCRIBE_JSON));
    names.push_back(report.at("kernel").get<std::string>());
    for (const auto &candidate : report.at("passed_over")) {
        const auto name = candidate.at("kernel").get<std::string>();
        if (make_plan(problem, {place, name, 0}, status))
            names.push_back(name);
    }
    return names;
}

uint64_t workspace_size(const ct3d_plan *plan) {
    uint64_t bytes = 0;
    require(ct3d_plan_workspace_size(plan, &bytes), "ct3d_plan_workspace_size");
    return bytes;
}

int32_t backend_of(const std::string &name) {
    for (const int32_t backend : {CT3D_BACKEND_CPU, CT3D_BACKEND_CUDA, CT3D_BACKEND_HIP}) {
        ct3d_backend_info info;
        ct3d_backend_info_init(&info, sizeof info);
        require(ct3d_get_backend_info(backend, &info), "ct3d_get_backend_info");
        if (name == info.name)
            return backend;
    }
    throw UsageError("CT3D_INVALID_ARGUMENT: backend: \"" + name + "\" is not one of cpu, cuda, hip");
}

std::string device_name(Place place) {
    ct3d_device_info device;
    ct3d_device_info_init(&device, sizeof device);
    require(ct3d_get_device_info(place.backend, place.device, &device), "ct3d_get_device_info");
    return device.name;
}

} // namespace ct3d::engine
