// SPDX-License-Identifier: MIT
// Output in spans, of one warpgroup: a warp that has nothing to load writes the spans that the warpgroup
// puts together, while that multiplies on, and planes and row spans that no tap reaches, which are only bias.
#pragma once

#include "phase_wgmma_span_store.cuh"

namespace ct3d::cuda {

template <GemmMath math, int N> class WgmmaSpanWriter {
public:
    using Element = typename Operands<math>::Element;

    __device__ __forceinline__ WgmmaSpanWriter(const PhaseWgmmaParams &params, const WgmmaAddresses &at,
                                               int32_t warpgroup)
        : p(params), o(params.operands), ring_(at.span_barriers(params.shared, warpgroup), 1), warpgroup_(warpgroup),
          lane_(static_cast<int32_t>(threadIdx.x) % 32), staging_(at.staging(params.shared, warpgroup)) {}

    __device__ __forceinline__ void run() {
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x) {
            job_ = wgmma_job(p, index);
            row_ = (job_.y + warpgroup_ * p.tile.second_y) * o.axis[1].stride;
            channel_ = (job_.row_tile + warpgroup_ * p.tile.second_row_tile) * wgmma_tile_channels(o);
            load_bias();
            write_job();
        }
    }

private:
    __device__ __forceinline__ void write_job() {
        Element *const y = static_cast<Element *>(p.y) +
                           (int64_t{job_.group} * o.out_channels + channel_) * p.out.channel +
                           job_.sample * p.out.sample + row_ * p.out.y + int64_t{job_.x} * o.axis[2].stride * p.out.x;
#pragma unroll 1
        for (int32_t z = job_.z; z < job_.z_end; ++z)
#pragma unroll 1
            for (int32_t rz = job_.z_residue; rz < job_.z_residue_end; ++rz) {
                if (!has_output(o.axis[0], z, rz))
                    continue;
                Element *const plane = y + (int64_t{z} * o.axis[0].stride + rz) * p.out.z;
                if (wgmma_plane_taps(p, z, rz).empty())
                    fill(plane);
                else if (wgmma_hands_over(math, N))
                    write_plane(plane);
            }
    }

    // Spans are of one residue of y, or of all.
    __device__ __forceinline__ void write_plane(Element *plane) {
        const int32_t together = p.out.row_spans ? 1 : job_.y_residue_end - job_.y_residue;
#pragma unroll 1
        for (int32_t residue = job_.y_residue; residue < job_.y_residue_end; residue += together)
            if (p.out.row_spans && wgmma_row_taps(p, job_, residue).empty())
                fill_rows(plane, residue, o.axis[1].stride);
            else if (p.out.handed)
                write_handed(plane, p.out.row_spans ? residue : 0);
    }

    __device__ __forceinline__ void write_handed(Element *plane, int32_t row) {
        ring_.wait_filled();
        store().write(plane + row * p.out.y, row_ + row, p.out.cell_spans ? 1 : room());
        bulk_wait_read<0>();
        mbarrier_arrive(ring_.emptied(0));
        ring_.advance();
    }

    __device__ __forceinline__ WgmmaSpanStore<Element> store() const { return {p, job_, staging_, lane_}; }

    // How many of the tile's channels there are.
    __device__ __forceinline__ int32_t room() const { return min(wgmma_tile_channels(o), o.out_channels - channel_); }

    // A plane. Where rows have no gap between them, the jobs that have the plane share it out by channels, so that
    // spans are longer.
    __device__ __forceinline__ void fill(Element *plane) const {
        const WgmmaAxis &ay = o.axis[1];
        if (job_.y_residue > 0 || row_ >= ay.out) // all rows are written with those of residue 0
            return;
        const int32_t tile_rows = p.tile.y * ay.stride;
        if (store().columns() == o.axis[2].out)
            fill_channels(plane - row_ * p.out.y, 1, 0, ay.out * o.axis[2].out, row_ / tile_rows,
                          (ay.out + tile_rows - 1) / tile_rows);
        else
            fill_rows(plane, 0, 1);
    }

    // Of the tile, every `step` rows from the first.
    __device__ __forceinline__ void fill_rows(Element *plane, int32_t first, int32_t step) const {
        const int32_t rows = min(p.tile.y * o.axis[1].stride, o.axis[1].out - row_) - first;
        fill_channels(plane + first * p.out.y, (rows + step - 1) / step, step * p.out.y, store().columns(), 0, 1);
    }

    static constexpr int bytes = static_cast<int>(sizeof(Element));

    // Of two of the tile's channels a lane has the bias, as often as it fits into a word.
    __device__ __forceinline__ void load_bias() {
        const Element *const from = static_cast<const Element *>(p.bias) + job_.group * o.out_channels + channel_;
#pragma unroll
        for (int i = 0; i < 2; ++i)
            bias_[i] = p.bias && i * 32 + lane_ < room() ? repeated(from[i * 32 + lane_]) : 0;
    }
    __device__ __forceinline__ uint32_t bias(int32_t channel) const {
        return __shfl_sync(0xffffffff, channel < 32 ? bias_[0] : bias_[1], channel % 32);
    }

    // Some spans of each sample, of every `shares` channels from `share` on.
    __device__ __forceinline__ void fill_channels(Element *to, int32_t spans, int64_t step, int32_t length,
                                                  int32_t share, int32_t shares) const {
        const int32_t samples = min(p.tile.samples, p.batch - job_.sample);
#pragma unroll 1
        for (int32_t sample = 0; sample < samples; ++sample)
#pragma unroll 1
            for (int32_t span = 0; span < spans; ++span) {
                Element *const first = to + sample * p.out.sample + span * step;
                if (length * bytes < long_span_bytes)
                    fill_spans<true>(first, length, share, shares);
                else
                    fill_spans<false>(first, length, share, shares);
            }
    }

    // One of each channel; short ones some at once, so that their latency counts once.
    template <bool is_short>
    __device__ __forceinline__ void fill_spans(Element *first, int32_t length, int32_t share, int32_t shares) const {
        const int32_t channels = room();
        const int64_t step = shares * p.out.channel * bytes;
        uintptr_t at = span_address(first + share * p.out.channel);
        constexpr int together = is_short ? 4 : 1;
#pragma unroll together
        for (int32_t channel = share; channel < channels; channel += shares, at += step)
            store_span<Element, is_short>(at, length * bytes, SpanFill<Element>(bias(channel)));
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    WgmmaRing ring_; // of one slot, the warpgroup's spans
    const int32_t warpgroup_, lane_;
    const uint32_t staging_;
    WgmmaJob job_;
    int32_t row_, channel_; // of the output: the tile's first
    uint32_t bias_[2];
};

} // namespace ct3d::cuda
