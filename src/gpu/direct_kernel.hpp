// SPDX-License-Identifier: MIT
// The kernel for few products per output: depthwise, many groups, few channels.
#pragma once

#include "../backend.hpp"
#include "device.hpp"

namespace ct3d::gpu {

Offer consider_direct(const PlanContext &, const Device &);

} // namespace ct3d::gpu
