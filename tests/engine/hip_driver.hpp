// SPDX-License-Identifier: MIT
// The HIP runtime as the engine needs it beside ct3d.
#pragma once

#include "gpu.hpp"

namespace ct3d::engine {

class HipDevice final : public Gpu {
public:
    explicit HipDevice(int32_t device); // stays the thread's own

    void set(void *memory, uint8_t value, uint64_t bytes) const override;
    void copy(void *destination, const void *source, uint64_t bytes) const override;
    std::unique_ptr<GpuTimer> timer() const override;
};

} // namespace ct3d::engine
