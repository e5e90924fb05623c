// SPDX-License-Identifier: MIT
#include "phase_gemm_kernel.hpp"

#include "../gpu/phase_gemm_kernel.hpp"
#include "device.hpp"

namespace ct3d::cuda {

namespace {

constexpr GemmTileRow rows[] = {
#define CT3D_GEMM_TILE(...) CT3D_GEMM_ROW("phase_gemm", 0, 8, 32, __VA_ARGS__)
#include "phase_gemm_tiles.inc"
#undef CT3D_GEMM_TILE
#ifdef CT3D_CUDA_SM90
#define CT3D_GEMM_TILE(...) CT3D_GEMM_ROW("phase_gemm_sm90", 90, 8, 32, __VA_ARGS__)
#include "phase_gemm_tiles_sm90.inc"
#undef CT3D_GEMM_TILE
#endif
};

// Cycles as measured on an H200.
constexpr GemmTarget target(int32_t arch) {
    return {.pack_image = "phase_gemm_pack",
            .rows = rows,
            .arch = arch,
            .f32_math = GemmMath::f32,
            .clock = 1.75e9,
            .issue_cycles = 5.5,
            .schedulers = 4,
            .f16 = {1, 6.5},
            .bf16 = {1, 6.5},
            .tf32 = {1, 6.5},
            .f32 = {6, 6 * 6.5}};
}

Offer consider(const PlanContext &c) {
    const Device &on = device(c.device);
    return consider_phase_gemm(c, on, target(on.compute_capability()));
}

} // namespace

const Candidate phase_gemm_candidate{"phase_gemm", consider};

} // namespace ct3d::cuda
