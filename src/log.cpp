// SPDX-License-Identifier: MIT
#include "log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace ct3d {

namespace {

struct Sink {
    ct3d_log_fn fn;
    void *user;
    const Sink *replaced;
};

// Without a lock, which a fork could leave taken in the child. A sink that was replaced is kept, since another thread
// may be using it.
std::atomic<const Sink *> sink{nullptr};

// CT3D_VERBOSE, or -1 where it is not set.
int32_t requested_level() {
    static const int32_t level = [] {
        const char *text = std::getenv("CT3D_VERBOSE");
        return text && *text ? static_cast<int32_t>(std::strtol(text, nullptr, 10)) : -1;
    }();
    return level;
}

Sink current() {
    const Sink *latest = sink.load();
    return latest ? *latest : Sink{nullptr, nullptr, nullptr};
}

} // namespace

void set_log_callback(ct3d_log_fn fn, void *user) {
    if (Sink *next = new (std::nothrow) Sink{fn, user, sink.load()})
        while (!sink.compare_exchange_weak(next->replaced, next)) {
        }
}

bool log_enabled(int32_t level) {
    const int32_t requested = requested_level();
    return requested >= 0 ? level <= requested : level <= 1 && current().fn;
}

void log_line(int32_t level, const char *format, ...) {
    if (!log_enabled(level))
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (const Sink to = current(); to.fn)
        to.fn(to.user, level, line);
    else
        std::fprintf(stderr, "ct3d: %s\n", line);
}

} // namespace ct3d
