// SPDX-License-Identifier: MIT
#include "document.hpp"

#include "values.hpp"

#include <cstdio>
#include <ctime>
#include <fstream>

namespace ct3d::tool {
namespace {

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string device_of(engine::Place place) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    return ct3d_get_device_info(place.backend, place.device, &info) == CT3D_SUCCESS ? info.name : "";
}

// Bytes of a name that are not UTF-8 become U+FFFD.
std::string text(const Json &document) { return document.dump(2, ' ', false, Json::error_handler_t::replace); }

[[noreturn]] void refuse(const std::string &path) { throw engine::UsageError(path + ": cannot be written"); }

} // namespace

Json make_document(engine::Place place) {
    return {{"version", ct3d_version_string()},
            {"device", device_of(place)},
            {"date", utc_now()},
            {"cases", Json::array()}};
}

Json describe_job(const Job &job, const std::string &kernel) {
    Json json{{"name", job.problem.name},
              {"line", engine::to_line(job.problem)},
              {"backend", backend_name(job.request.place.backend)}};
    for (const engine::Key &key : engine::keys())
        json[key.name] = engine::key_value_name(job.problem, key.name);
    json["kernel"] = kernel;
    return json;
}

void print(const Json &document) { std::printf("%s\n", text(document).c_str()); }

void require_writable(const std::string &path) {
    if (!path.empty() && !std::ofstream(path, std::ios::app))
        refuse(path);
}

void write_file(const std::string &path, const Json &document) {
    if (path.empty())
        return;
    std::ofstream file(path);
    file << text(document) << '\n';
    if (!file.flush())
        refuse(path);
}

std::string backend_name(int32_t backend) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    engine::require(ct3d_get_backend_info(backend, &info), "ct3d_get_backend_info");
    return info.name;
}

} // namespace ct3d::tool
