// SPDX-License-Identifier: MIT
// Memory on a device that nothing on the host mirrors.
#pragma once

#include "guarded.hpp"

#include <utility>

namespace ct3d::engine {

class DeviceMemory {
public:
    DeviceMemory() = default;
    DeviceMemory(Place place, uint64_t bytes) : place_(place), bytes_(bytes) {
        require(ct3d_alloc(place.backend, place.device, bytes, &memory_), "ct3d_alloc");
    }
    ~DeviceMemory() { ct3d_free(place_.backend, place_.device, memory_); }
    DeviceMemory(DeviceMemory &&other) noexcept
        : place_(other.place_), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}
    DeviceMemory &operator=(DeviceMemory &&other) noexcept {
        std::swap(place_, other.place_);
        std::swap(bytes_, other.bytes_);
        std::swap(memory_, other.memory_);
        return *this;
    }

    void *address() const { return memory_; }
    template <class T> T *as() const { return static_cast<T *>(memory_); }
    uint64_t bytes() const { return bytes_; }

private:
    Place place_;
    uint64_t bytes_ = 0;
    void *memory_ = nullptr;
};

} // namespace ct3d::engine
