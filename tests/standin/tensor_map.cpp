// SPDX-License-Identifier: MIT
#include "tensor_map.hpp"

#include "fibers.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <cstring>

namespace standin {

namespace {

constexpr uint32_t part_bytes = 16;

uint32_t row_bytes(const TensorMap &map) { return static_cast<uint32_t>(map.box[0] * map.stride[0]); }
uint32_t rows_of(const TensorMap &map) { return uint32_t{map.box[1]} * map.box[2] * map.box[3] * map.box[4]; }

// Where the box's row begins, or null where it is outside. Elements before and after the row's are outside too.
const uint8_t *row_in_tensor(const TensorBox &b, uint32_t row) {
    const uint8_t *first = b.map.first;
    for (uint32_t axis = 1; axis < tensor_axes; row /= b.map.box[axis++]) {
        const int64_t at = b.at[axis] + row % b.map.box[axis];
        if (at < 0 || static_cast<uint64_t>(at) >= b.map.size[axis])
            return nullptr;
        first += static_cast<uint64_t>(at) * b.map.stride[axis];
    }
    return first;
}

void read_row(const TensorBox &b, uint32_t row, uint8_t *to) {
    std::memset(to, 0, row_bytes(b.map));
    const uint8_t *const from = row_in_tensor(b, row);
    const auto size = static_cast<int64_t>(b.map.size[0]), step = static_cast<int64_t>(b.map.stride[0]);
    const int64_t begin = std::max<int64_t>(b.at[0], 0), end = std::min<int64_t>(b.at[0] + b.map.box[0], size);
    if (from && begin < end)
        std::memcpy(to + (begin - b.at[0]) * step, from + begin * step, static_cast<size_t>((end - begin) * step));
}

} // namespace

TensorBox tensor_box(uint32_t shared, const void *map, const int32_t (&at)[tensor_axes]) {
    TensorBox b{};
    std::memcpy(&b.map, map, sizeof b.map);
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || b.map.mark != tensor_map_mark)
        fault("there is no tensor map at %p", map);
    std::copy(at, at + tensor_axes, b.at);
    b.shared = shared;
    const uint32_t alignment = b.map.swizzle == part_bytes ? 128u : 8u * b.map.swizzle; // after which it repeats
    if (shared % alignment != 0)
        fault("tensor copy: shared address is %u, must be a multiple of %u", shared, alignment);
    shared_pointer(shared, bytes_of(b));
    return b;
}

uint32_t bytes_of(const TensorBox &b) { return row_bytes(b.map) * rows_of(b.map); }

void copy(const TensorBox &b) {
    uint8_t row[256 * 8];
    const uint32_t bytes = row_bytes(b.map);
    for (uint32_t i = 0; i < rows_of(b.map); ++i) {
        read_row(b, i, row);
        for (uint32_t part = 0; part < bytes; part += part_bytes)
            std::memcpy(shared_pointer(swizzled(b.shared + i * bytes + part, b.map.swizzle), part_bytes), row + part,
                        part_bytes);
    }
}

} // namespace standin
