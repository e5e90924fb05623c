// SPDX-License-Identifier: MIT
#include "parallel.hpp"

#include <algorithm>
#include <pthread.h>

namespace ct3d::cpu {

namespace {

std::atomic<bool> in_child{false};

// Registered while the library is loaded, so that no fork can come before it.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { in_child.store(true); });

} // namespace

bool forked() { return in_child.load(std::memory_order_relaxed); }

int32_t plan_threads(int32_t requested) {
#ifdef _OPENMP
    if (forked() || (requested == 0 && omp_in_parallel()))
        return 1;
    const int32_t wanted = requested > 0 ? requested : omp_get_max_threads();
    return std::min({wanted, std::max(omp_get_max_threads(), omp_get_num_procs()), omp_get_thread_limit()});
#else
    static_cast<void>(requested);
    return 1;
#endif
}

} // namespace ct3d::cpu
