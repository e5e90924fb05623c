// SPDX-License-Identifier: MIT
// The calls of a driver's functions: counted, observed, and made to fail as a test has asked for.
#pragma once

#pragma GCC visibility push(default)
#include "control.h"
#pragma GCC visibility pop

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace standin {

struct State {
    std::mutex mutex; // of all that a stand-in keeps
    standin_state seen{};
    std::map<const void *, size_t> allocations;
    long (*count_contexts)() = nullptr; // where there is a stack of contexts
    std::vector<const char *> calls;
    long first_failure = 0, failures = 0;
    const char *fail_function = nullptr;
    int failure = 0;
};

// Kept, since threads may run on while the process ends.
State &state();

// Counts the call; the result that it must give instead of taking place, 0: none. The caller holds the lock.
int told_to_fail(const char *function);

long environment(const char *name, long otherwise);

} // namespace standin
