// SPDX-License-Identifier: MIT
#include "guarded.hpp"

#include "gpu.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace ct3d::engine {

StatusError::StatusError(ct3d_status failure, const char *call)
    : std::runtime_error(std::string(call) + ": " + ct3d_status_string(failure) + ": " + ct3d_last_error()),
      status(failure) {}

void require(ct3d_status status, const char *call) {
    if (status != CT3D_SUCCESS)
        throw StatusError(status, call);
}

Guarded::Guarded(Place place, uint64_t bytes, uint64_t offset, uint8_t guard, uint8_t body)
    : place_(place), bytes_(bytes), offset_(offset), guard_(guard) {
    require(ct3d_alloc(place_.backend, place_.device, total(), &memory_), "ct3d_alloc");
    if (on_host()) {
        std::memset(memory_, guard, front());
        std::memset(device(), body, bytes_);
        std::memset(static_cast<uint8_t *>(device()) + bytes_, guard, band);
        return;
    }
    const auto gpu = open_gpu(place_);
    gpu->set(memory_, guard, total());
    if (bytes_ > 0)
        gpu->set(device(), body, bytes_);
}

Guarded::~Guarded() { ct3d_free(place_.backend, place_.device, memory_); }

void *Guarded::device() const { return static_cast<uint8_t *>(memory_) + front(); }

void *Guarded::host() const {
    if (on_host())
        return device();
    if (!mirror_)
        mirror_ = std::make_unique_for_overwrite<uint8_t[]>(bytes_);
    return mirror_.get();
}

void Guarded::upload() const {
    if (!on_host())
        require(ct3d_copy(place_.backend, place_.device, device(), host(), bytes_), "ct3d_copy");
}

void Guarded::download() const {
    if (!on_host())
        require(ct3d_copy(place_.backend, place_.device, host(), device(), bytes_), "ct3d_copy");
}

bool Guarded::is_guard(uint64_t begin, uint64_t bytes) const {
    const uint8_t *at = static_cast<uint8_t *>(memory_) + begin;
    std::vector<uint8_t> copied;
    if (!on_host()) {
        copied.resize(bytes);
        require(ct3d_copy(place_.backend, place_.device, copied.data(), at, bytes), "ct3d_copy");
        at = copied.data();
    }
    return std::all_of(at, at + bytes, [this](uint8_t byte) { return byte == guard_; });
}

bool Guarded::intact() const { return is_guard(0, front()) && is_guard(front() + bytes_, band); }

} // namespace ct3d::engine
