// SPDX-License-Identifier: MIT
// The fast forward kernel of the CPU: per phase a correlation in register tiles, written once into the output.
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu {

extern const Candidate phase_candidate;

} // namespace ct3d::cpu
