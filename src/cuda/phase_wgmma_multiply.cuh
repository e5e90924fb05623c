// SPDX-License-Identifier: MIT
// A warpgroup that multiplies: goes through the rings of entries and stages, one pass at a time.
#pragma once

#include "phase_wgmma_job.cuh"
#include "wgmma_sums.cuh"

namespace ct3d::cuda {

template <GemmMath math, WgmmaResidues residues, int N> class WgmmaMultiplier {
public:
    static constexpr int sets = residues == WgmmaResidues::two ? 2 : 1;
    WgmmaSums<math, N> sums[sets];

    __device__ __forceinline__ WgmmaMultiplier(const PhaseWgmmaParams &params, const WgmmaAddresses &addresses,
                                               int32_t warpgroup)
        : p(params), o(params.operands), at(addresses),
          entries(addresses.entry_barriers(params.shared), params.shared.entries),
          stages(addresses.stage_barriers(params.shared), params.shared.stages),
          cells(addresses.base + warpgroup * params.tile.second_y * params.tile.row_y * params.operands.slab_bytes,
                params.operands.slab_bytes),
          weights(addresses.stage(params, 0, warpgroup * params.tile.second_row_tile), params.operands.slab_bytes),
          entry_units(params.shared.entry_bytes / 16), row_units(params.operands.slab_bytes / 16),
          y_step(params.tile.row_y * row_units), tap_units(params.operands.stage_bytes / 16),
          stage_units(params.shared.stage_taps * params.operands.stage_bytes / 16 * (1 + params.tile.second_row_tile)) {
    }

    // The sums of one pass; other warps may still multiply.
    __device__ __forceinline__ void multiply(const WgmmaProducts &products, const WgmmaPass &pass) {
        x_step = static_cast<int32_t>(o.axis[2].in_step.value) * row_units;
#pragma unroll
        for (int s = 0; s < sets; ++s) {
            sums[s].start();
            const WgmmaPhase &f = o.axis[2].phase[pass.residue[s]];
            taps[s] = s < pass.residues ? f.taps : 0;
            x_units[s] = f.first * row_units;
        }
        whole = pass.taps <= p.shared.stage_taps;
        const auto entry = [&](int32_t slab, int32_t cell) { take_entry(slab, cell); };
        const auto row = [&](int32_t, int32_t cell, int32_t) {
            const int32_t y_units = cell * y_step;
            if (steps == 4)
                multiply_row<4>(y_units);
            else if (steps == 2)
                multiply_row<2>(y_units);
            else if (steps == 1)
                multiply_row<1>(y_units);
            else
                multiply_row<3>(y_units);
        };
        walk(p, products, pass, entry, row);
        wgmma_wait<0>();
        release();
        if (!p.shared.keep) {
            empty(entries, held);
            held = -1;
        }
#pragma unroll
        for (int s = 0; s < sets; ++s)
            sums[s].finish();
    }

    // Entries that are kept: those of the plane `z` are not needed any more, and at the end of a job none is.
    __device__ __forceinline__ void leave(const WgmmaJob &job, int32_t z) {
        if (!p.shared.keep)
            return;
        const int32_t planes = z + 1 == job.z_end ? 1 + o.axis[0].reach : 1;
#pragma unroll 1
        for (int32_t i = 0; i < planes * o.slabs; ++i) {
            entries.wait_filled(); // one that nothing was multiplied with
            __syncwarp();          // all lanes have seen it before it can be filled again
            empty(entries, entries.slot);
            entries.advance();
        }
    }

private:
    __device__ __forceinline__ void take_entry(int32_t slab, int32_t cell) {
        steps = slab + 1 == o.slabs ? o.last_steps : row_units / 2;
        if (p.shared.keep) {
            int32_t slot = entries.slot + cell * o.slabs + slab;
            const bool past = slot >= entries.slots;
            slot -= past ? entries.slots : 0;
            mbarrier_wait(entries.filled(slot), entries.round ^ static_cast<uint32_t>(past));
            box = slot * entry_units;
            return;
        }
        left = held; // each entry has a stage, whose release() comes before this is set again
        held = entries.slot;
        entries.wait_filled();
        box = entries.slot * entry_units;
        entries.advance();
    }

    // All taps of x for one tap of z and one of y; whole: of which a stage has the weights.
    template <int steps> __device__ __forceinline__ void multiply_row(int32_t y_units) {
        if (whole)
            multiply_residues<steps, true>(y_units);
        else
            multiply_residues<steps, false>(y_units);
    }

    template <int steps, bool whole> __device__ __forceinline__ void multiply_residues(int32_t y_units) {
        left_taps = 0;
        if (whole)
            begin_stage();
        multiply_residue<0, steps, whole>(y_units);
        if constexpr (sets == 2)
            multiply_residue<1, steps, whole>(y_units);
        if (whole || left_taps > 0)
            end_stage();
    }

    template <int set, int steps, bool whole> __device__ __forceinline__ void multiply_residue(int32_t y_units) {
        int32_t units = box + y_units + x_units[set];
#pragma unroll 1
        for (int32_t t = taps[set]; t > 0; --t) {
            if (!whole && left_taps == 0)
                begin_stage();
            const WgmmaOperand left = weights.moved(stage), right = cells.moved(units);
            sums[set].template add<steps>(
                [&](int step, int plane) { return left.after(2 * step + plane * wgmma_rows * row_units); },
                [&](int step, int plane) { return right.after(2 * step + plane * (p.shared.plane_bytes / 16)); });
            stage += tap_units;
            units -= x_step;
            if (!whole && --left_taps == 0)
                end_stage();
        }
    }

    __device__ __forceinline__ void begin_stage() {
        stages.wait_filled();
        stage = stages.slot * stage_units;
        left_taps = p.shared.stage_taps;
    }

    __device__ __forceinline__ void end_stage() {
        wgmma_commit();
        wgmma_wait<1>();
        release();
        multiplied = stages.slot;
        stages.advance();
        left_taps = 0;
    }

    // What the products before the last committed ones have read.
    __device__ __forceinline__ void release() {
        if (multiplied >= 0)
            empty(stages, multiplied);
        if (left >= 0)
            empty(entries, left);
        multiplied = left = -1;
    }

    __device__ __forceinline__ void empty(const WgmmaRing &ring, int32_t slot) const {
        if (threadIdx.x % 32 == 0)
            mbarrier_arrive(ring.emptied(slot));
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    const WgmmaAddresses at;
    WgmmaRing entries, stages;
    // Operands of this warpgroup in slot 0. Units are 16 bytes.
    const WgmmaOperand cells, weights;
    const int32_t entry_units, row_units, y_step, tap_units, stage_units;
    int32_t steps = 0;                         // matrix instructions of a tap
    int32_t x_step, taps[sets], x_units[sets]; // of the pass: from a tap to the next, taps, tap 0
    int32_t box = 0, stage = 0;                // the entry that is multiplied, the weights of the next tap
    bool whole = false;                        // whether a stage has the weights of all taps of x
    int32_t left_taps = 0;                     // that the stage has room for
    int32_t multiplied = -1;                   // stage, not yet released
    int32_t held = -1, left = -1;              // entries: in use; not in use any more, not yet released
};

} // namespace ct3d::cuda
