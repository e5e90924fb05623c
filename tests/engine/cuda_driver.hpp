// SPDX-License-Identifier: MIT
// The CUDA driver as the engine needs it beside ct3d: events, memory on the device, device code of its own.
#pragma once

#include "guarded.hpp"

#include <cstdint>

namespace ct3d::engine {

// Opened when it is first needed; throws std::runtime_error where there is none or a call fails. Work goes to the
// legacy default stream, as that of a plan whose buffers name no stream.
class CudaDevice {
public:
    explicit CudaDevice(int32_t device); // its primary context stays current for as long as this lives
    ~CudaDevice();
    CudaDevice(const CudaDevice &) = delete;
    CudaDevice &operator=(const CudaDevice &) = delete;

    // Only enqueued.
    void set(void *memory, uint8_t value, uint64_t bytes) const;
    void copy(void *destination, const void *source, uint64_t bytes) const; // within the device

    // A kernel of the engine's device code; it takes one struct by value.
    template <class Params> void launch(const char *kernel, uint32_t blocks, uint32_t threads, const Params &p) const {
        launch_kernel(kernel, blocks, threads, &p);
    }
    static bool has_device_code(); // whether this build has any

private:
    void launch_kernel(const char *kernel, uint32_t blocks, uint32_t threads, const void *params) const;

    int32_t device_;
};

// Seconds between two points of the stream.
class CudaTimer {
public:
    CudaTimer();
    ~CudaTimer();
    CudaTimer(const CudaTimer &) = delete;
    CudaTimer &operator=(const CudaTimer &) = delete;

    void begin() const;
    double end() const; // waits for it

private:
    void *begin_ = nullptr, *end_ = nullptr;
};

} // namespace ct3d::engine
