// SPDX-License-Identifier: MIT
#pragma once

#include "isa.hpp"

namespace ct3d::cpu::CT3D_ISA {

DirectFn direct_loops(Op, Dtype);

} // namespace ct3d::cpu::CT3D_ISA
