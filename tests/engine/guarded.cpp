// SPDX-License-Identifier: MIT
#include "guarded.hpp"

#include <algorithm>
#include <cstring>
#include <string>

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
    if (place_.backend != CT3D_BACKEND_CPU)
        mirror_.resize(total());
    std::memset(image(), guard, total());
    std::memset(host(), body, bytes_);
    upload();
}

Guarded::~Guarded() { ct3d_free(place_.backend, place_.device, memory_); }

uint8_t *Guarded::image() const {
    return mirror_.empty() ? static_cast<uint8_t *>(memory_) : const_cast<uint8_t *>(mirror_.data());
}

void *Guarded::device() const { return static_cast<uint8_t *>(memory_) + band + offset_; }
void *Guarded::host() const { return image() + band + offset_; }

void Guarded::upload() {
    if (!mirror_.empty())
        require(ct3d_copy(place_.backend, place_.device, memory_, mirror_.data(), total()), "ct3d_copy");
}

void Guarded::download() {
    if (!mirror_.empty())
        require(ct3d_copy(place_.backend, place_.device, mirror_.data(), memory_, total()), "ct3d_copy");
}

bool Guarded::intact() const {
    const auto guards = [this](const uint8_t *begin, const uint8_t *end) {
        return std::all_of(begin, end, [this](uint8_t byte) { return byte == guard_; });
    };
    const uint8_t *const data = static_cast<const uint8_t *>(host());
    return guards(image(), data) && guards(data + bytes_, image() + total());
}

} // namespace ct3d::engine
