// SPDX-License-Identifier: MIT
// Log lines for people: a line per plan (level 1), a line per execute (level 2).
#pragma once

#include <ct3d/ct3d.h>

namespace ct3d {

void set_log_callback(ct3d_log_fn, void *user);
bool log_enabled(int32_t level);
[[gnu::format(printf, 2, 3)]] void log_line(int32_t level, const char *format, ...);

} // namespace ct3d
