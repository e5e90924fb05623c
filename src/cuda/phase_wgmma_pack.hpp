// SPDX-License-Identifier: MIT
// How the packing for the phase GEMM for sm_90a is cut into blocks, for the host and on the device.
#pragma once

#include "phase_wgmma_params.hpp"

namespace ct3d::cuda {

constexpr int wgmma_pack_threads = 256;

constexpr int wgmma_operand_bytes(GemmMath math) { return math == GemmMath::tf32 ? 4 : 2; }

template <class T> constexpr T wgmma_pack_parts(T count, T part) { return (count + part - 1) / part; }

// ---- weights: a thread packs a few steps, neighbours in the order of channels, of an item: one output channel and tap

// Of a group. Each is at least 32 bytes of packed weights: their number is below 2^31.
constexpr int64_t wgmma_pack_items(const WgmmaOperands &o) {
    return int64_t{o.row_tiles} * wgmma_tile_channels(o) * o.axis[0].all_taps * o.axis[1].all_taps * o.pass_taps;
}
constexpr int32_t wgmma_pack_steps(const WgmmaOperands &o) { return o.slabs * (o.slab_bytes / wgmma_step_bytes); }

// As few as it takes to have enough threads, since finding the place of an item costs as much as some steps.
constexpr int32_t wgmma_steps_per_thread(const WgmmaOperands &o) {
    constexpr int64_t enough = 1 << 17, most = 4;
    const int64_t steps = wgmma_pack_items(o) * wgmma_pack_steps(o) * o.groups / enough;
    return static_cast<int32_t>(steps < 1 ? 1 : steps < most ? steps : most);
}
constexpr int64_t wgmma_weight_blocks(const WgmmaOperands &o) {
    return wgmma_pack_parts<int64_t>(wgmma_pack_items(o), wgmma_pack_threads) *
           wgmma_pack_parts(wgmma_pack_steps(o), wgmma_steps_per_thread(o)) * o.groups;
}

// ---- input: a block packs some 16-byte chunks of each plane of some cells

// Of a block and plane: 64 bytes of the input for each thread.
constexpr int32_t wgmma_plane_chunk_bits(GemmMath math) { return math == GemmMath::f32 ? 9 : 10; }
constexpr int32_t wgmma_cell_chunks(GemmMath math, const WgmmaOperands &o) { // of a cell, group and plane
    return o.plane_elements * wgmma_operand_bytes(math) / 16;
}
// Of those in a block: a line at most.
constexpr int32_t wgmma_cell_chunk_bits(GemmMath math, const WgmmaOperands &o) {
    const int32_t chunks = wgmma_cell_chunks(math, o);
    return chunks > 4 ? 3 : chunks > 2 ? 2 : 1;
}
// How many blocks the cells of a sample make, and the chunks of a cell, group and plane.
constexpr int64_t wgmma_cell_blocks(GemmMath math, const WgmmaPackParams &p) {
    const int32_t bits = wgmma_plane_chunk_bits(math) - wgmma_cell_chunk_bits(math, p.operands);
    return (p.cells + (1 << bits) - 1) >> bits;
}
constexpr int32_t wgmma_chunk_blocks(GemmMath math, const WgmmaOperands &o) {
    const int32_t bits = wgmma_cell_chunk_bits(math, o);
    return (wgmma_cell_chunks(math, o) + (1 << bits) - 1) >> bits;
}
constexpr int64_t wgmma_input_blocks(GemmMath math, const WgmmaPackParams &p) {
    return wgmma_cell_blocks(math, p) * wgmma_chunk_blocks(math, p.operands) * p.operands.groups * p.batch;
}

} // namespace ct3d::cuda
