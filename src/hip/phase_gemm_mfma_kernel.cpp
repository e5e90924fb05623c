// SPDX-License-Identifier: MIT
#include "phase_gemm_mfma_kernel.hpp"

#include "../gpu/phase_gemm_kernel.hpp"
#include "device.hpp"
#include "images.hpp"

#include <string>

namespace ct3d::hip {

namespace {

constexpr char image[] = "phase_gemm_mfma";

#define CT3D_GEMM_TILE(math, m, n, warps_m, warps_n, blocks)                                                           \
    {GemmMath::math,                                                                                                   \
     m,                                                                                                                \
     n,                                                                                                                \
     16,                                                                                                               \
     warps_m,                                                                                                          \
     warps_n,                                                                                                          \
     64,                                                                                                               \
     blocks,                                                                                                           \
     image,                                                                                                            \
     0,                                                                                                                \
     "ct3d_phase_gemm_" #math "_" #m "x" #n "_" #warps_m "x" #warps_n},
constexpr GemmTileRow rows[] = {
#include "phase_gemm_mfma_tiles.inc"
};
#undef CT3D_GEMM_TILE

// Rates of a compute unit as AMD publishes them for CDNA 2: a unit takes 32 cycles for a wave's product of 16
// positions, 16 channels and a step in f16. No device has measured what kernels reach of it.
constexpr GemmTarget target{"phase_gemm_mfma_pack", rows, 0, GemmMath::single, 1.7e9, 8, 8, 4};

Offer consider(const PlanContext &c) {
    const Device &on = device(c.device);
    if (!has_image(on, image))
        return refuse(std::string("no matrix instructions of this kind on ") + on.arch);
    return consider_phase_gemm(c, on, target);
}

} // namespace

const Candidate phase_gemm_mfma_candidate{"phase_gemm_mfma", consider};

} // namespace ct3d::hip
