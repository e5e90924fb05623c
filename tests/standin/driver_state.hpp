// SPDX-License-Identifier: MIT
// What the stand-in driver keeps from call to call.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "calls.hpp"
#include "kernels.hpp"
#include "work.hpp"

#include <map>
#include <memory>
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
struct CUgraph_st : standin::Graph {};
struct CUgraphExec_st : standin::Graph {};
struct CUstream_st : standin::Stream {};
struct CUevent_st : standin::Event {};

namespace standin {

// Behind the lock of the state.
struct Driver {
    bool initialised = false;
    std::vector<std::unique_ptr<CUctx_st>> contexts; // one per device
    std::vector<std::unique_ptr<CUmod_st>> modules;
    std::map<std::pair<const Kernel *, CUcontext>, CUfunc_st> functions;
};

Driver &driver();
std::vector<CUcontext> &context_stack(); // of the calling thread

enum class Needs { nothing, initialised, context, no_capture };

// The result of a call that does not take place: it was told to fail, or something that it needs is missing.
CUresult refuse(const char *function, Needs);

} // namespace standin

// Every driver function begins with one of these.
#define STANDIN_CALL(needs)                                                                                            \
    if (const CUresult refused = ::standin::refuse(__func__, ::standin::Needs::needs); refused != CUDA_SUCCESS)        \
    return refused
