// SPDX-License-Identifier: MIT
// The order of work of the phase GEMM for sm_90a, which the warps that load and those that multiply go through alike.
#pragma once

#include "../gpu/divisor.cuh"
#include "gpu.hpp"
#include "phase_wgmma_params.hpp"
#include "ptx.cuh"

namespace ct3d::cuda {

struct WgmmaJob {
    int32_t sample, z, z_end, y, x; // first lattice positions of the block
    int32_t group, row_tile;        // the first warpgroup's
    int32_t z_residue, z_residue_end, y_residue, y_residue_end;
};

__device__ __forceinline__ WgmmaJob wgmma_job(const PhaseWgmmaParams &p, uint32_t index) {
    const WgmmaJobs &j = p.jobs;
    const WgmmaTile &t = p.tile;
    const WgmmaJobs::Part &part = j.part[(index >= j.part[1].first) + (index >= j.part[2].first)];
    uint32_t rest = index - part.first;
    const auto take = [&](WideDivisor d) { return static_cast<int32_t>(take_remainder(rest, d)); };
    WgmmaJob job;
    job.y_residue = take(j.y_residues);
    job.y_residue_end = j.y_residues.value > 1 ? job.y_residue + 1 : p.operands.axis[1].stride;
    job.z_residue = take(j.z_residues);
    job.z_residue_end = j.z_residues.value > 1 ? job.z_residue + 1 : p.operands.axis[0].stride;
    job.row_tile = take(j.row_tiles) * (1 + t.second_row_tile);
    job.group = take(j.groups);
    job.x = take(j.x) * t.x;
    job.y = (part.first_y + take(part.y)) * (t.y + t.second_y);
    job.z = (part.first_z + take(part.z)) * j.z_planes;
    job.z_end = min(job.z + j.z_planes, p.operands.axis[0].lattice);
    job.sample = static_cast<int32_t>(rest) * t.samples;
    return job;
}

// Whether a residue of an axis has an output at a lattice position, or at one after it in the tile.
__device__ __forceinline__ bool has_output(const WgmmaAxis &axis, int32_t position, int32_t residue) {
    return position * axis.stride + residue < axis.out;
}

struct TapRange {
    int32_t begin, end;

    __device__ __forceinline__ bool empty() const { return begin >= end; }
};

// The taps of a residue that some of `positions` positions read inside the input.
__device__ __forceinline__ TapRange wgmma_taps(const WgmmaAxis &axis, int32_t residue, int32_t position,
                                               int32_t positions) {
    const WgmmaPhase &phase = axis.phase[opaque(residue)]; // not kept beside the sums
    const int32_t in = position + axis.low + phase.first;
    const auto steps = [&axis](int32_t cells) { // that it takes to go so far, rounded up
        return static_cast<int32_t>(
            divide(static_cast<uint32_t>(max(cells, 0) + axis.in_step.value - 1), axis.in_step));
    };
    return {steps(in - axis.in + 1), min(phase.taps, steps(in + positions))};
}

// Of a lattice position of z.
__device__ __forceinline__ TapRange wgmma_plane_taps(const PhaseWgmmaParams &p, int32_t z, int32_t z_residue) {
    return wgmma_taps(p.operands.axis[0], z_residue, z, 1);
}

// Of a job's positions of y; empty as well where the residue has no output.
__device__ __forceinline__ TapRange wgmma_row_taps(const PhaseWgmmaParams &p, const WgmmaJob &job, int32_t y_residue) {
    const TapRange taps = wgmma_taps(p.operands.axis[1], y_residue, job.y, p.tile.y + p.tile.second_y);
    return {taps.begin, has_output(p.operands.axis[1], job.y, y_residue) ? taps.end : 0};
}

// What is multiplied for one position and residue of z and one residue of y.
struct WgmmaProducts {
    int32_t z, z_residue, y_residue;
    TapRange z_taps, y_taps;

    // Computed from values of which the compiler knows nothing, so that the ranges are not kept in registers beside the
    // sums.
    __device__ __forceinline__ WgmmaProducts(const PhaseWgmmaParams &p, const WgmmaJob &job, int32_t z,
                                             int32_t z_residue, int32_t y_residue)
        : z(z), z_residue(z_residue), y_residue(opaque(y_residue)), z_taps(wgmma_plane_taps(p, opaque(z), z_residue)),
          y_taps(wgmma_row_taps(p, job, this->y_residue)) {}
};

// Goes through one pass of it: entry(slab, cell of z) for each slab and tap of z, then row(slab, cell of y, weights)
// for each tap of y, whose weights are `pass.taps` from those on.
template <class Entry, class Row>
__device__ __forceinline__ void walk(const PhaseWgmmaParams &p, const WgmmaProducts &products, const WgmmaPass &pass,
                                     const Entry &entry, const Row &row) {
    const WgmmaOperands &o = p.operands;
    const WgmmaPhase &fz = o.axis[0].phase[products.z_residue], &fy = o.axis[1].phase[products.y_residue];
    const int32_t first = wgmma_first_stage(o, products.z_residue, products.y_residue, pass);
    const int32_t z_step = static_cast<int32_t>(o.axis[0].in_step.value),
                  y_step = static_cast<int32_t>(o.axis[1].in_step.value);
#pragma unroll 1
    for (int32_t slab = 0; slab < o.slabs; ++slab)
#pragma unroll 1
        for (int32_t t = products.z_taps.begin; t < products.z_taps.end; ++t) {
            entry(slab, fz.first - t * z_step);
#pragma unroll 1
            for (int32_t u = products.y_taps.begin; u < products.y_taps.end; ++u)
                row(slab, fy.first - u * y_step, first + ((slab * fz.taps + t) * fy.taps + u) * pass.taps);
        }
}

// Calls body(products, pass) for all that walk() goes through in a job.
template <class Body>
__device__ __forceinline__ void each_pass(const PhaseWgmmaParams &p, const WgmmaJob &job, const Body &body) {
#pragma unroll 1
    for (int32_t z = job.z; z < job.z_end; ++z)
#pragma unroll 1
        for (int32_t rz = job.z_residue; rz < job.z_residue_end; ++rz) {
            if (!has_output(p.operands.axis[0], z, rz) || wgmma_plane_taps(p, z, rz).empty())
                continue;
#pragma unroll 1
            for (int32_t ry = job.y_residue; ry < job.y_residue_end; ++ry)
                if (!wgmma_row_taps(p, job, ry).empty())
#pragma unroll 1
                    for (int32_t pass = 0; pass < p.operands.passes; ++pass)
                        body(WgmmaProducts(p, job, z, rz, ry), p.operands.pass[pass]);
        }
}

// Slots that are filled and emptied in turn. A slot's barriers: one that what fills it completes, one at which each
// warp arrives that has emptied it.
struct WgmmaRing {
    uint32_t barriers; // [slot]: filled, then [slot]: emptied
    int32_t slots, slot = 0;
    uint32_t round = 0;

    __device__ __forceinline__ WgmmaRing(uint32_t address, int32_t count) : barriers(address), slots(count) {}
    __device__ __forceinline__ uint32_t filled(int32_t s) const { return barriers + 8 * s; }
    __device__ __forceinline__ uint32_t emptied(int32_t s) const { return barriers + 8 * (slots + s); }
    __device__ __forceinline__ void advance() {
        if (++slot == slots) {
            slot = 0;
            round ^= 1;
        }
    }
    __device__ __forceinline__ void wait_filled() const { mbarrier_wait(filled(slot), round); }
    __device__ __forceinline__ void wait_emptied() const { mbarrier_wait(emptied(slot), round ^ 1); }
};

// Where things stand in shared memory; entries from `base` on.
struct WgmmaAddresses {
    uint32_t base;

    __device__ __forceinline__ WgmmaAddresses(const void *shared)
        : base((shared_address(shared) + wgmma_row_alignment - 1) / wgmma_row_alignment * wgmma_row_alignment) {}
    __device__ __forceinline__ uint32_t entry(const WgmmaShared &s, int32_t slot) const {
        return base + slot * s.entry_bytes;
    }
    // The part of a warpgroup's rows, by tap.
    __device__ __forceinline__ uint32_t stage(const PhaseWgmmaParams &p, int32_t slot, int32_t row_tile) const {
        return base + p.shared.stages_offset +
               (slot * (1 + p.tile.second_row_tile) + row_tile) * p.shared.stage_taps * p.operands.stage_bytes;
    }
    __device__ __forceinline__ uint32_t entry_barriers(const WgmmaShared &s) const { return base + s.tables_offset; }
    __device__ __forceinline__ uint32_t stage_barriers(const WgmmaShared &s) const {
        return entry_barriers(s) + 16 * s.entries;
    }
    // Of a warpgroup's spans.
    __device__ __forceinline__ uint32_t span_barriers(const WgmmaShared &s, int32_t warpgroup) const {
        return stage_barriers(s) + 16 * (s.stages + warpgroup);
    }
    // Of a warpgroup: places of its columns, then the bias of its rows.
    __device__ __forceinline__ uint32_t tables(const WgmmaShared &s, int32_t warpgroup, int32_t bytes) const {
        return span_barriers(s, wgmma_warpgroups) + warpgroup * bytes;
    }
    __device__ __forceinline__ uint32_t staging(const WgmmaShared &s, int32_t warpgroup) const {
        return base + s.staging_offset + warpgroup * s.staging_bytes;
    }
};

} // namespace ct3d::cuda
