// SPDX-License-Identifier: MIT
// The kernel that takes everything.
#pragma once

#include "../backend.hpp"
#include "device.hpp"

namespace ct3d::gpu {

Offer consider_portable(const PlanContext &, const Device &);

} // namespace ct3d::gpu
