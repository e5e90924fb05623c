// SPDX-License-Identifier: MIT
// Forward where the kernel is as large as the stride, on the tensor cores of sm_90a, see patch_gemm_params.hpp.
#include "patch_gemm_load.cuh"
#include "patch_gemm_weights.cuh"
#include "patch_gemm_write.cuh"
#include "wgmma_sums.cuh"

namespace ct3d::cuda {

namespace {

constexpr int multiplying_registers = 152, loading_registers = 56;
// What the block has got at its launch is all there is.
static_assert(patch_warpgroups * multiplying_registers + loading_registers <=
              65536 / patch_threads / 8 * 8 * (patch_warpgroups + 1));

template <GemmMath math, bool channels_last, int N> class PatchGemm {
public:
    __device__ __forceinline__ PatchGemm(const PatchGemmParams &params, const void *shared) : p(params), at(shared) {}

    __device__ __forceinline__ void run() const {
        // Taken from one lane, so that the compiler knows it to be the same for all of a warp.
        const int32_t warp = __shfl_sync(0xffffffff, static_cast<int32_t>(threadIdx.x) / 32, 0);
        const int32_t warpgroup = warp / 4;
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (int32_t i = 0; i < p.warpgroups; ++i)
                PatchRing(p, at, i).initialise(PatchLoader<math, channels_last>::threads(p));
            fence_mbarrier_init();
        }
        __syncthreads();
        if (warpgroup == patch_warpgroups) {
            registers_less<loading_registers>();
            PatchLoader<math, channels_last>(p, at).run();
        } else {
            registers_more<multiplying_registers>();
            constexpr int threads = 128 * patch_warpgroups;
            PatchWeights<math, channels_last>(p, at).pack(static_cast<int32_t>(threadIdx.x), threads);
            group_barrier(1, threads);
            if (warpgroup < p.warpgroups)
                multiply(warpgroup, warp % 4);
        }
    }

private:
    using Operand = PatchOperand<math, channels_last>;
    static constexpr int slab = patch_slab_bytes(math);

    __device__ __forceinline__ void multiply(int32_t warpgroup, int32_t warp) const {
        const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
        PatchWriter<math, channels_last, N> writer(p, at, warp, lane);
        const PatchRing ring(p, at, warpgroup);
        uint32_t number = 0; // of the tile's first entry
#pragma unroll 1
        for (int32_t tile = PatchBlock(p).tile + warpgroup * p.tile_step; tile < p.tiles;
             tile += p.warpgroups * p.tile_step) {
            writer.begin(PatchTile(p, tile));
#pragma unroll 1
            for (int32_t column = 0; column < p.slice_columns; column += N) {
                WgmmaSums<math, N> sums;
                sums.start();
#pragma unroll 1
                for (int32_t chunk = 0; chunk < p.chunks; ++chunk)
                    multiply_entry(sums, ring.slot(number + chunk), chunk, column, warp, lane);
                sums.finish();
                writer.write(sums.d, column);
            }
            number += p.chunks;
        }
    }

    // Entries stay until the last columns have been multiplied with them.
    __device__ __forceinline__ void multiply_entry(WgmmaSums<math, N> &sums, const PatchRing::Slot &slot, int32_t chunk,
                                                   int32_t column, int32_t warp, int32_t lane) const {
        mbarrier_wait(slot.filled, slot.round);
        Operand cells;
        cells.load(slot.entry, warp, lane);
        const WgmmaOperand weights(at.base + (chunk * Operand::planes * p.slice_columns + column) * slab, slab);
        const int32_t plane = p.slice_columns * slab / 16;
        sums.template add<Operand::steps>([&](int step, int i) -> const uint32_t(&)[4] { return cells.a[step][i]; },
                                          [&](int step, int i) { return weights.after(2 * step + i * plane); });
        // Not before: an arrival may overtake loads from shared memory that nothing has waited for, as these products
        // do.
        if (column + N >= p.slice_columns)
            mbarrier_arrive(slot.emptied);
        wgmma_commit();
        wgmma_wait<0>();
    }

    const PatchGemmParams &p;
    const PatchAddresses at;
};

} // namespace

#define CT3D_PATCH_LAYOUT(math, n, layout, channels_last)                                                              \
    extern "C" __global__ void __launch_bounds__(patch_threads, 1)                                                     \
        ct3d_patch_gemm_##math##_##n##_##layout(const __grid_constant__ PatchGemmParams p) {                           \
        extern __shared__ unsigned char shared[];                                                                      \
        PatchGemm<GemmMath::math, channels_last, n>(p, shared).run();                                                  \
    }
#define CT3D_PATCH_ROW(math, n)                                                                                        \
    CT3D_PATCH_LAYOUT(math, n, ncdhw, false)                                                                           \
    CT3D_PATCH_LAYOUT(math, n, ndhwc, true)
#include "patch_gemm_rows.inc"
#undef CT3D_PATCH_ROW

} // namespace ct3d::cuda
