// SPDX-License-Identifier: MIT
#include "commands.hpp"
#include "document.hpp"

#include <cstdio>

namespace ct3d::tool {
namespace {

constexpr int32_t backends[] = {CT3D_BACKEND_CPU, CT3D_BACKEND_CUDA, CT3D_BACKEND_HIP};

ct3d_backend_info backend_info(int32_t backend) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    engine::require(ct3d_get_backend_info(backend, &info), "ct3d_get_backend_info");
    return info;
}

ct3d_device_info device_info(int32_t backend, int32_t device) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    engine::require(ct3d_get_device_info(backend, device, &info), "ct3d_get_device_info");
    return info;
}

Json device_json(const ct3d_device_info &info) {
    return {{"device", info.device}, {"name", info.name},
            {"arch", info.arch},     {"compute_units", info.compute_units},
            {"memory", info.memory}, {"last_level_cache", info.last_level_cache}};
}

void print_json() {
    Json document = make_document({});
    document["backends"] = Json::array();
    for (const int32_t backend : backends) {
        const ct3d_backend_info info = backend_info(backend);
        Json json{{"name", info.name}, {"version", info.version}, {"reason", info.reason}, {"devices", Json::array()}};
        for (int32_t device = 0; device < info.device_count; ++device)
            json["devices"].push_back(device_json(device_info(backend, device)));
        document["backends"].push_back(std::move(json));
    }
    print(document);
}

void print_device(const ct3d_device_info &info) {
    constexpr double mebi = 1 << 20, gibi = 1 << 30;
    std::printf("  %d: %s, %s, %d compute units, %.1f GiB", info.device, info.name, info.arch, info.compute_units,
                static_cast<double>(info.memory) / gibi);
    if (info.last_level_cache != 0)
        std::printf(", last-level cache %.0f MiB", static_cast<double>(info.last_level_cache) / mebi);
    std::printf("\n");
}

void print_text() {
    std::printf("ct3d %s\n", ct3d_version_string());
    for (const int32_t backend : backends) {
        const ct3d_backend_info info = backend_info(backend);
        const char *const space = *info.version ? " " : "";
        if (info.device_count == 0) {
            std::printf("%s%s%s: none: %s\n", info.name, space, info.version, info.reason);
            continue;
        }
        std::printf("%s%s%s\n", info.name, space, info.version);
        for (int32_t device = 0; device < info.device_count; ++device)
            print_device(device_info(backend, device));
    }
}

} // namespace

int info(bool json) {
    if (json)
        print_json();
    else
        print_text();
    return all_passed;
}

} // namespace ct3d::tool
