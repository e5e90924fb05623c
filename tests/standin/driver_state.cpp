// SPDX-License-Identifier: MIT
#include "driver_state.hpp"

namespace standin {

Driver &driver() {
    static Driver &only = *[] {
        state().count_contexts = [] { return static_cast<long>(context_stack().size()); };
        return new Driver;
    }();
    return only;
}

std::vector<CUcontext> &context_stack() {
    thread_local std::vector<CUcontext> stack;
    return stack;
}

CUresult refuse(const char *function, Needs needs) {
    const std::lock_guard lock(state().mutex);
    if (const int failure = told_to_fail(function))
        return static_cast<CUresult>(failure);
    if (needs != Needs::nothing && !driver().initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (needs >= Needs::context && context_stack().empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (needs == Needs::no_capture && capturing())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS;
}

} // namespace standin
