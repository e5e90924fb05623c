// SPDX-License-Identifier: MIT
#include "workspace.hpp"

#include <algorithm>

namespace ct3d::cpu {

uint64_t workspace_limit(const PlanContext &c) {
    const double elements = total_elements(c.desc) + static_cast<double>(c.desc.out_channels);
    return static_cast<uint64_t>(std::min(2 * sizeof(float) * elements, 0x1p62)) +
           (static_cast<uint64_t>(c.threads) << 20);
}

} // namespace ct3d::cpu
