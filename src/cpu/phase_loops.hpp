// SPDX-License-Identifier: MIT
#pragma once

#include "isa.hpp"

namespace ct3d::cpu::CT3D_ISA {

extern const PhaseLoops<float> phase_loops_f32;
extern const PhaseLoops<double> phase_loops_f64;

} // namespace ct3d::cpu::CT3D_ISA
