// SPDX-License-Identifier: MIT
// The functions of the CUDA driver for work: it is done when it is enqueued, or recorded into a graph.
#include "driver_state.hpp"

#include <cstring>
#include <utility>

using standin::context_stack;
using standin::enqueue;
using standin::Enqueued;
using standin::state;

namespace {

void *host(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

CUresult result(Enqueued enqueued) {
    switch (enqueued) {
    case Enqueued::foreign:
        return CUDA_ERROR_INVALID_HANDLE;
    case Enqueued::implicit:
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    default:
        return CUDA_SUCCESS;
    }
}

CUresult enqueue_for_caller(CUstream stream, standin::Work work) {
    const std::lock_guard lock(state().mutex);
    return result(enqueue(stream, context_stack().back(), std::move(work)));
}

CUresult wait() {
    const std::lock_guard lock(state().mutex);
    standin::note_wait();
    return CUDA_SUCCESS;
}

bool fits(const CUfunc_st &function, standin::Grid grid, unsigned threads, unsigned shared_bytes) {
    constexpr unsigned most_x = INT32_MAX, most_yz = UINT16_MAX, most_threads = 1024;
    return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= most_x && grid.y <= most_yz && grid.z <= most_yz &&
           threads != 0 && threads <= most_threads &&
           shared_bytes <= static_cast<unsigned>(function.dynamic_shared_bytes);
}

bool known(const CUlaunchConfig &config) {
    for (unsigned i = 0; i < config.numAttrs; ++i)
        if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return false;
    return true;
}

CUresult launch(const CUlaunchConfig &config, CUfunction function, void **params, void **extra) {
    if (!function || function->context != context_stack().back())
        return CUDA_ERROR_INVALID_HANDLE;
    const standin::Grid grid{config.gridDimX, config.gridDimY, config.gridDimZ};
    const unsigned threads = config.blockDimX, shared_bytes = config.sharedMemBytes;
    const CUstream stream = config.hStream;
    if (!fits(*function, grid, threads, shared_bytes) || config.blockDimY != 1 || config.blockDimZ != 1 || extra ||
        !known(config))
        return CUDA_ERROR_INVALID_VALUE;
    standin::Work work = standin::launch_work(*function->kernel, grid, threads, shared_bytes, params[0]);
    const std::lock_guard lock(state().mutex);
    return result(standin::enqueue_launch(stream, context_stack().back(), std::move(work)));
}

} // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra) {
    STANDIN_CALL(context);
    return launch({x, y, z, threads, block_y, block_z, shared_bytes, stream, nullptr, 0}, function, params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
    STANDIN_CALL(context);
    return launch(*config, function, params, extra);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    STANDIN_CALL(context);
    return enqueue_for_caller(stream, [=] { std::memset(host(to), value, bytes); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    STANDIN_CALL(context);
    return enqueue_for_caller(stream, [=] { std::memmove(host(to), host(from), bytes); });
}

CUresult cuCtxSynchronize() {
    STANDIN_CALL(no_capture);
    return wait();
}

CUresult cuStreamCreate(CUstream *stream, unsigned int) {
    STANDIN_CALL(context);
    *stream = new CUstream_st{{context_stack().back(), std::nullopt}};
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
    STANDIN_CALL(context);
    delete stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream) {
    STANDIN_CALL(no_capture);
    return wait();
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
    STANDIN_CALL(context);
    const std::lock_guard lock(state().mutex);
    return standin::begin_capture(stream) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    STANDIN_CALL(context);
    const std::lock_guard lock(state().mutex);
    std::optional<standin::Graph> captured = standin::end_capture(stream);
    if (!captured)
        return CUDA_ERROR_ILLEGAL_STATE;
    *graph = new CUgraph_st{std::move(*captured)};
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long) {
    STANDIN_CALL(context);
    *executable = new CUgraphExec_st{*graph};
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    STANDIN_CALL(context);
    const std::lock_guard lock(state().mutex);
    return result(enqueue(*executable, stream, context_stack().back()));
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    STANDIN_CALL(context);
    delete executable;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
    STANDIN_CALL(context);
    delete graph;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned int) {
    STANDIN_CALL(context);
    *event = new CUevent_st{{0}};
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream) {
    STANDIN_CALL(context);
    event->seconds = standin::now();
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent) {
    STANDIN_CALL(no_capture);
    return wait();
}

#undef cuEventElapsedTime // under the name that all drivers have
__attribute__((visibility("default"))) CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
    STANDIN_CALL(context);
    *milliseconds = static_cast<float>((end->seconds - begin->seconds) * 1e3);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
    STANDIN_CALL(context);
    delete event;
    return CUDA_SUCCESS;
}

} // extern "C"
