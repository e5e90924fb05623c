// SPDX-License-Identifier: MIT
// The names of src/cuda/wgmma.cuh, carried out on the host.
#pragma once

#include "phase_gemm_params.hpp"
#include "ptx.cuh"
#include "warpgroup.hpp"
#include "wgmma_operand.hpp"

namespace ct3d::cuda {

template <int N> void registers_more() { static_assert(N % 8 == 0 && N >= 24 && N <= 256); }
template <int N> void registers_less() { static_assert(N % 8 == 0 && N >= 24 && N <= 256); }

inline void wgmma_fence() { standin::fence_products(); }
inline void wgmma_commit() { standin::commit_products(); }
template <int N> void wgmma_wait() { standin::wait_products(N); }
template <int n> void wgmma_keep(float (&)[n]) {}

template <GemmMath math> constexpr auto product_of = math == GemmMath::f16    ? standin::Product::f16
                                                     : math == GemmMath::tf32 ? standin::Product::tf32
                                                                              : standin::Product::bf16;

template <GemmMath math, int N> void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int32_t accumulate) {
    standin::warpgroup_multiply(product_of<math>, N, d, a, b, accumulate);
}
template <GemmMath math, int N> void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int32_t accumulate) {
    standin::warpgroup_multiply(product_of<math>, N, d, a, b, accumulate);
}

} // namespace ct3d::cuda
