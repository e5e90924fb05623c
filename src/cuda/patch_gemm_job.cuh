// SPDX-License-Identifier: MIT
// The order of work of the patch GEMM, and where things stand in shared memory.
#pragma once

#include "../gpu/divisor.cuh"
#include "gpu.hpp"
#include "patch_gemm_params.hpp"
#include "ptx.cuh"

namespace ct3d::cuda {

// A block's columns and its first tile.
struct PatchBlock {
    int32_t group, slice, tile;

    __device__ __forceinline__ explicit PatchBlock(const PatchGemmParams &p) {
        uint32_t rest = blockIdx.x, of_all = take_remainder(rest, p.slices);
        slice = static_cast<int32_t>(take_remainder(of_all, p.group_slices));
        group = static_cast<int32_t>(of_all);
        tile = static_cast<int32_t>(rest);
    }
};

struct PatchTile {
    int32_t sample, cell; // the first one

    __device__ __forceinline__ PatchTile(const PatchGemmParams &p, int32_t tile) {
        uint32_t rest = tile;
        cell = static_cast<int32_t>(take_remainder(rest, p.sample_tiles)) * patch_cells;
        sample = static_cast<int32_t>(rest);
    }
};

// The output channel and tap of a column of a group; channel past the last: none.
struct PatchColumn {
    int32_t channel, z, y, x;

    template <GemmMath math, bool channels_last>
    static __device__ __forceinline__ PatchColumn of(const PatchGemmParams &p, int32_t column) {
        const int32_t taps_bits = p.z_bits + p.y_bits;
        if constexpr (channels_last) {
            constexpr int32_t block = patch_block_channels(math);
            const int32_t in = column % block, rest = column / block, tap = rest >> 1 & ((1 << taps_bits) - 1);
            return {(rest >> (1 + taps_bits)) * block + gemm_channel(2, in / 8, in % 8, patch_vector(math), true),
                    tap >> p.y_bits, tap & ((1 << p.y_bits) - 1), rest & 1};
        } else {
            return {column >> (1 + taps_bits), column >> (1 + p.y_bits) & ((1 << p.z_bits) - 1),
                    column >> 1 & ((1 << p.y_bits) - 1), column & 1};
        }
    }
};

struct PatchAddresses {
    uint32_t base;

    __device__ __forceinline__ explicit PatchAddresses(const void *shared)
        : base((shared_address(shared) + wgmma_row_alignment - 1) / wgmma_row_alignment * wgmma_row_alignment) {}
    __device__ __forceinline__ uint32_t bias(const PatchGemmParams &p, int32_t column) const {
        return base + p.shared.bias + 4 * column;
    }
};

// Of a warpgroup: slots that are filled and emptied in turn, by the number of the entry that stands in them.
class PatchRing {
public:
    __device__ __forceinline__ PatchRing(const PatchGemmParams &p, const PatchAddresses &at, int32_t warpgroup)
        : slots_(p.entries), first_(at.base + p.shared.ring + warpgroup * p.entries.value * patch_entry_bytes),
          barriers_(at.base + p.shared.barriers + warpgroup * p.entries.value * 16) {}

    // `loading`: threads that say that a slot is filled.
    __device__ __forceinline__ void initialise(uint32_t loading) const {
#pragma unroll 1
        for (uint32_t slot = 0; slot < slots_.value; ++slot) {
            mbarrier_init(barriers_ + 16 * slot, loading);
            mbarrier_init(barriers_ + 16 * slot + 8, 128);
        }
    }

    struct Slot {
        uint32_t entry, filled, emptied, round;
    };
    __device__ __forceinline__ Slot slot(uint32_t number) const {
        uint32_t round = number;
        const uint32_t index = take_remainder(round, slots_);
        return {first_ + index * patch_entry_bytes, barriers_ + 16 * index, barriers_ + 16 * index + 8, round & 1};
    }

private:
    const WideDivisor slots_;
    const uint32_t first_, barriers_;
};

} // namespace ct3d::cuda
