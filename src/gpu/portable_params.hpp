// SPDX-License-Identifier: MIT
// What the portable kernel is told, by the host and on the device.
#pragma once

#include "tensor_params.hpp"

#include <cstdint>

namespace ct3d::gpu {

// Outputs along x that one thread computes.
constexpr int portable_positions = 4;

constexpr int portable_block = 128;

// An axis, with g = gcd(stride, dilation).
struct PortableAxis {
    int64_t in, out, kernel, stride, dilation, pad;
    int64_t divisor;  // g
    int64_t tap_step; // stride / g
    int64_t in_step;  // dilation / g
    int64_t inverse;  // of in_step modulo tap_step
};

// Strides are in elements.
struct PortableParams : TensorAddresses {
    PortableAxis axis[3];
    int64_t x_sample, x_channel, x_step[3];
    int64_t y_sample, y_channel, y_step[3];
    int64_t w_in, w_out, w_step[3];
    int64_t groups, in_channels, out_channels; // channels of a group
    // A thread's outputs are channels c, c + channel_slots, ... at the positions x, x + stride * input_slots, ...,
    // which all share their taps; their inputs are input_slots apart.
    int64_t channel_slots, input_slots;
    int64_t x_apart, w_apart; // of such neighbours, in memory
    int64_t x_slots;          // how many x a thread may start from
    int64_t threads;          // in all
    int32_t channels_last;
};

} // namespace ct3d::gpu
