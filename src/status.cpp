// SPDX-License-Identifier: MIT
#include "status.hpp"

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>

namespace ct3d {

namespace {

// A plain array, so that keeping a message can fail in no way.
thread_local char last_message[512];

} // namespace

Error::Error(ct3d_status status, const char *format, ...) : status_(status) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message_, sizeof message_, format, arguments);
    va_end(arguments);
}

void set_last_error(const char *message) { std::snprintf(last_message, sizeof last_message, "%s", message); }

const char *last_error() { return last_message; }

ct3d_status guard(void (*body)(void *), void *context) {
    try {
        body(context);
        return CT3D_SUCCESS;
    } catch (const Error &error) {
        set_last_error(error.message());
        return error.status();
    } catch (const std::bad_alloc &) {
        set_last_error("host memory ran out");
        return CT3D_OUT_OF_MEMORY;
    } catch (const std::exception &error) {
        set_last_error(error.what());
        return CT3D_INTERNAL;
    } catch (...) {
        set_last_error("unknown exception");
        return CT3D_INTERNAL;
    }
}

} // namespace ct3d
