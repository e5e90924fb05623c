// SPDX-License-Identifier: MIT
#include "calls.hpp"

#include <cstdlib>
#include <cstring>

namespace standin {

State &state() {
    static State &only = *new State;
    return only;
}

int told_to_fail(const char *function) {
    State &s = state();
    s.calls.push_back(function);
    const long number = static_cast<long>(s.calls.size());
    const bool counted_out = number >= s.first_failure && number - s.first_failure < s.failures;
    if (!counted_out && !(s.fail_function && std::strcmp(s.fail_function, function) == 0))
        return 0;
    if (!s.seen.failed)
        s.seen.failed = function;
    return s.failure;
}

long environment(const char *name, long otherwise) {
    const char *const text = std::getenv(name);
    return text ? std::strtol(text, nullptr, 0) : otherwise;
}

} // namespace standin

using standin::state;

void standin_fail(long first, long count, int result) {
    const std::lock_guard lock(state().mutex);
    state().first_failure = first;
    state().failures = count;
    state().failure = result;
    state().calls.clear();
    state().seen = {};
}

void standin_fail_function(const char *name, int result) {
    const std::lock_guard lock(state().mutex);
    state().fail_function = name;
    state().failure = result;
}

const char *standin_call(long n) {
    const std::lock_guard lock(state().mutex);
    return n < static_cast<long>(state().calls.size()) ? state().calls[static_cast<size_t>(n)] : nullptr;
}

standin_state standin_observe() {
    const std::lock_guard lock(state().mutex);
    standin_state seen = state().seen;
    seen.calls = static_cast<long>(state().calls.size());
    seen.allocations = static_cast<long>(state().allocations.size());
    seen.contexts = state().count_contexts ? state().count_contexts() : 0;
    return seen;
}
