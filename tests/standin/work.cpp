// SPDX-License-Identifier: MIT
#include "work.hpp"

#include "calls.hpp"

#include <chrono>
#include <cstring>
#include <utility>

namespace standin {

namespace {

struct alignas(64) Line { // as parameters may be aligned
    unsigned char bytes[64];
};

long captures; // under way

} // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Enqueued enqueue(Stream *stream, const void *owner, Work work) {
    if (stream && stream->owner != owner)
        return Enqueued::foreign;
    if (stream && stream->captured)
        stream->captured->work.push_back(std::move(work));
    else if (!stream && captures > 0)
        return Enqueued::implicit;
    else
        work();
    return Enqueued::done;
}

Enqueued enqueue(const Graph &graph, Stream *stream, const void *owner) {
    for (const Work &work : graph.work)
        if (const Enqueued result = enqueue(stream, owner, work); result != Enqueued::done)
            return result;
    return Enqueued::done;
}

Work launch_work(const Kernel &kernel, Grid grid, uint32_t threads, uint32_t dynamic_shared_bytes, const void *params) {
    std::vector<Line> copy(kernel.params_bytes / sizeof(Line) + 1);
    std::memcpy(copy.data(), params, kernel.params_bytes);
    return [&kernel, grid, threads, dynamic_shared_bytes, copy = std::move(copy)] {
        launch(kernel, grid, threads, dynamic_shared_bytes, copy.data());
    };
}

Enqueued enqueue_launch(Stream *stream, const void *owner, Work work) {
    ++state().seen.launches;
    state().seen.stream = stream;
    return enqueue(stream, owner, std::move(work));
}

void note_wait() { ++state().seen.waits; }

bool begin_capture(Stream *stream) {
    if (!stream || stream->captured)
        return false;
    ++captures;
    stream->captured.emplace();
    return true;
}

std::optional<Graph> end_capture(Stream *stream) {
    if (!stream || !stream->captured)
        return std::nullopt;
    --captures;
    return std::exchange(stream->captured, std::nullopt);
}

bool capturing() { return captures > 0; }

} // namespace standin
