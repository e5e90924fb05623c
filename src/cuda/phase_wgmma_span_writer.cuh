// SPDX-License-Identifier: MIT
// Output with channels first, of one warpgroup: a warp that has nothing to load writes the spans that the warpgroup
// puts together, while that multiplies on, and planes that no tap of z reaches, which are only bias.
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
                else if (wgmma_hands_over(math, N) && p.out.handed)
                    write_plane(plane);
            }
    }

    // Spans are of one residue of y, or of all.
    __device__ __forceinline__ void write_plane(Element *plane) {
        const int32_t together = p.out.row_spans ? 1 : job_.y_residue_end - job_.y_residue;
#pragma unroll 1
        for (int32_t residue = job_.y_residue; residue < job_.y_residue_end; residue += together) {
            ring_.wait_filled();
            const int32_t row = p.out.row_spans ? residue : 0;
            store().write(plane + row * p.out.y, row_ + row, room());
            bulk_wait_read<0>();
            mbarrier_arrive(ring_.emptied(0));
            ring_.advance();
        }
    }

    __device__ __forceinline__ WgmmaSpanStore<Element> store() const { return {p, job_, staging_, lane_}; }

    // How many of the tile's channels there are.
    __device__ __forceinline__ int32_t room() const { return min(wgmma_tile_channels(o), o.out_channels - channel_); }

    // A plane: of each channel and sample one span, or one of each row. The jobs that have the plane share it out by
    // rows or, where rows have no gap between them, by channels, whose spans are longer.
    __device__ __forceinline__ void fill(Element *plane) const {
        const WgmmaAxis &ay = o.axis[1];
        if (job_.y_residue > 0 || row_ >= ay.out) // all rows are written with those of residue 0
            return;
        const int32_t columns = store().columns(), tile_rows = p.tile.y * ay.stride;
        const bool whole = columns == o.axis[2].out;
        const int32_t shares = whole ? (ay.out + tile_rows - 1) / tile_rows : 1, share = whole ? row_ / tile_rows : 0;
        const int32_t rows = whole ? ay.out : min(tile_rows, ay.out - row_);
        const int32_t spans = whole ? 1 : rows, length = whole ? rows * columns : columns;
        const int32_t samples = min(p.tile.samples, p.batch - job_.sample);
        plane -= whole ? row_ * p.out.y : 0;
#pragma unroll 1
        for (int32_t channel = share; channel < room(); channel += shares) {
            const Element bias =
                p.bias ? static_cast<const Element *>(p.bias)[job_.group * o.out_channels + channel_ + channel]
                       : Element{};
#pragma unroll 1
            for (int32_t sample = 0; sample < samples; ++sample)
#pragma unroll 1
                for (int32_t row = 0; row < spans; ++row)
                    fill_span(plane + channel * p.out.channel + sample * p.out.sample + row * p.out.y, length, bias);
        }
    }

    // By addresses, of which each lane has its own: what all lanes share is computed on the slow, uniform path.
    __device__ __forceinline__ void fill_span(Element *to, int32_t length, Element bias) const {
        const auto begin = reinterpret_cast<uintptr_t>(to) + opaque(0), end = begin + length * sizeof(Element);
        const uintptr_t body = (begin + 15) / 16 * 16, body_end = end / 16 * 16;
        const uint32_t word = repeated(bias);
#pragma unroll 2
        for (uintptr_t at = body + 16 * lane_; at < body_end; at += 16 * 32)
            store_global(reinterpret_cast<void *>(at), make_uint4(word, word, word, word));
        const uintptr_t head = begin + lane_ * sizeof(Element), tail = end - (lane_ + 1) * sizeof(Element);
        if (head < body && head < end)
            *reinterpret_cast<Element *>(head) = bias;
        if (tail >= body_end && tail >= body)
            *reinterpret_cast<Element *>(tail) = bias;
    }

    const PhaseWgmmaParams &p;
    const WgmmaOperands &o;
    WgmmaRing ring_; // of one slot, the warpgroup's spans
    const int32_t warpgroup_, lane_;
    const uint32_t staging_;
    WgmmaJob job_;
    int32_t row_, channel_; // of the output: the tile's first
};

} // namespace ct3d::cuda
