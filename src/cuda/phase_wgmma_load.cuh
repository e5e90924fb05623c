// SPDX-License-Identifier: MIT
// The warps that load: one the entries of boxes, one the stages of weights. Each goes through the work in the order in
// which it is multiplied; one of its lanes has the copies made.
#pragma once

#include "phase_wgmma_job.cuh"

namespace ct3d::cuda {

template <GemmMath math> class WgmmaEntryLoader {
public:
    __device__ __forceinline__ WgmmaEntryLoader(const PhaseWgmmaParams &params, const WgmmaAddresses &addresses)
        : p(params), o(params.operands), at(addresses),
          ring(addresses.entry_barriers(params.shared), params.shared.entries) {}

    __device__ __forceinline__ void run() {
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x) {
            const WgmmaJob job = wgmma_job(p, index);
            if (p.shared.keep)
                load_planes(job);
            else
                load_by_product(job);
        }
    }

private:
    __device__ __forceinline__ void load_planes(const WgmmaJob &job) {
#pragma unroll 1
        for (int32_t plane = job.z; plane < job.z_end + o.axis[0].reach; ++plane)
#pragma unroll 1
            for (int32_t slab = 0; slab < o.slabs; ++slab)
                load(job, plane + o.axis[0].low, slab);
    }

    __device__ __forceinline__ void load_by_product(const WgmmaJob &job) {
        each_pass(p, job, [&](const WgmmaProducts &products, const WgmmaPass &pass) {
            walk(
                p, products, pass,
                [&](int32_t slab, int32_t cell) { load(job, products.z + o.axis[0].low + cell, slab); },
                [](int32_t, int32_t, int32_t) {});
        });
    }

    __device__ __forceinline__ void load(const WgmmaJob &job, int32_t z, int32_t slab) {
        constexpr int planes = gemm_planes(math);
        ring.wait_emptied();
        __syncwarp(); // all lanes have seen it before it can be emptied again
        if (threadIdx.x % 32 == 0) {
            const uint32_t barrier = ring.filled(ring.slot), to = at.entry(p.shared, ring.slot);
            mbarrier_expect(barrier, planes * p.shared.box_bytes);
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                tensor_load(to + plane * p.shared.plane_bytes, &p.x,
                            (job.group * planes + plane) * o.plane_elements + slab * o.slab_elements,
                            job.x + o.axis[2].low, job.sample, job.y + o.axis[1].low, z, barrier);
        }
        __syncwarp();
        ring.advance();
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const WgmmaAddresses at;
    WgmmaRing ring;
};

class WgmmaStageLoader {
public:
    __device__ __forceinline__ WgmmaStageLoader(const PhaseWgmmaParams &params, const WgmmaAddresses &addresses)
        : p(params), o(params.operands), at(addresses),
          ring(addresses.stage_barriers(params.shared), params.shared.stages) {}

    __device__ __forceinline__ void run() {
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x)
            load_job(wgmma_job(p, index));
    }

private:
    __device__ __forceinline__ void load_job(const WgmmaJob &job) {
        const int64_t tile_bytes = wgmma_stages(o) * o.stage_bytes;
        const unsigned char *const weights = static_cast<const unsigned char *>(p.weights) +
                                             (int64_t{job.group} * o.row_tiles + job.row_tile) * tile_bytes;
        each_pass(p, job, [&](const WgmmaProducts &products, const WgmmaPass &pass) {
            walk(
                p, products, pass, [](int32_t, int32_t) {},
                [&](int32_t, int32_t, int32_t first) {
#pragma unroll 1
                    for (int32_t left = pass.taps; left > 0; left -= p.shared.stage_taps) {
                        load(weights + int64_t{first} * o.stage_bytes, min(left, p.shared.stage_taps) * o.stage_bytes,
                             tile_bytes);
                        first += p.shared.stage_taps;
                    }
                });
        });
    }

    __device__ __forceinline__ void load(const unsigned char *from, int32_t bytes, int64_t tile_bytes) {
        ring.wait_emptied();
        __syncwarp(); // all lanes have seen it before it can be emptied again
        if (threadIdx.x % 32 == 0) {
            const uint32_t barrier = ring.filled(ring.slot);
            mbarrier_expect(barrier, bytes * (1 + p.tile.second_row_tile));
            bulk_load(at.stage(p, ring.slot, 0), from, bytes, barrier);
            if (p.tile.second_row_tile)
                bulk_load(at.stage(p, ring.slot, 1), from + tile_bytes, bytes, barrier);
        }
        __syncwarp();
        ring.advance();
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const WgmmaAddresses at;
    WgmmaRing ring;
};

} // namespace ct3d::cuda
