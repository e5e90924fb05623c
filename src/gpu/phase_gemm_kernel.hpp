// SPDX-License-Identifier: MIT
// Forward on matrix units.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "phase_gemm_target.hpp"

namespace ct3d::gpu {

Offer consider_phase_gemm(const PlanContext &, const Device &, const GemmTarget &target);

} // namespace ct3d::gpu
