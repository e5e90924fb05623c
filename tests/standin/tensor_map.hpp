// SPDX-License-Identifier: MIT
// Boxes of a tensor with five axes, the fastest first: the driver describes the tensor, an instruction loads a box.
#pragma once

#include <cstdint>

namespace standin {

constexpr uint32_t tensor_axes = 5;

// What the driver puts into the bytes of a map.
struct TensorMap {
    uint64_t mark;
    const uint8_t *first;
    uint64_t size[tensor_axes];
    uint64_t stride[tensor_axes]; // bytes; of the fastest axis, an element
    uint16_t box[tensor_axes];
    uint16_t swizzle; // bytes that hold the parts which change places: 16 (none), 32, 64 or 128
};
constexpr uint64_t tensor_map_mark = 0x74656e736f726d70;
constexpr uint32_t tensor_map_bytes = 128;
static_assert(sizeof(TensorMap) <= tensor_map_bytes);

// 16 bytes of shared memory, swizzled by the bits above the seventh of their address.
constexpr uint32_t swizzled(uint32_t address, uint32_t bytes) { return address ^ (address >> 3 & (bytes - 16)); }

struct TensorBox {
    TensorMap map;
    int64_t at[tensor_axes];
    uint32_t shared;
};

// Checks what the instruction demands.
TensorBox tensor_box(uint32_t shared, const void *map, const int32_t (&at)[tensor_axes]);
uint32_t bytes_of(const TensorBox &);
void copy(const TensorBox &); // cells outside the tensor become zeros

} // namespace standin
