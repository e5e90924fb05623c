// SPDX-License-Identifier: MIT
#include "log.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace ct3d {

namespace {

struct Sink {
    ct3d_log_fn fn;
    void *user;
};

std::mutex mutex;
Sink sink{nullptr, nullptr};

// CT3D_VERBOSE, or -1 where it is not set.
int32_t requested_level() {
    static const int32_t level = [] {
        const char *text = std::getenv("CT3D_VERBOSE");
        return text && *text ? static_cast<int32_t>(std::strtol(text, nullptr, 10)) : -1;
    }();
    return level;
}

Sink current_sink() {
    const std::lock_guard lock(mutex);
    return sink;
}

} // namespace

void set_log_callback(ct3d_log_fn fn, void *user) {
    const std::lock_guard lock(mutex);
    sink = {fn, user};
}

bool log_enabled(int32_t level) {
    const int32_t requested = requested_level();
    return requested >= 0 ? level <= requested : level <= 1 && current_sink().fn;
}

void log_line(int32_t level, const char *format, ...) {
    if (!log_enabled(level))
        return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const Sink to = current_sink();
    if (to.fn)
        to.fn(to.user, level, line);
    else
        std::fprintf(stderr, "ct3d: %s\n", line);
}

} // namespace ct3d
