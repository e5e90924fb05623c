// SPDX-License-Identifier: MIT
#include "parallel.hpp"

#include <pthread.h>

namespace ct3d::cpu {

namespace {

std::atomic<bool> in_child{false};

// Registered while the library is loaded, so that no fork can come before it.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { in_child.store(true); });

} // namespace

bool forked() { return in_child.load(std::memory_order_relaxed); }

int32_t default_threads() {
#ifdef _OPENMP
    return forked() ? 1 : omp_get_max_threads();
#else
    return 1;
#endif
}

} // namespace ct3d::cpu
