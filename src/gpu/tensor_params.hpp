// SPDX-License-Identifier: MIT
// What kernels are told of the tensors themselves, by the host and on the device.
#pragma once

#include <cstdint>

namespace ct3d::gpu {

struct TensorAddresses {
    const void *x, *w, *bias; // bias null: none
    void *y;
};

// Distances in elements.
struct TensorStrides {
    int64_t x_sample, x_channel, x_z, x_y, x_x;
    int64_t y_sample, y_channel, y_z, y_y, y_x;
    int64_t w_ci, w_co, w_z, w_y, w_x;
};

} // namespace ct3d::gpu
