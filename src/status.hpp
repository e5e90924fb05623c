// SPDX-License-Identifier: MIT
// How a failure travels inside the library: an exception with a status, turned into a return value at the C boundary.
#pragma once

#include <ct3d/ct3d.h>

namespace ct3d {

// The message is held inline, so that reporting an allocation failure allocates nothing.
class Error {
public:
    [[gnu::format(printf, 3, 4)]] Error(ct3d_status status, const char *format, ...);

    ct3d_status status() const { return status_; }
    const char *message() const { return message_; }

private:
    ct3d_status status_;
    char message_[512];
};

void set_last_error(const char *message);
const char *last_error();

// Runs `body` and turns whatever it throws into a status and a message for the calling thread.
ct3d_status guard(void (*body)(void *), void *context);

template <class Body> ct3d_status guarded(Body &&body) {
    return guard([](void *context) { (*static_cast<Body *>(context))(); }, &body);
}

} // namespace ct3d
