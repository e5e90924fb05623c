// SPDX-License-Identifier: MIT
#include "driver_state.hpp"

#include <cstdlib>
#include <cstring>

namespace standin {

Driver &driver() {
    static Driver &only = *new Driver;
    return only;
}

std::vector<CUcontext> &context_stack() {
    thread_local std::vector<CUcontext> stack;
    return stack;
}

long environment(const char *name, long otherwise) {
    const char *const text = std::getenv(name);
    return text ? std::strtol(text, nullptr, 0) : otherwise;
}

CUresult refuse(const char *function, Needs needs) {
    Driver &d = driver();
    const std::lock_guard lock(d.mutex);
    d.calls.push_back(function);
    const long number = static_cast<long>(d.calls.size());
    const bool counted_out = number >= d.first_failure && number - d.first_failure < d.failures;
    if (counted_out || (d.fail_function && std::strcmp(d.fail_function, function) == 0)) {
        if (!d.seen.failed)
            d.seen.failed = function;
        return static_cast<CUresult>(d.failure);
    }
    if (needs != Needs::nothing && !d.initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (needs >= Needs::context && context_stack().empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (needs == Needs::no_capture && d.captures > 0)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS;
}

} // namespace standin

using standin::driver;

void standin_fail(long first, long count, int result) {
    const std::lock_guard lock(driver().mutex);
    driver().first_failure = first;
    driver().failures = count;
    driver().failure = result;
    driver().calls.clear();
    driver().seen = {};
}

void standin_fail_function(const char *name, int result) {
    const std::lock_guard lock(driver().mutex);
    driver().fail_function = name;
    driver().failure = result;
}

const char *standin_call(long n) {
    const std::lock_guard lock(driver().mutex);
    return n < static_cast<long>(driver().calls.size()) ? driver().calls[static_cast<size_t>(n)] : nullptr;
}

standin_state standin_observe() {
    const std::lock_guard lock(driver().mutex);
    standin_state seen = driver().seen;
    seen.calls = static_cast<long>(driver().calls.size());
    seen.allocations = static_cast<long>(driver().allocations.size());
    seen.contexts = static_cast<long>(standin::context_stack().size());
    return seen;
}
