// SPDX-License-Identifier: MIT
// Work on streams: carried out at once, or recorded while a stream is captured. Callers hold the lock of the state.
#pragma once

#include "kernels.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace standin {

using Work = std::function<void()>;

struct Graph {
    std::vector<Work> work;
};

struct Stream {
    const void *owner; // the context, or the device, that it belongs to
    std::optional<Graph> captured;
};

struct Event {
    double seconds;
};
double now(); // seconds

// A stream of another owner cannot be used; neither can the legacy one, null, while another is captured: it would wait
// for that.
enum class Enqueued { done, foreign, implicit };
Enqueued enqueue(Stream *, const void *owner, Work);

// All of the graph, as far as it goes.
Enqueued enqueue(const Graph &, Stream *, const void *owner);

// Of a copy of the params. Launches are one after the other, whether they may overlap or not.
Work launch_work(const Kernel &, Grid, uint32_t threads, uint32_t dynamic_shared_bytes, const void *params);

// Noted for those who observe.
Enqueued enqueue_launch(Stream *, const void *owner, Work);
void note_wait();

bool begin_capture(Stream *); // false where that cannot be
std::optional<Graph> end_capture(Stream *);
bool capturing(); // any stream

} // namespace standin
