// SPDX-License-Identifier: MIT
// Runs one case between guard bands and judges each output element.
#pragma once

#include "plan.hpp"
#include "references.hpp"

#include <functional>
#include <optional>
#include <string>

namespace ct3d::engine {

using Execute = std::function<ct3d_status(const ct3d_plan *, const ct3d_buffers *)>;

struct RunOptions {
    PlanRequest plan;
    uint64_t seed = 1;
    double max_memory = 8e9; // bytes: tensors, workspace and reference
    Execute execute = ct3d_execute;
    References *references = nullptr; // shared by runs one after another; null: each computes its own
};

enum class Status { passed, failed, skipped };

// The element that is worst against its bound.
struct Element {
    const char *tensor; // "y", "dx", "dw", "dbias"
    Index index;
    double expected, got, bound;
    int64_t products;
};

struct Result {
    Status status = Status::passed;
    std::string reason; // why it failed or was skipped, one line
    std::string kernel; // empty if there was no plan
    std::optional<Element> worst;
    int64_t checked = 0; // elements
    int64_t wrong = 0;
    bool sampled = false; // not every element was checked
};

Result run(const Case &, const RunOptions &);

const char *name(Status);
std::string describe(const Element &);

} // namespace ct3d::engine
