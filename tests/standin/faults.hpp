// SPDX-License-Identifier: MIT
// For the tests of the stand-in: what ends a kernel, and with which message.
#pragma once

#include "support.h"

#include <csignal>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace standin::tests {

// Runs in a child, which the fault ends.
inline void expect_fault(const char *message, const std::function<void()> &run) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL);
        run();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[256];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
        text.append(part, static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || text.find(message) == std::string::npos)
        fail_msg("no fault with \"%s\" but: %s", message, text.c_str());
}

} // namespace standin::tests
