// SPDX-License-Identifier: MIT
#include "bad_access.hpp"

#include "asan.hpp"
#include "fibers.hpp"

namespace standin {

#if STANDIN_ASAN // it tells more

BadAccess::BadAccess() : before_{}, stack_before_{} {}
BadAccess::~BadAccess() = default;

#else

namespace {

void report(int, siginfo_t *info, void *) { fault("access to %p", info->si_addr); }

} // namespace

BadAccess::BadAccess() {
    static char stack[1 << 16]; // a fiber's may have come to its end
    stack_t own{};
    own.ss_sp = stack;
    own.ss_size = sizeof stack;
    sigaltstack(&own, &stack_before_);
    struct sigaction action {};
    action.sa_sigaction = report;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &before_);
}

BadAccess::~BadAccess() {
    sigaction(SIGSEGV, &before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
}

#endif

} // namespace standin
