// SPDX-License-Identifier: MIT
// The CUDA driver as the engine needs it beside ct3d, and device code of its own.
#pragma once

#include "gpu.hpp"

namespace ct3d::engine {

// Opened when it is first needed.
class CudaDevice final : public Gpu {
public:
    explicit CudaDevice(int32_t device); // its primary context stays current for as long as this lives
    ~CudaDevice() override;
    CudaDevice(const CudaDevice &) = delete;
    CudaDevice &operator=(const CudaDevice &) = delete;

    void set(void *memory, uint8_t value, uint64_t bytes) const override;
    void copy(void *destination, const void *source, uint64_t bytes) const override;
    std::unique_ptr<GpuTimer> timer() const override;

    // A kernel of the engine's device code; it takes one struct by value.
    template <class Params> void launch(const char *kernel, uint32_t blocks, uint32_t threads, const Params &p) const {
        launch_kernel(kernel, blocks, threads, &p);
    }
    static bool has_device_code(); // whether this build has any

private:
    void launch_kernel(const char *kernel, uint32_t blocks, uint32_t threads, const void *params) const;

    int32_t device_;
};

} // namespace ct3d::engine
