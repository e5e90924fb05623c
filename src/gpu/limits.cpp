// SPDX-License-Identifier: MIT
#include "limits.hpp"

#include "../status.hpp"

#include <cinttypes>
#include <utility>

namespace ct3d::gpu {

void require_memory(const Device &device, uint64_t bytes) {
    if (bytes > device.memory)
        throw Error(CT3D_OUT_OF_MEMORY, "bytes is %" PRIu64 ", device %" PRId32 " has %" PRIu64, bytes, device.index,
                    device.memory);
}

int32_t require_shared_bytes(const Device &device, const std::string &kernel, int32_t fixed, uint32_t dynamic) {
    const int32_t most = static_cast<int32_t>(device.shared_bytes_per_block) - fixed;
    if (std::cmp_greater(dynamic, most))
        throw Error(CT3D_UNSUPPORTED,
                    "%s needs %" PRIu32 " bytes of shared memory, device %" PRId32 " lets a block have %" PRId32,
                    kernel.c_str(), dynamic, device.index, most);
    return most;
}

} // namespace ct3d::gpu
