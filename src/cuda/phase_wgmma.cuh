// SPDX-License-Identifier: MIT
// Forward as a matrix product per phase on the tensor cores of sm_90a, see phase_wgmma_params.hpp.
#pragma once

#include "phase_wgmma_last.cuh"
#include "phase_wgmma_load.cuh"
#include "phase_wgmma_span_writer.cuh"
#include "phase_wgmma_spans.cuh"
#include "phase_wgmma_straight.cuh"

namespace ct3d::cuda {

namespace {

// Of a thread.
constexpr int loading_registers(GemmMath math, int columns) {
    return math != GemmMath::f32 ? 40 : wgmma_hands_over(math, columns) ? 72 : 56;
}
// What the block has got at its launch is all there is.
constexpr int multiplying_registers(GemmMath math, int columns) {
    constexpr int all = 65536 / wgmma_threads / 8 * 8 * (wgmma_warpgroups + 1);
    return (all - loading_registers(math, columns)) / wgmma_warpgroups / 8 * 8;
}

// How outputs are written, each in kernels of its own.
enum class WgmmaWriting { spans, straight, last };

template <GemmMath math, WgmmaResidues residues, int N, WgmmaWriting writing> class WgmmaBlock {
public:
    __device__ __forceinline__ WgmmaBlock(const PhaseWgmmaParams &params, const void *shared) : p(params), at(shared) {}

    __device__ __forceinline__ void run() {
        // Taken from one lane, so that the compiler knows it to be the same for all of a warp.
        const int32_t warp = __shfl_sync(0xffffffff, static_cast<int32_t>(threadIdx.x) / 32, 0);
        const int32_t warpgroup = warp / 4;
        initialise();
        if (warpgroup == wgmma_warpgroups) {
            registers_less<loading_registers(math, N)>();
            if (warp % 4 < 2)
                wait_for_launch_before(); // what it has packed is read
            if (warp % 4 == 0)
                WgmmaEntryLoader<math>(p, at).run();
            else if (warp % 4 == 1)
                WgmmaStageLoader(p, at).run();
            else if constexpr (writing != WgmmaWriting::last)
                WgmmaSpanWriter<math, N>(p, at, warp % 4 - 2).run();
        } else {
            registers_more<multiplying_registers(math, N)>();
            if constexpr (writing == WgmmaWriting::last)
                write_last(warpgroup);
            else if constexpr (writing == WgmmaWriting::straight)
                write_straight(warpgroup);
            else
                write_spans(warpgroup);
        }
    }

private:
    using Tile = WgmmaOutputTile<math, residues, N>;
    using Multiplier = WgmmaMultiplier<math, residues, N>;

    __device__ __forceinline__ void initialise() const {
        if (threadIdx.x == 0) {
            prefetch_tensor_map(&p.x);
            initialise(WgmmaRing(at.entry_barriers(p.shared), p.shared.entries), 1, wgmma_warpgroups * 4);
            initialise(WgmmaRing(at.stage_barriers(p.shared), p.shared.stages), 1, wgmma_warpgroups * 4);
            for (int32_t i = 0; i < wgmma_warpgroups; ++i)
                initialise(WgmmaRing(at.span_barriers(p.shared, i), 1), 128, 32);
            fence_mbarrier_init();
        }
        __syncthreads();
    }

    // With so many arrivals at its barriers.
    __device__ __forceinline__ static void initialise(const WgmmaRing &ring, uint32_t filled, uint32_t emptied) {
#pragma unroll 1
        for (int32_t slot = 0; slot < ring.slots; ++slot) {
            mbarrier_init(ring.filled(slot), filled);
            mbarrier_init(ring.emptied(slot), emptied);
        }
    }

    // body(job, z, residue of z) for each plane of outputs that has products.
    template <class Body>
    __device__ __forceinline__ void each_plane(Multiplier &multiplier, Tile &tile, const Body &body) const {
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x) {
            const WgmmaJob job = wgmma_job(p, index);
            tile.begin(job);
#pragma unroll 1
            for (int32_t z = job.z; z < job.z_end; ++z) {
#pragma unroll 1
                for (int32_t rz = job.z_residue; rz < job.z_residue_end; ++rz)
                    if (has_output(p.operands.axis[0], z, rz) && !wgmma_plane_taps(p, z, rz).empty())
                        body(job, z, rz);
                multiplier.leave(job, z);
            }
        }
    }

    __device__ __forceinline__ void write_spans(int32_t warpgroup) const {
        Multiplier multiplier(p, at, warpgroup);
        Tile tile(p, at.tables(p.shared, warpgroup, Tile::table_bytes));
        WgmmaSpans<math, residues, N> spans(tile, at.staging(p.shared, warpgroup),
                                            at.span_barriers(p.shared, warpgroup));
        each_plane(multiplier, tile,
                   [&](const WgmmaJob &job, int32_t z, int32_t rz) { write_plane(multiplier, spans, job, z, rz); });
        spans.finish();
    }

    // Spans are of one residue of y, or of all.
    __device__ __forceinline__ void write_plane(Multiplier &multiplier, WgmmaSpans<math, residues, N> &spans,
                                                const WgmmaJob &job, int32_t z, int32_t rz) const {
        const WgmmaOperands &o = p.operands;
        const int32_t together = p.out.row_spans ? 1 : job.y_residue_end - job.y_residue;
#pragma unroll 1
        for (int32_t first = job.y_residue; first < job.y_residue_end; first += together) {
            bool begun = false;
            bool fill = p.out.fill;
            if (together > 1) // a span has the rows of residues without products too
#pragma unroll 1
                for (int32_t ry = first; ry < first + together; ++ry)
                    fill |= wgmma_row_taps(p, job, ry).empty();
#pragma unroll 1
            for (int32_t ry = first; ry < first + together; ++ry)
#pragma unroll 1
                for (int32_t pass = 0; pass < o.passes; ++pass) {
                    const WgmmaProducts products(p, job, z, rz, ry);
                    if (products.y_taps.empty())
                        break;
                    multiplier.multiply(products, o.pass[pass]);
                    if (!begun)
                        spans.begin(fill);
                    begun = true;
                    spans.put(multiplier, o.pass[pass], z, rz, ry);
                }
            if (!begun && wgmma_hands_over(math, N) && p.out.row_spans) // the span writer's
                continue;
            if (!begun)
                spans.begin(true);
            spans.end(z, rz, first);
        }
    }

    // Each residue of y has taps.
    __device__ __forceinline__ void write_straight(int32_t warpgroup) const {
        Multiplier multiplier(p, at, warpgroup);
        Tile tile(p, at.tables(p.shared, warpgroup, Tile::table_bytes));
        const WgmmaStraight<math, N> straight(tile);
        each_plane(multiplier, tile, [&](const WgmmaJob &job, int32_t z, int32_t rz) {
#pragma unroll 1
            for (int32_t ry = job.y_residue; ry < job.y_residue_end; ++ry)
                if (has_output(p.operands.axis[1], job.y, ry)) {
                    multiplier.multiply(WgmmaProducts(p, job, z, rz, ry), p.operands.pass[0]);
                    straight.put(multiplier, z, rz, ry);
                }
        });
    }

    __device__ __forceinline__ void write_last(int32_t warpgroup) const {
        const WgmmaOperands &o = p.operands;
        Multiplier multiplier(p, at, warpgroup);
        Tile tile(p, at.tables(p.shared, warpgroup, Tile::table_bytes));
        WgmmaLast<math, residues, N> last(tile, at.staging(p.shared, warpgroup));
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x) {
            const WgmmaJob job = wgmma_job(p, index);
            tile.begin(job);
            last.begin();
#pragma unroll 1
            for (int32_t z = job.z; z < job.z_end; ++z) {
#pragma unroll 1
                for (int32_t rz = job.z_residue; rz < job.z_residue_end; ++rz) {
                    if (!has_output(o.axis[0], z, rz))
                        continue;
                    const bool reached = !wgmma_plane_taps(p, z, rz).empty();
#pragma unroll 1
                    for (int32_t ry = job.y_residue; ry < job.y_residue_end; ++ry) {
                        const bool sums = reached && !wgmma_row_taps(p, job, ry).empty();
                        if (sums)
#pragma unroll 1
                            for (int32_t pass = 0; pass < o.passes; ++pass) {
                                multiplier.multiply(WgmmaProducts(p, job, z, rz, ry), o.pass[pass]);
                                last.put(multiplier, o.pass[pass], z, rz, ry);
                            }
#pragma unroll 1
                        for (int32_t rx = 0; rx < o.axis[2].stride; ++rx)
                            if (!sums || o.axis[2].phase[rx].taps == 0)
                                last.put_bias(z, rz, ry, rx);
                    }
                }
                multiplier.leave(job, z);
            }
        }
    }

    const PhaseWgmmaParams &p;
    const WgmmaAddresses at;
};

} // namespace

#define CT3D_WGMMA_WRITING(math, residues, n, writing)                                                                 \
    extern "C" __global__ void __launch_bounds__(wgmma_threads, 1)                                                     \
        ct3d_phase_wgmma_##math##_##residues##_##n##_##writing(const __grid_constant__ PhaseWgmmaParams p) {           \
        extern __shared__ unsigned char shared[];                                                                      \
        WgmmaBlock<GemmMath::math, WgmmaResidues::residues, n, WgmmaWriting::writing>(p, shared).run();                \
    }
#define CT3D_WGMMA_STRAIGHT_one(math, n)
#define CT3D_WGMMA_STRAIGHT_two(math, n) CT3D_WGMMA_WRITING(math, two, n, straight)
#define CT3D_WGMMA_KERNEL(math, residues, n)                                                                           \
    CT3D_WGMMA_WRITING(math, residues, n, spans)                                                                       \
    CT3D_WGMMA_WRITING(math, residues, n, last)                                                                        \
    CT3D_WGMMA_STRAIGHT_##residues(math, n)

} // namespace ct3d::cuda
