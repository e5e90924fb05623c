// SPDX-License-Identifier: MIT
// The kernel for few output and many input channels, on tensor cores.
#pragma once

#include "../backend.hpp"

namespace ct3d::cuda {

extern const Candidate few_outputs_candidate;

} // namespace ct3d::cuda
