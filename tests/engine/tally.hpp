// SPDX-License-Identifier: MIT
// Problems and passes, counted per kernel.
#pragma once

#include "runner.hpp"

#include <map>

namespace ct3d::engine {

struct Count {
    int64_t problems = 0, passed = 0;
};

struct Tally {
    std::map<std::string, Count> kernels;
    int64_t skipped = 0;

    void add(const Result &);
    int64_t problems() const;
    int64_t passed() const;
    int64_t failed() const { return problems() - passed(); }
};

} // namespace ct3d::engine
