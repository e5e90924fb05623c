// SPDX-License-Identifier: MIT
// Packing for the phase GEMM, for each kind of arithmetic that MFMA has.
#include "../gpu/phase_gemm_pack.cuh"

namespace ct3d::gpu {

CT3D_GEMM_PACK(f16)
CT3D_GEMM_PACK(bf16)
CT3D_GEMM_PACK(tf32)
CT3D_GEMM_PACK(single)

} // namespace ct3d::gpu
