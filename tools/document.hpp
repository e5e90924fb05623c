// SPDX-License-Identifier: MIT
// The JSON document that every command writes: {version, device, date, cases}.
#pragma once

#include "jobs.hpp"

#include <nlohmann/json.hpp>

namespace ct3d::tool {

using Json = nlohmann::ordered_json;

// With an empty list of cases. The place is that of the first case.
Json make_document(engine::Place);

// The job's name, line and selectors; `kernel` is the one that ran.
Json describe_job(const Job &, const std::string &kernel);

void print(const Json &); // to standard output

// Neither does anything if the path is empty; they throw UsageError.
void require_writable(const std::string &path); // leaves what the file holds
void write_file(const std::string &path, const Json &);

std::string backend_name(int32_t backend);

} // namespace ct3d::tool
