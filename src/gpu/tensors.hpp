// SPDX-License-Identifier: MIT
// The tensors of a forward operation as parameters of kernels.
#pragma once

#include "../desc.hpp"
#include "tensor_params.hpp"

namespace ct3d::gpu {

inline TensorAddresses tensor_addresses(const ct3d_buffers &b) { return {b.x, b.w, b.bias, b.y}; }

inline TensorStrides tensor_strides(const Desc &d) {
    const ActivationStrides x = input_strides(d), y = output_strides(d);
    const WeightStrides w = weight_strides(d);
    return {x.n, x.c, x.z, x.y, x.x, y.n, y.c, y.z, y.y, y.x, w.ci, w.co, w.z, w.y, w.x};
}

inline bool aligned(const void *memory, uintptr_t bytes) { return reinterpret_cast<uintptr_t>(memory) % bytes == 0; }

} // namespace ct3d::gpu
