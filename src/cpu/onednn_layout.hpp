// SPDX-License-Identifier: MIT
// Moves activations between the caller's layout and type and those that oneDNN computes in.
#pragma once

#include "convert.hpp"

#include "../desc.hpp"
#include "../status.hpp"

namespace ct3d::cpu::onednn {

// An activation in channel blocks: element (n, c, p) of a tensor with P positions lies at
// ((n * blocks + c / block) * P + p) * block + c % block. A block of 1 is NCDHW, one of all channels NDHWC.
struct Blocked {
    int64_t batch, channels, positions;
    int64_t block;

    int64_t blocks() const { return (channels + block - 1) / block; }
    int64_t channel_stride() const { return block == 1 ? positions : 1; } // within a block, or where block is 1
    int64_t offset(int64_t n, int64_t c) const { return (n * blocks() + c / block) * positions * block + c % block; }
};

// Calls body(T{}) with the C++ type of a dtype.
template <class Body> void with_type(Dtype type, Body &&body) {
    switch (type) {
    case Dtype::f32:
        return body(float{});
    case Dtype::f16:
        return body(Half{});
    case Dtype::bf16:
        return body(Bfloat{});
    case Dtype::f64:
        break;
    }
    throw Error(CT3D_INTERNAL, "oneDNN has no %s", name(type));
}

int64_t block_of(Layout, int64_t channels);

// Copies and converts, adds bias[c] (which may be null) on the way, and zeroes the channels that fill up the last
// block. f32 to f32, between f32 and a 16-bit type, and bf16 to bf16; `from_type` and `to_type` say which. The bias
// has the type of the target.
void move(int32_t threads, const void *from, Dtype from_type, const Blocked &from_shape, void *to, Dtype to_type,
          const Blocked &to_shape, const void *bias);

// Converts `count` elements.
void convert(int32_t threads, const void *from, Dtype from_type, void *to, Dtype to_type, int64_t count);

bool all_finite(int32_t threads, const void *tensor, Dtype type, int64_t count);

// bias[c] = sum over n, p of the tensor, which is NCDHW or NDHWC; both have type `type`.
void sum_channels(int32_t threads, const void *from, Dtype type, const Blocked &shape, void *bias);

} // namespace ct3d::cpu::onednn
