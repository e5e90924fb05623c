// SPDX-License-Identifier: MIT
// The matmul rate by oneDNN's GEMM.
#include "rates.hpp"
#include "timer.hpp"

#include <dnnl.h>

namespace ct3d::engine {

MatmulTime time_matmul() {
    constexpr dnnl_dim_t n = 1536;
    const std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f);
    std::vector<float> c(n * n);
    const double time =
        seconds({}, [&] { dnnl_sgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n); });
    return {time, 2.0 * n * n * n};
}

} // namespace ct3d::engine
