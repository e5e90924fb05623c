// SPDX-License-Identifier: MIT
// Compiled once per instruction set: the table of that set's loops.
#include "direct_loops.hpp"
#include "phase_loops.hpp"

namespace ct3d::cpu::CT3D_ISA {

#define CT3D_TEXT_OF(name) #name
#define CT3D_TEXT(name) CT3D_TEXT_OF(name)

extern const Isa isa;
const Isa isa{CT3D_TEXT(CT3D_ISA), CT3D_ISA_FLOPS, direct_loops, phase_loops_f32, phase_loops_f64};

} // namespace ct3d::cpu::CT3D_ISA
