// SPDX-License-Identifier: MIT
// A kernel of the embedded device code, loaded for one device and ready to launch.
#pragma once

#include "device.hpp"
#include "driver.hpp"

#include <cstdint>
#include <string>

namespace ct3d::gpu {

class Function {
public:
    // Loads the image `image` (the name of a source of device code) for the device, unless that was done before, and
    // finds the kernel in it. What is loaded stays loaded. Throws Error(CT3D_UNSUPPORTED) where the image has no code
    // for the device or the kernel cannot have that much shared memory.
    Function(const Device &, const char *image, const std::string &name, uint32_t dynamic_shared_bytes = 0);

    // Only enqueues. The kernel takes one struct by value.
    template <class Params> void launch(void *stream, Grid grid, uint32_t threads, const Params &params) const {
        enqueue(stream, {grid, threads, shared_bytes_, &params, false});
    }

    // The same, but blocks may begin while the launch before ends: the kernel waits for it by itself.
    template <class Params> void launch_early(void *stream, Grid grid, uint32_t threads, const Params &params) const {
        enqueue(stream, {grid, threads, shared_bytes_, &params, true});
    }

private:
    void enqueue(void *stream, const Launch &launch) const {
        device_->driver->launch(*device_, handle_, stream, launch);
    }

    const Device *device_;
    void *handle_;
    uint32_t shared_bytes_;
};

} // namespace ct3d::gpu
