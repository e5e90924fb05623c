// SPDX-License-Identifier: MIT
// The warpgroup that loads: entries, in the order in which they are multiplied.
#pragma once

#include "../gpu/phase_gemm_operand.cuh"
#include "gpu.hpp"
#include "patch_gemm_job.cuh"

namespace ct3d::cuda {

template <GemmMath math, bool channels_last> class PatchLoader {
public:
    __device__ __forceinline__ PatchLoader(const PatchGemmParams &params, const PatchAddresses &addresses)
        : p(params), at(addresses), thread_(static_cast<int32_t>(threadIdx.x) % 128) {}

    // Threads that arrive when an entry is filled.
    static __device__ __forceinline__ uint32_t threads(const PatchGemmParams &p) { return p.copies ? 1 : 128; }

    __device__ __forceinline__ void run() const {
        if (!p.copies)
            each_entry([&](const PatchRing::Slot &slot, PatchTile tile, int32_t first, int32_t channels) {
                mbarrier_wait(slot.emptied, slot.round ^ 1);
                copy(slot.entry, tile, first, channels);
                mbarrier_arrive(slot.filled);
            });
        else if (thread_ == 0)
            each_entry([&](const PatchRing::Slot &slot, PatchTile tile, int32_t first, int32_t) {
                mbarrier_wait(slot.emptied, slot.round ^ 1);
                mbarrier_expect(slot.filled, patch_entry_bytes);
                load(slot, tile, first);
            });
    }

private:
    using Element = typename Operands<math>::Element;
    static constexpr int bytes = gemm_element_bytes(math), channels_of_entry = patch_channels(math);

    // body(slot, tile, first channel of all groups, how many there are), by turns for each warpgroup.
    template <class Body> __device__ __forceinline__ void each_entry(const Body &body) const {
        const PatchBlock block(p);
        uint32_t number = 0;
#pragma unroll 1
        for (int32_t tile = block.tile; tile < p.tiles; tile += p.warpgroups * p.tile_step)
#pragma unroll 1
            for (int32_t chunk = 0; chunk < p.chunks; ++chunk, ++number)
#pragma unroll 1
                for (int32_t i = 0; i < p.warpgroups; ++i) {
                    const int32_t own = tile + i * p.tile_step, first = chunk * channels_of_entry;
                    if (own < p.tiles)
                        body(PatchRing(p, at, i).slot(number), PatchTile(p, own), block.group * p.in_channels + first,
                             min(p.in_channels - first, channels_of_entry));
                }
    }

    // A row of a swizzled box has at most patch_row_bytes: half of the cells, of four bytes.
    __device__ __forceinline__ void load(const PatchRing::Slot &slot, PatchTile tile, int32_t first) const {
        constexpr int row_cells = patch_row_bytes / bytes;
        if (channels_last)
            tensor_load(slot.entry, &p.x_map, first, tile.cell, tile.sample, 0, 0, slot.filled);
        else
#pragma unroll
            for (int cell = 0; cell < patch_cells; cell += row_cells)
                tensor_load(slot.entry + cell * bytes * channels_of_entry, &p.x_map, tile.cell + cell, first,
                            tile.sample, 0, 0, slot.filled);
    }

    // The same by threads, for tensors that the copy engine does not take.
    __device__ __forceinline__ void copy(uint32_t entry, PatchTile tile, int32_t first, int32_t channels) const {
        const Element *const x =
            static_cast<const Element *>(p.x) + tile.sample * p.x_sample + first * p.x_channel + tile.cell * p.x_x;
        const int32_t cells = min(p.cells - tile.cell, patch_cells);
#pragma unroll 4
        for (int32_t i = thread_; i < patch_cells * channels_of_entry; i += 128) {
            const int32_t channel = channels_last ? i % channels_of_entry : i / patch_cells;
            const int32_t cell = channels_last ? i / channels_of_entry : i % patch_cells;
            Element v{};
            if (channel < channels && cell < cells)
                v = x[channel * p.x_channel + cell * p.x_x];
            const int32_t in_row = (channels_last ? channel : cell) * bytes;
            const int32_t row = channels_last ? cell : in_row / patch_row_bytes * channels_of_entry + channel;
            put(entry + wgmma_swizzle(row, in_row % patch_row_bytes, patch_row_bytes), v);
        }
    }

    static __device__ __forceinline__ void put(uint32_t to, float v) { store_shared(to, v); }
    template <class E> static __device__ __forceinline__ void put(uint32_t to, E v) { store_shared(to, v.bits); }

    const PatchGemmParams &p;
    const PatchAddresses at;
    const int32_t thread_;
};

} // namespace ct3d::cuda
