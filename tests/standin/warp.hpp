// SPDX-License-Identifier: MIT
// For the tests of the stand-in: one block whose threads run a function object.
#pragma once

#include "device_language.hpp"
#include "kernels.hpp"
#include "support.h"

namespace standin::tests {

constexpr uint32_t shared_bytes = 4096;

// A failed assertion leaves the fiber by longjmp(); the next block begins afresh.
template <class Body> void run_warps(uint32_t warps, const Body &body, uint32_t dynamic_bytes = shared_bytes) {
    const Body *const address = &body;
    const Kernel kernel{"test",
                        [](const void *params) { (**static_cast<const Body *const *>(params))(current_thread); },
                        sizeof address, nullptr};
    launch(kernel, {1, 1, 1}, 32 * warps, dynamic_bytes, &address);
}

} // namespace standin::tests
