// SPDX-License-Identifier: MIT
// The general kernel: every operation, type and shape, without workspace.
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu {

extern const Candidate direct_candidate;

} // namespace ct3d::cpu
