// SPDX-License-Identifier: MIT
// Packs weights and input for the phase GEMM for sm_90a: weights into swizzled stages, input into channels-last
// operands. Both are bound by memory, so that all loads of a thread are under way at once. There are fewer than 2^31
// blocks.
#include "phase_wgmma_pack.hpp"

#include "../gpu/divisor.cuh"
#include "gpu.hpp"
#include "../gpu/phase_gemm_operand.cuh"
#include "gpu.hpp"

namespace ct3d::cuda {

namespace {

// Words of each plane, of the elements that `element_of` gives by number.
template <GemmMath math, int planes, int count, class ElementOf>
__device__ __forceinline__ void make_words(uint32_t (&words)[planes][count], const ElementOf &element_of) {
    constexpr int packing = gemm_packing(math);
#pragma unroll
    for (int n = 0; n < count; ++n) {
        typename Operands<math>::Element e[packing];
        uint32_t word[planes];
#pragma unroll
        for (int k = 0; k < packing; ++k)
            e[k] = element_of(n * packing + k);
        Operands<math>::word(e, word);
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
            words[plane][n] = word[plane];
    }
}

// ---- weights

struct AxisTap {
    int32_t residue, tap;
};

// `number` counts the taps of all residues.
__device__ AxisTap find_tap(const WgmmaAxis &axis, int32_t number) {
    int32_t residue = 0;
    while (number >= axis.phase[residue].earlier + axis.phase[residue].taps)
        ++residue;
    return {residue, number - axis.phase[residue].earlier};
}

struct PassTap {
    int32_t pass;
    int32_t stage; // of the pass, for a slab, a tap of z and one of y
    int32_t slot;  // which residue of the pass
    int32_t tap;   // of the residue
};

__device__ PassTap find_pass_tap(const WgmmaOperands &o, int32_t number) {
    PassTap t{};
    while (number >= o.pass[t.pass].earlier + o.pass[t.pass].taps)
        ++t.pass;
    const WgmmaPass &pass = o.pass[t.pass];
    t.tap = t.stage = number - pass.earlier;
    if (const int32_t first = o.axis[2].phase[pass.residue[0]].taps; t.tap >= first) {
        t.slot = 1;
        t.tap -= first;
    }
    return t;
}

// Writes the two chunks of a sector: `low` at offset `at`, `high` 16 bytes after or, where they are swizzled so, before
// it. Two lanes write each other's halves, so that each store has whole sectors.
__device__ __forceinline__ void store_sector(unsigned char *to, int64_t at, const uint32_t (&words)[8]) {
    const bool odd = threadIdx.x % 2 != 0;
    const int64_t other = __shfl_xor_sync(0xffffffff, at, 1);
    uint32_t even_sector[4], odd_sector[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint32_t low = words[i], high = words[4 + i], got = __shfl_xor_sync(0xffffffff, odd ? low : high, 1);
        // Opaque: else the compiler makes of a choice and a store two stores, each by half of the lanes.
        even_sector[i] = static_cast<uint32_t>(opaque(static_cast<int32_t>(odd ? got : low)));
        odd_sector[i] = static_cast<uint32_t>(opaque(static_cast<int32_t>(odd ? high : got)));
    }
    *reinterpret_cast<uint4 *>(to + (odd ? other ^ 16 : at)) =
        make_uint4(even_sector[0], even_sector[1], even_sector[2], even_sector[3]);
    *reinterpret_cast<uint4 *>(to + (odd ? at ^ 16 : other)) =
        make_uint4(odd_sector[0], odd_sector[1], odd_sector[2], odd_sector[3]);
}

// Weights of one output channel and tap.
template <GemmMath math> class WeightPacker {
public:
    using Element = typename Operands<math>::Element;
    static constexpr int planes = gemm_planes(math);
    static constexpr int channels = wgmma_step_bytes / wgmma_operand_bytes(math); // of a step

    __device__ WeightPacker(const WgmmaPackParams &params, int32_t group, uint32_t item) : p(params) {
        const WgmmaOperands &o = p.operands;
        const int32_t taps_y = o.axis[1].all_taps, taps_x = o.pass_taps;
        // Neighbouring lanes read neighbours.
        uint32_t out = item, tap = item;
        if (p.w_out < p.w_step[2])
            out = take_remainder(tap, o.row_tiles * wgmma_tile_channels(o));
        else
            tap = take_remainder(out, o.axis[0].all_taps * taps_y * taps_x);
        const PassTap x = find_pass_tap(o, take_remainder(tap, taps_x));
        const AxisTap y = find_tap(o.axis[1], take_remainder(tap, taps_y));
        const AxisTap z = find_tap(o.axis[0], static_cast<int32_t>(tap));
        find_place(group, static_cast<int32_t>(out), z, y, x);
        find_source(group, static_cast<int32_t>(out), z, y, x);
    }

    __device__ __forceinline__ void pack(int32_t step) const {
        const WgmmaOperands &o = p.operands;
        Element v[channels];
        read(v, step);
        uint32_t words[planes][8];
        make_words<math>(words, [&](int n) { return v[n]; });
        const int32_t bits = o.slab_bytes / 64, slab = step >> bits; // a slab is of 1, 2 or 4 steps
        const uint32_t byte = static_cast<uint32_t>(step - (slab << bits)) * wgmma_step_bytes;
        const int64_t at = place + slab * slab_step + wgmma_swizzle(row, byte, static_cast<uint32_t>(o.slab_bytes));
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
            store_sector(static_cast<unsigned char *>(p.packed_weights), at + plane * (wgmma_rows * o.slab_bytes),
                         words[plane]);
    }

private:
    __device__ void find_place(int32_t group, int32_t out, AxisTap z, AxisTap y, PassTap x) {
        const WgmmaOperands &o = p.operands;
        const int32_t tile = out / wgmma_tile_channels(o), i = out % wgmma_tile_channels(o);
        row = static_cast<uint32_t>(i / o.warp_channels * 16 + i % o.warp_channels);
        const WgmmaPass &pass = o.pass[x.pass];
        const int32_t taps_z = o.axis[0].phase[z.residue].taps, taps_y = o.axis[1].phase[y.residue].taps;
        const int32_t stage =
            wgmma_first_stage(o, z.residue, y.residue, pass) + (z.tap * taps_y + y.tap) * pass.taps + x.stage;
        slab_step = int64_t{taps_z * taps_y * pass.taps} * o.stage_bytes;
        place = ((int64_t{group} * o.row_tiles + tile) * wgmma_stages(o) + stage) * o.stage_bytes;
    }

    __device__ void find_source(int32_t group, int32_t out, AxisTap z, AxisTap y, PassTap x) {
        const WgmmaOperands &o = p.operands;
        in_channels = out < o.out_channels ? o.in_channels : 0;
        source = static_cast<const Element *>(p.w) + int64_t{group} * o.in_channels * p.w_in + out * p.w_out +
                 kernel_tap(0, z) * p.w_step[0] + kernel_tap(1, y) * p.w_step[1] +
                 kernel_tap(2, {o.pass[x.pass].residue[x.slot], x.tap}) * p.w_step[2];
    }

    __device__ int32_t kernel_tap(int a, AxisTap t) const {
        const WgmmaAxis &axis = p.operands.axis[a];
        return axis.phase[t.residue].kernel + t.tap * axis.tap_step;
    }

    // Zero past the last channel.
    __device__ __forceinline__ void read(Element (&v)[channels], int32_t step) const {
        const int32_t left = in_channels - step * channels;
        const Element *from = source + step * channels * p.w_in;
        if (left >= channels) {
#pragma unroll
            for (int i = 0; i < channels; ++i)
                v[i] = from[i * p.w_in];
        } else {
#pragma unroll
            for (int i = 0; i < channels; ++i)
                v[i] = i < left ? from[i * p.w_in] : Element{};
        }
    }

    const WgmmaPackParams &p;
    int32_t in_channels; // 0 for the rows past the last output channel
    const Element *source;
    int64_t place, slab_step; // bytes of packed weights: the stage, and from one slab to the next
    uint32_t row;
};

template <GemmMath math> __device__ __forceinline__ void pack_weights(const WgmmaPackParams &p) {
    const WgmmaOperands &o = p.operands;
    const uint32_t items = static_cast<uint32_t>(wgmma_pack_items(o));
    const int32_t steps = wgmma_pack_steps(o), share = wgmma_steps_per_thread(o);
    uint32_t rest = blockIdx.x;
    const uint32_t part =
        take_remainder(rest, static_cast<int32_t>(wgmma_pack_parts<int64_t>(items, wgmma_pack_threads)));
    const int32_t first = take_remainder(rest, wgmma_pack_parts(steps, share)) * share;
    // Threads past the last item repeat it: lanes help each other.
    const uint32_t item = min(part * wgmma_pack_threads + threadIdx.x, items - 1);
    const WeightPacker<math> packer(p, static_cast<int32_t>(rest), item);
#pragma unroll 1
    for (int32_t step = first; step < min(first + share, steps); ++step)
        packer.pack(step);
}

// ---- input

__device__ __forceinline__ uint32_t bits_of(float v) { return __float_as_uint(v); }
template <class E> __device__ __forceinline__ uint32_t bits_of(E v) { return v.bits; }

// 16 bytes of the input.
template <class E> struct Vector {
    static constexpr int elements = 16 / sizeof(E);
    uint32_t words[4];

    __device__ __forceinline__ E element(int i) const {
        if constexpr (sizeof(E) == 4)
            return __uint_as_float(words[i]);
        else
            return {static_cast<uint16_t>(words[i / 2] >> (i % 2 * 16))};
    }

    // Those of `count` that exist, and zeros. Aligned: all of them or none exist, and lie at a multiple of 16 bytes.
    template <bool aligned> __device__ __forceinline__ void load(const E *from, int64_t count) {
        if constexpr (aligned) {
            const uint4 v = count > 0 ? __ldcs(reinterpret_cast<const uint4 *>(from)) : uint4{};
            words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
        } else {
            constexpr int packing = 4 / sizeof(E);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[i] = 0;
#pragma unroll
                for (int k = 0; k < packing; ++k)
                    if (i * packing + k < count)
                        words[i] |= bits_of(from[i * packing + k]) << (16 * k);
            }
        }
    }
};

// A block's share of the input.
template <GemmMath math> class InputPacker {
public:
    using Element = typename Operands<math>::Element;
    using Source = Vector<Element>;
    static constexpr int planes = gemm_planes(math);
    static constexpr int chunks = 1 << wgmma_plane_chunk_bits(math), chunk_channels = 16 / wgmma_operand_bytes(math);
    static constexpr int thread_chunks = chunks / wgmma_pack_threads; // of each plane
    static constexpr int vectors = thread_chunks * chunk_channels / Source::elements;
    // A thread transposes the same cells of so many channels, which are a part of a cell.
    static constexpr int transposed = vectors, transposed_words = transposed / gemm_packing(math);

    __device__ InputPacker(const WgmmaPackParams &params, uint32_t block) : p(params) {
        const WgmmaOperands &o = p.operands;
        bits = wgmma_cell_chunk_bits(math, o);
        const int32_t cell_chunks = wgmma_cell_chunks(math, o), block_cells = chunks >> bits;
        const int32_t first_chunk = take_remainder(block, wgmma_chunk_blocks(math, o)) << bits;
        const int64_t group = take_remainder(block, o.groups);
        const int64_t first_cell =
            int64_t{take_remainder(block, static_cast<int32_t>(wgmma_cell_blocks(math, p)))} * block_cells;
        const int64_t sample = block;
        cells = static_cast<int32_t>(min(p.cells - first_cell, int64_t{block_cells}));
        chunks_left = cell_chunks - first_chunk;
        channels_left = o.in_channels - first_chunk * chunk_channels;
        source = static_cast<const Element *>(p.x) + sample * p.x_sample + first_cell * p.x_cell +
                 (group * o.in_channels + first_chunk * chunk_channels) * p.x_channel;
        plane_bytes = cell_chunks * 16;
        cell_bytes = int64_t{o.groups} * planes * plane_bytes;
        place = static_cast<unsigned char *>(p.packed_x) + (sample * p.cells + first_cell) * cell_bytes +
                group * planes * plane_bytes + first_chunk * 16;
    }

    // The input has channels last.
    __device__ __forceinline__ void convert() const {
        Source v[vectors];
        if (is_aligned(p.x_cell | p.operands.in_channels))
            load_channels<true>(v);
        else
            load_channels<false>(v);
        store([&](int i, uint4(&out)[planes]) {
            uint32_t words[planes][4];
            make_words<math>(words, [&](int n) {
                const int element = i * chunk_channels + n;
                return v[element / Source::elements].element(element % Source::elements);
            });
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                out[plane] = make_uint4(words[plane][0], words[plane][1], words[plane][2], words[plane][3]);
        });
    }

    // The input has channels first. Shared memory takes the chunks of all cells in their order, but each eight of them
    // (all banks) changed in order by the vector to which their cells belong: threads put in one chunk each of eight
    // vectors at a time, and take out eight neighbouring chunks.
    __device__ __forceinline__ void transpose(uint4 (&shared)[planes][chunks]) const {
        Source v[transposed];
        const int32_t part_bits = bits + (chunk_channels > transposed ? 1 : 0);
        const int32_t part = threadIdx.x / 8 & ((1 << part_bits) - 1),
                      vector = threadIdx.x % 8 + (threadIdx.x >> (3 + part_bits)) * 8;
        if (is_aligned(p.x_channel | p.cells))
            load_cells<true>(v, part * transposed, vector * Source::elements);
        else
            load_cells<false>(v, part * transposed, vector * Source::elements);
        const int32_t chunk = part >> (part_bits - bits);
#pragma unroll
        for (int cell = 0; cell < Source::elements; ++cell) {
            uint32_t words[planes][transposed_words];
            make_words<math>(words, [&](int n) { return v[n].element(cell); });
            const int32_t at = ((vector * Source::elements + cell) << bits | chunk) ^ vector % 8;
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                if constexpr (transposed_words == 4)
                    shared[plane][at] = make_uint4(words[plane][0], words[plane][1], words[plane][2], words[plane][3]);
                else
                    reinterpret_cast<uint2 *>(&shared[plane][at])[part % 2] =
                        make_uint2(words[plane][0], words[plane][1]);
        }
        __syncthreads();
        store([&](int i, uint4(&out)[planes]) {
            const int32_t n = chunk_number(i), at = n ^ (n >> bits) / Source::elements % 8;
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                out[plane] = shared[plane][at];
        });
    }

private:
    __device__ __forceinline__ bool is_aligned(int64_t counts) const {
        return (reinterpret_cast<uintptr_t>(p.x) % 16 | (counts | p.x_sample) % Source::elements) == 0;
    }

    // Of the chunks of a plane that the block packs, with those of a cell together.
    __device__ __forceinline__ int32_t chunk_number(int i) const { return i * wgmma_pack_threads + threadIdx.x; }

    template <bool aligned> __device__ __forceinline__ void load_channels(Source (&v)[vectors]) const {
        constexpr int chunk_vectors = vectors / thread_chunks;
#pragma unroll
        for (int i = 0; i < vectors; ++i) {
            const int32_t n = chunk_number(i / chunk_vectors), cell = n >> bits;
            const int32_t channel = (n & ((1 << bits) - 1)) * chunk_channels + i % chunk_vectors * Source::elements;
            v[i].template load<aligned>(source + cell * p.x_cell + channel, cell < cells ? channels_left - channel : 0);
        }
    }

    template <bool aligned>
    __device__ __forceinline__ void load_cells(Source (&v)[transposed], int32_t channel, int32_t cell) const {
#pragma unroll
        for (int i = 0; i < transposed; ++i)
            v[i].template load<aligned>(source + (channel + i) * p.x_channel + cell,
                                        channel + i < channels_left ? cells - cell : 0);
    }

    // `chunk_of` gives the thread's chunk i of all planes.
    template <class ChunkOf> __device__ __forceinline__ void store(const ChunkOf &chunk_of) const {
        const int32_t cell = chunk_number(0) >> bits, chunk = chunk_number(0) & ((1 << bits) - 1);
        const int32_t step = wgmma_pack_threads >> bits; // cells
        if (chunk >= chunks_left)
            return;
        unsigned char *to = place + cell * cell_bytes + chunk * 16;
#pragma unroll
        for (int i = 0; i < thread_chunks; ++i, to += step * cell_bytes) {
            if (cell + i * step >= cells)
                return;
            uint4 out[planes];
            chunk_of(i, out);
#pragma unroll
            for (int plane = 0; plane < planes; ++plane)
                *reinterpret_cast<uint4 *>(to + plane * plane_bytes) = out[plane];
        }
    }

    const WgmmaPackParams &p;
    const Element *source; // first cell and channel
    unsigned char *place;
    int64_t cell_bytes;
    int32_t bits;  // of the number of chunks of a cell and plane
    int32_t cells; // that exist
    int32_t chunks_left, channels_left, plane_bytes;
};

template <GemmMath math> __device__ __forceinline__ void pack(const WgmmaPackParams &p) {
    __shared__ uint4 shared[InputPacker<math>::planes][InputPacker<math>::chunks];
    if (blockIdx.x < p.weight_blocks) {
        pack_weights<math>(p);
    } else {
        const InputPacker<math> packer(p, blockIdx.x - p.weight_blocks);
        if (p.channels_last)
            packer.convert();
        else
            packer.transpose(shared);
    }
}

} // namespace

#define CT3D_WGMMA_PACK(math)                                                                                          \
    extern "C" __global__ void __launch_bounds__(wgmma_pack_threads)                                                   \
        ct3d_phase_wgmma_pack_##math(const __grid_constant__ WgmmaPackParams p) {                                      \
        pack<GemmMath::math>(p);                                                                                       \
    }
CT3D_WGMMA_PACK(f16)
CT3D_WGMMA_PACK(bf16)
CT3D_WGMMA_PACK(tf32)
CT3D_WGMMA_PACK(f32)
#undef CT3D_WGMMA_PACK

} // namespace ct3d::cuda
