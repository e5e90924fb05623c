// SPDX-License-Identifier: MIT
// The matmul rate by ct3d itself, for builds without oneDNN: a kernel of one tap is a matmul.
#include "case.hpp"
#include "plan.hpp"
#include "rates.hpp"
#include "tensors.hpp"
#include "timer.hpp"

namespace ct3d::engine {

MatmulTime time_matmul() {
    const Case c = parse_line("matmul 1 512 512 16,32,32 1 1 0 0 1 1 bias=0");
    ct3d_status status;
    const Plan plan = make_plan(c.problem, {}, status);
    require(status, "ct3d_create_plan");
    const Tensors tensors(c, {}, 1, workspace_size(plan.get()));
    const ct3d_buffers buffers = tensors.buffers();
    const double time = seconds({}, [&] { require(ct3d_execute(plan.get(), &buffers), "ct3d_execute"); });
    return {time, 2 * products(c.problem)};
}

} // namespace ct3d::engine
