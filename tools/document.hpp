// SPDX-License-Identifier: MIT
// The JSON document that every command writes: {version, device, date, cases}.
#pragma once

#include "jobs.hpp"

#include <nlohmann/json.hpp>

namespace ct3d::tool {

using Json = nlohmann::ordered_json;

// With an empty list of cases. The device is that of the first job.
Json make_document(const std::vector<Job> &);

// The job's name, line and selectors; `kernel` is the one that ran.
Json describe_job(const Job &, const std::string &kernel);

void print(const Json &);                               // to standard output
void write_file(const std::string &path, const Json &); // nothing if the path is empty

std::string backend_name(int32_t backend);

} // namespace ct3d::tool
