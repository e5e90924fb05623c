// SPDX-License-Identifier: MIT
// Threads of the engine: the OpenMP pool where there is one, so that two pools never compete.
#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ct3d::engine {

inline int workers() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

// Calls body(item, worker) for each item of [0, items); worker is below workers(). The body must not throw.
// `work` is about how many sums or elements all items are: where they are few, waking threads takes longer.
template <class Body> void parallel_for(int64_t items, double work, Body &&body) {
#ifdef _OPENMP
    constexpr double worth_waking = 3e5;
#pragma omp parallel for schedule(dynamic) if (items > 1 && work > worth_waking)
    for (int64_t item = 0; item < items; ++item)
        body(item, omp_get_thread_num());
#else
    static_cast<void>(work);
    for (int64_t item = 0; item < items; ++item)
        body(item, 0);
#endif
}

} // namespace ct3d::engine
