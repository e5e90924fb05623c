// SPDX-License-Identifier: MIT
#include "phase_gemm_kernel.hpp"

#include "../gpu/phase_gemm_kernel.hpp"
#include "device.hpp"

namespace ct3d::cuda {

namespace {

#define CT3D_GEMM_ROW(image, arch, math, m, n, warps_m, warps_n, blocks)                                               \
    {GemmMath::math,                                                                                                   \
     m,                                                                                                                \
     n,                                                                                                                \
     8,                                                                                                                \
     warps_m,                                                                                                          \
     warps_n,                                                                                                          \
     32,                                                                                                               \
     blocks,                                                                                                           \
     image,                                                                                                            \
     arch,                                                                                                             \
     "ct3d_phase_gemm_" #math "_" #m "x" #n "_" #warps_m "x" #warps_n},
constexpr GemmTileRow rows[] = {
#define CT3D_GEMM_TILE(...) CT3D_GEMM_ROW("phase_gemm", 0, __VA_ARGS__)
#include "phase_gemm_tiles.inc"
#undef CT3D_GEMM_TILE
#ifdef CT3D_CUDA_SM90
#define CT3D_GEMM_TILE(...) CT3D_GEMM_ROW("phase_gemm_sm90", 90, __VA_ARGS__)
#include "phase_gemm_tiles_sm90.inc"
#undef CT3D_GEMM_TILE
#endif
};
#undef CT3D_GEMM_ROW

// Cycles as measured on an H200.
constexpr GemmTarget target(int32_t arch) {
    return {"phase_gemm_pack", rows, arch, GemmMath::f32, 1.75e9, 5.5, 6.5, 4};
}

Offer consider(const PlanContext &c) {
    const Device &on = device(c.device);
    return consider_phase_gemm(c, on, target(on.compute_capability()));
}

} // namespace

const Candidate phase_gemm_candidate{"phase_gemm", consider};

} // namespace ct3d::cuda
