// SPDX-License-Identifier: MIT
#include "phase_gemm_mfma_kernel.hpp"

#include "../gpu/phase_gemm_kernel.hpp"
#include "device.hpp"

#include <string>
#include <string_view>

namespace ct3d::hip {

namespace {

constexpr GemmTileRow rows[] = {
#define CT3D_GEMM_TILE(...) CT3D_GEMM_ROW("phase_gemm_mfma", 0, 16, 64, __VA_ARGS__)
#include "phase_gemm_mfma_tiles.inc"
#undef CT3D_GEMM_TILE
};

// Clocks and the cycles of instructions as AMD publishes them, for the instructions of phase_gemm_fragment.cuh; a
// product is a quarter of theirs, with 32 threads of 64 and 8 channels of 16. No device has measured what kernels reach
// of it; the cycles between instructions are assumed.
constexpr GemmTarget gfx90a{.pack_image = "phase_gemm_mfma_pack",
                            .rows = rows,
                            .arch = 0,
                            .f32_math = GemmMath::single,
                            .clock = 1.7e9,
                            .issue_cycles = 8,
                            .schedulers = 4,
                            .f16 = {4, 4 * 32 / 4.0},
                            .bf16 = {1, 32 / 4.0},
                            .tf32 = {2, 2 * 32 / 4.0},
                            .f32 = {2, 2 * 32 / 4.0}};
constexpr GemmTarget gfx942{.pack_image = "phase_gemm_mfma_pack",
                            .rows = rows,
                            .arch = 0,
                            .f32_math = GemmMath::single,
                            .clock = 2.1e9,
                            .issue_cycles = 8,
                            .schedulers = 4,
                            .f16 = {1, 16 / 4.0},
                            .bf16 = {1, 16 / 4.0},
                            .tf32 = {1, 16 / 4.0},
                            .f32 = {2, 2 * 32 / 4.0}};

Offer consider(const PlanContext &c) {
    const Device &on = device(c.device);
    const std::string_view arch = on.arch;
    if (arch == "gfx90a")
        return consider_phase_gemm(c, on, gfx90a);
    if (arch == "gfx942")
        return consider_phase_gemm(c, on, gfx942);
    return refuse(std::string("no matrix instructions of this kind on ") + on.arch);
}

} // namespace

const Candidate phase_gemm_mfma_candidate{"phase_gemm_mfma", consider};

} // namespace ct3d::hip
