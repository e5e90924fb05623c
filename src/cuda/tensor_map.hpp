// SPDX-License-Identifier: MIT
// Tensors as the copy engine of sm_90 is told of them.
#pragma once

#include "device.hpp"
#include "gpu.hpp"
#include "tensor_map_params.hpp"

#include <cstdint>

namespace ct3d::cuda {

// Five axes, the fastest first, and the box of them that is loaded at once, which is swizzled like an operand of the
// matrix instructions (see wgmma_operand.hpp). Elements are not changed on the way; those outside the tensor are zero.
struct TensorMapShape {
    int32_t element_bytes;
    uint64_t extents[5];
    uint64_t strides[4]; // bytes, multiples of 16; the fastest axis has no gaps
    uint32_t box[5];
    int32_t row_bytes; // of the swizzle: 32, 64 or 128
};

// Whether this driver can make one; throws Error where not.
void require_tensor_maps();

// Of a tensor at `first`, a multiple of 16.
TensorMap make_tensor_map(const Device &, const TensorMapShape &, const void *first);

} // namespace ct3d::cuda
