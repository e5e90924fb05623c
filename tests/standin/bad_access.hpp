// SPDX-License-Identifier: MIT
// Tells which thread of which kernel has touched memory that is not there.
#pragma once

#include <csignal>

namespace standin {

// For the length of a launch.
class BadAccess {
public:
    BadAccess();
    ~BadAccess();
    BadAccess(const BadAccess &) = delete;
    BadAccess &operator=(const BadAccess &) = delete;

private:
    [[maybe_unused]] struct sigaction before_;
    [[maybe_unused]] stack_t stack_before_;
};

} // namespace standin
