// SPDX-License-Identifier: MIT
// Forward as a matrix product per phase on matrix units, see phase_gemm_params.hpp.
#pragma once

#include "phase_gemm_box.cuh"
#include "phase_gemm_write.cuh"

namespace ct3d::gpu {

namespace {

struct TapRange {
    int32_t begin, end;
};

// The taps of a phase that some index of a tile reads inside the input.
__device__ __forceinline__ TapRange tap_range(const GemmAxis &axis, int32_t phase, int32_t first) {
    const GemmPhase &f = axis.phase[phase];
    const int32_t last = min(first + static_cast<int32_t>(axis.tile.value), axis.lattice) - 1;
    return {max(0, floor_divide(first + f.first_in - axis.in, axis.in_step) + 1),
            min(f.taps, floor_divide(last + f.first_in, axis.in_step) + 1)};
}

// The weights of the taps that a block multiplies, in the order in which they are packed: by phase of y, phase of x,
// chunk. In each, the taps of a block follow each other without a gap.
template <int threads> class WeightRing {
public:
    __device__ __forceinline__ WeightRing(const PhaseGemmParams &params, const GemmTile &t, TapRange z,
                                          uint32_t tap_bytes, uint32_t shared)
        : p(params), tile(t), z_(z), tap_bytes_(tap_bytes), shared_(shared) {
        from_ = static_cast<const unsigned char *>(p.weights) +
                (int64_t{tile.group} * p.channels.out_blocks + tile.out_block) *
                    gemm_packed_taps(p.axis, p.channels.chunks) * tap_bytes;
        enter();
#pragma unroll 1
        for (int i = 0; i < gemm_ring_stages - 1; ++i)
            load();
    }

    // Shared address of the next stage, after those taken before are no longer needed by any thread.
    __device__ __forceinline__ uint32_t next() {
        cp_async_wait<gemm_ring_stages - 2>();
        __syncthreads();
        load();
        const uint32_t stage = shared_ + read_ * p.stage_taps * tap_bytes_;
        read_ = read_ + 1 == gemm_ring_stages ? 0 : read_ + 1;
        return stage;
    }

private:
    __device__ __forceinline__ void load() {
        if (left_ > 0) {
            const int32_t taps = min(left_, p.stage_taps);
            const uint32_t own = threadIdx.x * 16, bytes = taps * tap_bytes_;
            const uint32_t stage = shared_ + write_ * p.stage_taps * tap_bytes_ + own;
            const unsigned char *const from = run_ + own;
            constexpr uint32_t round = threads * 16;
#pragma unroll
            for (uint32_t at = 0; at < gemm_stage_bytes; at += round)
                if (at + own < bytes)
                    cp_async_16(stage + at, from + at);
#pragma unroll 1
            for (uint32_t at = (gemm_stage_bytes + round - 1) / round * round; at + own < bytes; at += round)
                cp_async_16(stage + at, from + at);
            run_ += bytes;
            left_ -= taps;
            if (left_ == 0)
                advance();
        }
        write_ = write_ + 1 == gemm_ring_stages ? 0 : write_ + 1;
        cp_async_commit();
    }

    __device__ __forceinline__ void advance() {
        if (++chunk_ == p.channels.chunks) {
            chunk_ = 0;
            if (++phase_x_ == p.axis[2].phases) {
                phase_x_ = 0;
                ++phase_y_;
            }
        }
        enter();
    }

    // Finds the taps of a chunk of a phase.
    __device__ __forceinline__ void enter() {
        left_ = 0;
        if (phase_y_ == p.axis[1].phases || z_.begin >= z_.end)
            return;
        const int32_t plane = p.axis[1].phase[phase_y_].taps * p.axis[2].phase[phase_x_].taps;
        left_ = (z_.end - z_.begin) * plane;
        const int32_t first =
            gemm_packed_tap(p.axis, p.channels.chunks, {{tile.phase, phase_y_, phase_x_}, chunk_, {z_.begin, 0, 0}});
        run_ = from_ + int64_t{first} * tap_bytes_;
    }

    const PhaseGemmParams &p;
    const GemmTile &tile;
    const TapRange z_;
    const uint32_t tap_bytes_, shared_;
    const unsigned char *from_, *run_; // of the block; of the taps that are loaded next
    int32_t left_;                     // of those taps
    int32_t phase_y_ = 0, phase_x_ = 0, chunk_ = 0;
    uint32_t read_ = 0, write_ = 0;
};

// The boxes of the chunks, each of which is needed once per phase of x and y; the only one there may be is kept.
class BoxBuffers {
public:
    __device__ __forceinline__ BoxBuffers(const PhaseGemmParams &params, const GemmTile &t, const GemmRow *rows,
                                          uint32_t shared)
        : p(params), tile(t), rows_(rows), shared_(shared) {
        copy_box(p, tile, rows_, 0, shared_);
        cp_async_commit();
    }

    // Shared address of the box of a chunk, chunks in turn; `last`: no other is needed after it.
    __device__ __forceinline__ uint32_t next(int32_t chunk, bool last) {
        if (p.channels.chunks == 1 && used_)
            return shared_;
        if (p.box_buffers == 1 && used_) {
            __syncthreads();
            copy_box(p, tile, rows_, chunk, shared_);
            cp_async_commit();
        }
        cp_async_wait<0>();
        __syncthreads();
        used_ = true;
        if (p.box_buffers == 1)
            return shared_;
        const uint32_t box = shared_ + static_cast<uint32_t>(second_ * p.box_bytes);
        second_ ^= 1;
        if (!last)
            copy_box(p, tile, rows_, chunk + 1 == p.channels.chunks ? 0 : chunk + 1,
                     shared_ + static_cast<uint32_t>(second_ * p.box_bytes));
        return box;
    }

private:
    const PhaseGemmParams &p;
    const GemmTile &tile;
    const GemmRow *const rows_;
    const uint32_t shared_;
    int32_t second_ = 0;
    bool used_ = false;
};

// The boxes that one tap after the other reads: their distances, in bytes of shared memory, from a chunk's box.
class TapShift {
public:
    __device__ __forceinline__ TapShift(const PhaseGemmParams &p, const GemmTile &tile, TapRange z, int32_t phase_y,
                                        int32_t phase_x) {
        const auto &[az, ay, ax] = p.axis;
        const int32_t cell = p.cell_words * 4, row = cell * static_cast<int32_t>(ax.box.value),
                      plane = row * static_cast<int32_t>(ay.box.value);
        x_taps_ = ax.phase[phase_x].taps;
        y_taps_ = ay.phase[phase_y].taps;
        tx_ = x_taps_;
        ty_ = y_taps_;
        x_step_ = -ax.in_step * cell;
        y_step_ = -ay.in_step * row - x_step_ * (x_taps_ - 1);
        z_step_ = -az.in_step * plane - (-ay.in_step * row) * (y_taps_ - 1) - x_step_ * (x_taps_ - 1);
        bytes_ = tap_cell(az, tile.phase, z.begin) * plane + tap_cell(ay, phase_y, 0) * row +
                 tap_cell(ax, phase_x, 0) * cell;
    }

    __device__ __forceinline__ uint32_t bytes() const { return static_cast<uint32_t>(bytes_); }

    __device__ __forceinline__ void advance() {
        if (--tx_ > 0) {
            bytes_ += x_step_;
            return;
        }
        tx_ = x_taps_;
        if (--ty_ > 0) {
            bytes_ += y_step_;
            return;
        }
        ty_ = y_taps_;
        bytes_ += z_step_;
    }

private:
    int32_t bytes_, tx_, ty_, x_taps_, y_taps_, x_step_, y_step_, z_step_;
};

// A warp at its tile of positions by output channels.
template <GemmMath math, int M, int N> class GemmWarp {
public:
    static constexpr int planes = gemm_planes(math);

    // `cells`: of the box, for each row of the first matrix of a fragment, from the box's first byte.
    __device__ __forceinline__ GemmWarp(const PhaseGemmParams &params, const uint32_t (&cells)[M], uint32_t fragments)
        : p(params), fragments_(fragments) {
#pragma unroll
        for (int m = 0; m < M; ++m)
            cells_[m] = cells[m];
    }

    // Multiplies the taps of a stage.
    __device__ __forceinline__ void multiply(Sums<math, M, N> &sums, uint32_t box, TapShift &shift, int32_t taps,
                                             uint32_t weights) const {
        const int32_t tap_steps = p.channels.chunk_words / gemm_step_words;
        int32_t steps = taps * tap_steps, left = tap_steps;
        uint32_t at = box + shift.bytes();
        if constexpr (planes > 1) { // registers hold one step's input
#pragma unroll 1
            for (; steps > 0; --steps) {
                Input input;
                read(input, at);
                next(at, left, box, shift);
                multiply_step(sums, input, weights);
            }
            return;
        }
        Input even, odd;
        read(even, at);
#pragma unroll 1
        for (; steps > 0; steps -= 2) {
            next(at, left, box, shift);
            if (steps > 1)
                read(odd, at);
            multiply_step(sums, even, weights);
            if (steps == 1)
                break;
            next(at, left, box, shift);
            if (steps > 2)
                read(even, at);
            multiply_step(sums, odd, weights);
        }
    }

private:
    struct Input {
        GemmInputWords<M> a[planes];
    };

    __device__ __forceinline__ void next(uint32_t &at, int32_t &left, uint32_t box, TapShift &shift) const {
        if (--left > 0) {
            at += 4 * gemm_step_words;
            return;
        }
        left = p.channels.chunk_words / gemm_step_words;
        shift.advance();
        at = box + shift.bytes();
    }

    __device__ __forceinline__ void read(Input &input, uint32_t at) const {
#pragma unroll
        for (int plane = 0; plane < planes; ++plane)
#pragma unroll
            for (int m = 0; m < M; ++m)
                read_input(input.a[plane][m], cells_[m] + at + 4 * plane * p.channels.chunk_words);
    }

    __device__ __forceinline__ void multiply_step(Sums<math, M, N> &sums, const Input &input, uint32_t &weights) const {
#pragma unroll
        for (int n = 0; n < N; n += gemm_load_fragments) {
            GemmWeightWords b[gemm_load_fragments][planes];
#pragma unroll
            for (int plane = 0; plane < planes; ++plane) {
                const uint32_t from = weights + (plane * fragments_ + n / gemm_load_fragments) * gemm_fragment_bytes;
                GemmWeightWords words[gemm_load_fragments];
                read_weights(words, from);
#pragma unroll
                for (int i = 0; i < gemm_load_fragments; ++i) {
                    b[i][plane][0] = words[i][0];
                    b[i][plane][1] = words[i][1];
                }
            }
#pragma unroll
            for (int i = 0; i < gemm_load_fragments; ++i)
                sums.add(input.a, b[i], n + i);
        }
        sums.end_step();
        weights += planes * fragments_ * gemm_fragment_bytes;
    }

    const PhaseGemmParams &p;
    uint32_t cells_[M];
    const uint32_t fragments_;
};

// Calls body(residue, phase or -1) for each residue of an axis.
template <class Body> __device__ __forceinline__ void for_residues(const GemmAxis &axis, Body &&body) {
    int32_t phase = 0;
#pragma unroll 1
    for (int32_t r = 0; r < axis.stride; ++r) {
        const bool active = phase < axis.phases && axis.phase[phase].out == r;
        body(r, active ? phase : -1);
        phase += active;
    }
}

template <GemmMath math, int M, int N, int warps_m, int warps_n> class GemmBlock {
public:
    static constexpr int block_channels = warps_n * N * gemm_fragment_channels;

    __device__ __forceinline__ GemmBlock(const PhaseGemmParams &params, const GemmTile &t, const GemmOutput<math> &o,
                                         unsigned char *shared)
        : p(params), tile(t), output(o), shared_(shared), spans_(shared + params.output_offset),
          first_row_(threadIdx.x / gemm_wave % warps_m * M * 16),
          column_(threadIdx.x / gemm_wave / warps_m * N * gemm_fragment_channels) {}

    __device__ __forceinline__ void run() {
        const GemmAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
        output.fill_bias(bias_table(), block_channels);
        output.fill_places(places(), block_positions);
        if (tile.phase >= 0)
            find_rows(p, tile, rows());
        __syncthreads();
        if (tile.phase < 0 || ay.phases * ax.phases == 0)
            return write_bias();
        const TapRange z = tap_range(az, tile.phase, tile.first[0]);
        const uint32_t tap_bytes =
            static_cast<uint32_t>(p.channels.chunk_words / gemm_step_words) * planes * fragments * gemm_fragment_bytes;
        WeightRing<gemm_wave * warps_m * warps_n> ring(p, tile, z, tap_bytes, shared_address(shared_ + p.ring_offset));
        BoxBuffers boxes(p, tile, rows(), shared_address(shared_ + p.box_offset));
        uint32_t cells[M];
        find_cells(cells);
        const GemmWarp<math, M, N> warp(p, cells, fragments);
        const uint32_t lane_weights = static_cast<uint32_t>(column_ / 16 * gemm_wave + threadIdx.x % gemm_wave) *
                                      (gemm_fragment_bytes / gemm_wave);
        const bool single = ay.phases * ax.phases == 1;
        Sums<math, M, N> sums;
        if (!p.channels_last && !single && !p.row_spans)
            prepare_spans(!all_taken());
        for_residues(ay, [&](int32_t ry, int32_t phase_y) {
            if (!p.channels_last && !single && p.row_spans)
                prepare_spans(phase_y < 0 || ax.phases < ax.stride);
            for_residues(ax, [&](int32_t rx, int32_t phase_x) {
                if (phase_y < 0 || phase_x < 0) {
                    if (p.channels_last)
                        output.write_last_bias(places(), ry, rx, block_channels);
                    return;
                }
                start(sums);
                const int32_t taps = (z.end - z.begin) * ay.phase[phase_y].taps * ax.phase[phase_x].taps;
#pragma unroll 1
                for (int32_t chunk = 0; chunk < p.channels.chunks && taps > 0; ++chunk) {
                    const bool last =
                        chunk + 1 == p.channels.chunks && phase_y + 1 == ay.phases && phase_x + 1 == ax.phases;
                    const uint32_t box = boxes.next(chunk, last);
                    TapShift shift(p, tile, z, phase_y, phase_x);
#pragma unroll 1
                    for (int32_t tap = 0; tap < taps; tap += p.stage_taps) {
                        const uint32_t weights = ring.next() + lane_weights;
                        warp.multiply(sums, box, shift, min(taps - tap, p.stage_taps), weights);
                    }
                }
                sums.finish();
                if (p.channels_last)
                    output.write_last(sums, places() + opaque(first_row_), opaque(column_), ry, rx);
                else if (single)
                    write_slices(ry, [&](int32_t slice) { scatter(sums, ry, rx, slice); });
                else
                    scatter(sums, ry, rx, 0);
            });
            if (!p.channels_last && !single && p.row_spans)
                store_spans(0, ry);
        });
        if (!p.channels_last && !single && !p.row_spans)
            store_spans(0, 0);
    }

private:
    static constexpr int planes = gemm_planes(math), block_positions = warps_m * M * 16;
    static constexpr uint32_t fragments = block_channels / 16;

    __device__ __forceinline__ float *bias_table() const { return reinterpret_cast<float *>(shared_); }
    __device__ __forceinline__ GemmRow *rows() const {
        return reinterpret_cast<GemmRow *>(shared_ + block_channels * sizeof(float));
    }
    __device__ __forceinline__ GemmPlace *places() const { return reinterpret_cast<GemmPlace *>(rows() + p.box_rows); }

    __device__ __forceinline__ void start(Sums<math, M, N> &sums) const {
        constexpr int own = gemm_lane_channels;
        float bias[N][own];
        const float *const table = bias_table() + opaque(column_) + gemm_lane_quarter(threadIdx.x) * own;
#pragma unroll
        for (int i = 0; i < own * N; ++i)
            bias[i / own][i % own] = table[i / own * gemm_fragment_channels + i % own];
        sums.start(bias);
    }

    // Every residue of x and y has a phase.
    __device__ __forceinline__ bool all_taken() const {
        return p.axis[1].phases == p.axis[1].stride && p.axis[2].phases == p.axis[2].stride;
    }

    __device__ __forceinline__ void find_cells(uint32_t (&cells)[M]) const {
        const auto &[az, ay, ax] = p.axis;
#pragma unroll
        for (int m = 0; m < M; ++m) {
            const int32_t row = first_row_ + m * 16 + threadIdx.x % 16;
            const GemmIndex at = output.position(row < p.tile_positions ? row : 0);
            const uint32_t cell = ((at.sample * az.box.value + at.z) * ay.box.value + at.y) * ax.box.value + at.x;
            cells[m] = 4 * (cell * p.cell_words + gemm_lane_words(threadIdx.x));
        }
    }

    // Before sums are put into the spans: with bias in all of them if some outputs have no sums.
    __device__ __forceinline__ void prepare_spans(bool fill) const {
        __syncthreads();
        if (fill) {
            output.fill_spans(spans_, 0);
            __syncthreads();
        }
    }

    __device__ __forceinline__ void store_spans(int32_t slice, int32_t ry) const {
        before_copies();
        __syncthreads();
        output.store(spans_, slice, ry);
    }

    __device__ __forceinline__ void scatter(const Sums<math, M, N> &sums, int32_t ry, int32_t rx, int32_t slice) const {
        output.scatter(sums, places() + opaque(first_row_), opaque(column_), ry, rx, slice, spans_);
    }

    // The only phase of a block, in residue ry of y, or with ry = -1 none; the spans take the place of box and weights.
    template <class Scatter> __device__ __forceinline__ void write_slices(int32_t ry, Scatter &&scatter_slice) const {
        cp_async_wait<0>();
#pragma unroll 1
        for (int32_t row = 0; row < (p.row_spans ? p.axis[1].stride : 1); ++row)
#pragma unroll 1
            for (int32_t slice = 0; slice < block_channels; slice += p.slice) {
                const bool any = ry >= 0 && (!p.row_spans || row == ry);
                __syncthreads();
                if (!any || p.axis[2].stride > 1 || (!p.row_spans && p.axis[1].stride > 1)) {
                    output.fill_spans(spans_, slice);
                    __syncthreads();
                }
                if (any)
                    scatter_slice(slice);
                store_spans(slice, row);
            }
    }

    __device__ __forceinline__ void write_bias() const {
        if (!p.channels_last)
            return write_slices(-1, [](int32_t) {});
#pragma unroll 1
        for (int32_t ry = 0; ry < p.axis[1].stride; ++ry)
#pragma unroll 1
            for (int32_t rx = 0; rx < p.axis[2].stride; ++rx)
                output.write_last_bias(places(), ry, rx, block_channels);
    }

    const PhaseGemmParams &p;
    const GemmTile &tile;
    const GemmOutput<math> &output;
    unsigned char *const shared_, *const spans_;
    const int32_t first_row_, column_;
};

} // namespace

// The kernel of a row of the tables.
#define CT3D_GEMM_TILE(math, m, n, warps_m, warps_n, blocks)                                                           \
    extern "C" __global__ void __launch_bounds__(gemm_wave *warps_m *warps_n, blocks)                                  \
        ct3d_phase_gemm_##math##_##m##x##n##_##warps_m##x##warps_n(const __grid_constant__ PhaseGemmParams given) {    \
        const PhaseGemmParams &p = launch_params(given);                                                               \
        extern __shared__ __align__(128) unsigned char shared[];                                                       \
        using Block = GemmBlock<GemmMath::math, m, n, warps_m, warps_n>;                                               \
        const GemmTile tile(p);                                                                                        \
        const GemmOutput<GemmMath::math> output(p, tile, Block::block_channels);                                       \
        Block(p, tile, output, shared).run();                                                                          \
    }

} // namespace ct3d::gpu
