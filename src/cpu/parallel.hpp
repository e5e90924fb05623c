// SPDX-License-Identifier: MIT
// Threads of the CPU backend. OpenMP is the pool, since oneDNN uses the same one.
#pragma once

#include <atomic>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ct3d::cpu {

// True in a child of fork(): an OpenMP pool does not survive there, so only one thread may be used.
bool forked();

// How many threads a plan is made for: as many as requested, but no more than there are processors or than OpenMP
// allows; by default OpenMP's maximum on the calling thread. 1 in a forked child, and by default inside a parallel
// region, whose threads are the caller's.
int32_t plan_threads(int32_t requested);

// How many threads an execute may use, given what its plan was made for.
inline int32_t usable_threads(int32_t planned) { return forked() ? 1 : planned; }

// As many threads as pay for being woken, at most `most`, where each should have `work_per_thread` to do.
inline int32_t worthwhile_threads(int32_t most, double work, double work_per_thread) {
    const double threads = work / work_per_thread;
    return threads >= most ? most : threads <= 1 ? 1 : static_cast<int32_t>(threads);
}

// Calls body(item, thread) for each item of [0, items), each once, on at most `threads` threads; returns when all are
// done. `thread` is below `threads`. The body must not throw.
template <class Body> void parallel_for(int32_t threads, int64_t items, Body &&body) {
#ifdef _OPENMP
    if (threads > 1 && items > 1) {
        std::atomic<int64_t> next{0};
        const int team = items < threads ? static_cast<int>(items) : threads;
#pragma omp parallel num_threads(team)
        for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;)
            body(item, static_cast<int32_t>(omp_get_thread_num()));
        return;
    }
#endif
    for (int64_t item = 0; item < items; ++item)
        body(item, int32_t{0});
}

} // namespace ct3d::cpu
