// SPDX-License-Identifier: MIT
// Tensors on a GPU, filled and read there.
#pragma once

#include "cuda_driver.hpp"
#include "fills.hpp"

#include <vector>

namespace ct3d::engine {

// How the values of a fill are put down: as `dtype` holds them and, for a reference, not narrower than they were drawn.
struct Storage {
    int32_t dtype;
    bool absolute = false;
};

// Writes the case's values, rounded to its dtype, in its layouts; only enqueued.
void fill_on_device(const CudaDevice &, const Case &, uint64_t seed, Operand, Role, Storage, void *tensor);

// The elements at offsets from the tensor's first one.
std::vector<double> gather(const CudaDevice &, Place, int32_t dtype, const void *tensor,
                           const std::vector<int64_t> &offsets);

// Blocks of device_threads that have an element each, as far as a device needs them.
uint32_t blocks_for(int64_t elements);

} // namespace ct3d::engine
