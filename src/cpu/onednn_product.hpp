// SPDX-License-Identifier: MIT
// The forward operation as one product of matrices, where every phase has a single tap (kernel = stride, say).
#pragma once

#include "../backend.hpp"

namespace ct3d::cpu::onednn {

bool is_product(const PhaseTable &);
double product_seconds(const PlanContext &);
std::unique_ptr<Kernel> prepare_product(const PlanContext &);

} // namespace ct3d::cpu::onednn
