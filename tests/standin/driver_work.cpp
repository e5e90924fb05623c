// SPDX-License-Identifier: MIT
// The functions of the CUDA driver for work: it is done when it is enqueued, or recorded into a graph.
#include "driver_state.hpp"

#include <chrono>
#include <cstring>

using standin::context_stack;
using standin::driver;

namespace {

using Work = std::function<void()>;

struct alignas(64) Line { // as parameters may be aligned
    unsigned char bytes[64];
};

void *host(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The caller holds the lock.
CUresult enqueue(CUstream stream, Work work) {
    if (stream && stream->context != context_stack().back())
        return CUDA_ERROR_INVALID_HANDLE;
    if (stream && stream->captured)
        stream->captured->work.push_back(std::move(work));
    else if (!stream && driver().captures > 0) // the legacy stream would wait for the one that is captured
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    else
        work();
    return CUDA_SUCCESS;
}

CUresult wait() {
    const std::lock_guard lock(driver().mutex);
    ++driver().seen.waits;
    return CUDA_SUCCESS;
}

bool fits(const CUfunc_st &function, standin::Grid grid, unsigned threads, unsigned shared_bytes) {
    constexpr unsigned most_x = INT32_MAX, most_yz = UINT16_MAX, most_threads = 1024;
    return grid.x != 0 && grid.y != 0 && grid.z != 0 && grid.x <= most_x && grid.y <= most_yz && grid.z <= most_yz &&
           threads != 0 && threads <= most_threads &&
           shared_bytes <= static_cast<unsigned>(function.dynamic_shared_bytes);
}

// Launches are one after the other, whether they may overlap or not.
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
    const size_t bytes = function->kernel->params_bytes;
    std::vector<Line> copy(bytes / sizeof(Line) + 1);
    std::memcpy(copy.data(), params[0], bytes);
    const std::lock_guard lock(driver().mutex);
    ++driver().seen.launches;
    driver().seen.stream = stream;
    return enqueue(stream, [kernel = function->kernel, grid, threads, shared_bytes, copy] {
        standin::launch(*kernel, grid, threads, shared_bytes, copy.data());
    });
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
    const std::lock_guard lock(driver().mutex);
    return enqueue(stream, [=] { std::memset(host(to), value, bytes); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    STANDIN_CALL(context);
    const std::lock_guard lock(driver().mutex);
    return enqueue(stream, [=] { std::memmove(host(to), host(from), bytes); });
}

CUresult cuCtxSynchronize() {
    STANDIN_CALL(no_capture);
    return wait();
}

CUresult cuStreamCreate(CUstream *stream, unsigned int) {
    STANDIN_CALL(context);
    *stream = new CUstream_st{context_stack().back(), nullptr};
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
    if (!stream || stream->captured)
        return CUDA_ERROR_ILLEGAL_STATE;
    const std::lock_guard lock(driver().mutex);
    ++driver().captures;
    stream->captured = std::make_unique<CUgraph_st>();
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    STANDIN_CALL(context);
    if (!stream || !stream->captured)
        return CUDA_ERROR_ILLEGAL_STATE;
    const std::lock_guard lock(driver().mutex);
    --driver().captures;
    *graph = stream->captured.release();
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long) {
    STANDIN_CALL(context);
    *executable = new CUgraphExec_st{graph->work};
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    STANDIN_CALL(context);
    const std::lock_guard lock(driver().mutex);
    for (const Work &work : executable->work)
        if (const CUresult result = enqueue(stream, work); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
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
    *event = new CUevent_st{0};
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream) {
    STANDIN_CALL(context);
    event->seconds = now();
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
