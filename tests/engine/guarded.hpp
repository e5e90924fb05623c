// SPDX-License-Identifier: MIT
// Memory on a device between two guard bands, with a view of it on the host.
#pragma once

#include <ct3d/ct3d.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace ct3d::engine {

struct Place {
    int32_t backend = CT3D_BACKEND_CPU;
    int32_t device = 0;
};

// A call of the library that ought to have succeeded.
class StatusError : public std::runtime_error {
public:
    StatusError(ct3d_status, const char *call);
    const ct3d_status status;
};

void require(ct3d_status, const char *call);

class Guarded {
public:
    static constexpr uint64_t band = 4096; // bytes on each side
    static constexpr uint8_t nan = 0xff;   // a NaN in every element type
    static constexpr uint8_t pattern = 0xa5;

    // The data begins `offset` bytes past a multiple of 256; it and the bands are filled with the bytes given.
    Guarded(Place, uint64_t bytes, uint64_t offset, uint8_t guard, uint8_t body);
    ~Guarded();
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;

    void *device() const; // for ct3d_buffers
    void *host() const;   // the same memory on the CPU; on a GPU its mirror, without meaning until there is a download
    uint64_t bytes() const { return bytes_; }

    void upload() const; // host to device, without the bands; nothing to do on the CPU
    void download() const;
    bool intact() const; // the guard bands

private:
    uint64_t front() const { return band + offset_; }
    uint64_t total() const { return front() + bytes_ + band; }
    bool on_host() const { return place_.backend == CT3D_BACKEND_CPU; }
    bool is_guard(uint64_t begin, uint64_t bytes) const;

    Place place_;
    uint64_t bytes_, offset_;
    uint8_t guard_;
    void *memory_ = nullptr;
    mutable std::unique_ptr<uint8_t[]> mirror_; // made when it is first asked for
};

} // namespace ct3d::engine
