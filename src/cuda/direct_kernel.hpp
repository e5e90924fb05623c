// SPDX-License-Identifier: MIT
// The kernel for few products per output: depthwise, many groups, few channels.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate direct_candidate;

} // namespace ct3d::cuda
