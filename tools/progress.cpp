// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <cstdio>
#include <unistd.h>

namespace ct3d::tool {

Progress::Progress(size_t total) : total_(total), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::next(const std::string &name) {
    ++done_;
    name_ = name;
    show();
}

void Progress::show() {
    if (terminal_)
        std::fprintf(stderr, "\r\033[K[%zu/%zu] %s", done_, total_, name_.c_str());
}

void Progress::clear() {
    if (terminal_)
        std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

} // namespace ct3d::tool
