// SPDX-License-Identifier: MIT
// What the stand-in driver keeps from call to call.
#pragma once

#pragma GCC visibility push(default)
#include "control.h"

#include <cuda.h>
#pragma GCC visibility pop

#include "kernels.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

// What the handles of cuda.h point to.
struct CUctx_st {
    CUdevice device;
    int retained;
};
struct CUmod_st {
    CUcontext context;
};
struct CUfunc_st {
    const standin::Kernel *kernel;
    CUcontext context;
    int dynamic_shared_bytes; // the most that a launch may ask for
};
struct CUgraph_st {
    std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
    std::vector<std::function<void()>> work;
};
struct CUstream_st {
    CUcontext context;
    std::unique_ptr<CUgraph_st> captured; // while work is recorded
};
struct CUevent_st {
    double seconds;
};

namespace standin {

struct Driver {
    std::mutex mutex;
    bool initialised = false;
    std::vector<std::unique_ptr<CUctx_st>> contexts; // one per device
    std::vector<std::unique_ptr<CUmod_st>> modules;
    std::map<std::pair<const Kernel *, CUcontext>, CUfunc_st> functions;
    std::map<CUdeviceptr, size_t> allocations;
    standin_state seen{};
    long captures = 0; // under way
    std::vector<const char *> calls;
    long first_failure = 0, failures = 0;
    const char *fail_function = nullptr;
    int failure = 0;
};

Driver &driver();
std::vector<CUcontext> &context_stack(); // of the calling thread

long environment(const char *name, long otherwise);

enum class Needs { nothing, initialised, context, no_capture };

// The result of a call that does not take place: it was told to fail, or something that it needs is missing.
CUresult refuse(const char *function, Needs);

} // namespace standin

// Every driver function begins with one of these.
#define STANDIN_CALL(needs)                                                                                            \
    if (const CUresult refused = ::standin::refuse(__func__, ::standin::Needs::needs); refused != CUDA_SUCCESS)        \
    return refused
