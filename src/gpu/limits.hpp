// SPDX-License-Identifier: MIT
// What a device has too little of, as errors.
#pragma once

#include "device.hpp"

#include <string>

namespace ct3d::gpu {

// Throws Error(CT3D_OUT_OF_MEMORY) where the device has less memory in all.
void require_memory(const Device &, uint64_t bytes);

// The shared memory that a block may have beside the `fixed` bytes of the kernel itself. Throws
// Error(CT3D_UNSUPPORTED) where `dynamic` is more.
int32_t require_shared_bytes(const Device &, const std::string &kernel, int32_t fixed, uint32_t dynamic);

} // namespace ct3d::gpu
