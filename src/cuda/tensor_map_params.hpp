// SPDX-License-Identifier: MIT
// A tensor as the copy engine of sm_90 is told of it, by the host and on the device.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

// A CUtensorMap.
struct alignas(64) TensorMap {
    uint64_t words[16];
};

} // namespace ct3d::cuda
