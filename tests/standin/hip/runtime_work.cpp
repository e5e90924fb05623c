// SPDX-License-Identifier: MIT
// The HIP runtime's functions for work: it is done when it is enqueued, or recorded while a stream is captured.
#include "chip.hpp"
#include "runtime_state.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

using standin::call;
using standin::enqueue;
using standin::Needs;
using standin::owner;
using standin::result;
using standin::state;

namespace {

struct Shape {
    standin::Grid grid, block;
    unsigned shared_bytes;
};

// The runtime counts the threads of an axis in 32 bits.
bool countable(unsigned blocks, unsigned threads) {
    const uint64_t count = uint64_t{blocks} * threads;
    return count != 0 && count <= std::numeric_limits<uint32_t>::max();
}

hipError_t check(const Shape &s) {
    constexpr unsigned most_threads = 1024;
    if (!countable(s.grid.x, s.block.x) || !countable(s.grid.y, s.block.y) || !countable(s.grid.z, s.block.z))
        return hipErrorInvalidConfiguration;
    if (s.block.x > most_threads || s.block.y != 1 || s.block.z != 1 || s.shared_bytes > standin::lds_bytes)
        return hipErrorInvalidValue;
    return hipSuccess;
}

hipError_t enqueue_for_caller(hipStream_t stream, standin::Work work) {
    const std::lock_guard lock(state().mutex);
    return result(enqueue(stream, owner(), std::move(work)));
}

hipError_t wait(const char *function) {
    return call(function, Needs::no_capture, [] {
        const std::lock_guard lock(state().mutex);
        standin::note_wait();
        return hipSuccess;
    });
}

template <class Handle> hipError_t destroy(const char *function, Handle *handle) {
    return call(function, Needs::device, [&] {
        if (!handle)
            return hipErrorInvalidHandle;
        delete handle;
        return hipSuccess;
    });
}

} // namespace

extern "C" {

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int x, unsigned int y, unsigned int z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int shared_bytes, hipStream_t stream, void **params, void **extra) {
    return call(__func__, Needs::device, [&] {
        if (!function || function->device != standin::current_device())
            return hipErrorInvalidHandle;
        const Shape shape{{x, y, z}, {block_x, block_y, block_z}, shared_bytes};
        if (const hipError_t wrong = check(shape); wrong != hipSuccess)
            return wrong;
        if (!params || extra)
            return hipErrorInvalidValue;
        standin::Work work = standin::launch_work(*function->kernel, shape.grid, block_x, shared_bytes, params[0]);
        const std::lock_guard lock(state().mutex);
        return result(standin::enqueue_launch(stream, owner(), std::move(work)));
    });
}

hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
    return call(__func__, Needs::device,
                [&] { return enqueue_for_caller(stream, [=] { std::memset(to, value, bytes); }); });
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    return call(__func__, Needs::device, [&] {
        if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault)
            return hipErrorInvalidMemcpyDirection;
        return enqueue_for_caller(stream, [=] { std::memmove(to, from, bytes); });
    });
}

hipError_t hipDeviceSynchronize() { return wait(__func__); }
hipError_t hipStreamSynchronize(hipStream_t) { return wait(__func__); }
hipError_t hipEventSynchronize(hipEvent_t) { return wait(__func__); }

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags) {
    return call(__func__, Needs::device, [&] {
        if (flags > hipStreamNonBlocking)
            return hipErrorInvalidValue;
        *stream = new ihipStream_t{{owner(), std::nullopt}};
        return hipSuccess;
    });
}

hipError_t hipStreamDestroy(hipStream_t stream) { return destroy(__func__, stream); }

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
    return call(__func__, Needs::device, [&] {
        if (!stream)
            return hipErrorStreamCaptureUnsupported;
        const std::lock_guard lock(state().mutex);
        return standin::begin_capture(stream) ? hipSuccess : hipErrorIllegalState;
    });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph) {
    return call(__func__, Needs::device, [&] {
        const std::lock_guard lock(state().mutex);
        std::optional<standin::Graph> captured = standin::end_capture(stream);
        if (!captured)
            return hipErrorIllegalState;
        *graph = new ihipGraph{std::move(*captured)};
        return hipSuccess;
    });
}

hipError_t hipGraphInstantiate(hipGraphExec_t *executable, hipGraph_t graph, hipGraphNode_t *, char *, size_t) {
    return call(__func__, Needs::device, [&] {
        *executable = new hipGraphExec{*graph};
        return hipSuccess;
    });
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
    return call(__func__, Needs::device, [&] {
        const std::lock_guard lock(state().mutex);
        return result(enqueue(*executable, stream, owner()));
    });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) { return destroy(__func__, executable); }
hipError_t hipGraphDestroy(hipGraph_t graph) { return destroy(__func__, graph); }

hipError_t hipEventCreate(hipEvent_t *event) {
    return call(__func__, Needs::device, [&] {
        *event = new ihipEvent_t{{0}};
        return hipSuccess;
    });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
    return call(__func__, Needs::device, [&] {
        event->seconds = standin::now();
        return hipSuccess;
    });
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t begin, hipEvent_t end) {
    return call(__func__, Needs::device, [&] {
        *milliseconds = static_cast<float>((end->seconds - begin->seconds) * 1e3);
        return hipSuccess;
    });
}

hipError_t hipEventDestroy(hipEvent_t event) { return destroy(__func__, event); }

} // extern "C"
