// SPDX-License-Identifier: MIT
// Output with channels first: planes that no tap of z reaches, which are only bias. They are written by the warps that
// have nothing to load.
#pragma once

#include "element.cuh"
#include "phase_wgmma_job.cuh"

namespace ct3d::cuda {

template <class Element> class WgmmaFiller {
public:
    __device__ __forceinline__ WgmmaFiller(const PhaseWgmmaParams &params, int32_t warp, int32_t warps)
        : p(params), o(params.operands), warp_(warp), warps_(warps), lane_(static_cast<int32_t>(threadIdx.x) % 32) {}

    __device__ __forceinline__ void run() const {
#pragma unroll 1
        for (uint32_t index = blockIdx.x; index < p.jobs.count; index += gridDim.x) {
            const WgmmaJob job = wgmma_job(p, index);
            if (job.y_residue > 0)
                continue; // all rows are written with those of residue 0
#pragma unroll 1
            for (int32_t z = job.z; z < job.z_end; ++z)
#pragma unroll 1
                for (int32_t rz = job.z_residue; rz < job.z_residue_end; ++rz)
                    if (has_output(o.axis[0], z, rz) && wgmma_plane_taps(p, z, rz).empty())
                        fill(job, z * o.axis[0].stride + rz);
        }
    }

private:
    // A job's part of a plane: of each channel and sample one span, or one of each row.
    __device__ __forceinline__ void fill(const WgmmaJob &job, int32_t plane) const {
        const WgmmaAxis &ay = o.axis[1], &ax = o.axis[2];
        const int32_t y = job.y * ay.stride, rows = min((p.tile.y + p.tile.second_y) * ay.stride, ay.out - y);
        const int32_t x = job.x * ax.stride, columns = min(p.tile.x * ax.stride, ax.out - x);
        const int32_t first = job.row_tile * wgmma_tile_channels(o);
        const int32_t channels = min((1 + p.tile.second_row_tile) * wgmma_tile_channels(o), o.out_channels - first);
        const int32_t samples = min(p.tile.samples, p.batch - job.sample);
        // Rows as wide as the output have no gap between them.
        const bool whole = columns == ax.out;
        const int32_t spans = whole ? 1 : rows, length = whole ? rows * columns : columns;
        Element *const plane_begin =
            static_cast<Element *>(p.y) + job.sample * p.out.sample + plane * p.out.z + y * p.out.y + x;
#pragma unroll 1
        for (int32_t i = warp_; i < channels; i += warps_) {
            const int32_t channel = job.group * o.out_channels + first + i;
            const Element bias = p.bias ? static_cast<const Element *>(p.bias)[channel] : Element{};
            Element *to = plane_begin + channel * p.out.channel;
#pragma unroll 1
            for (int32_t sample = 0; sample < samples; ++sample, to += p.out.sample)
#pragma unroll 1
                for (int32_t row = 0; row < spans; ++row)
                    fill_span(to + row * p.out.y, length, bias);
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
    const int32_t warp_, warps_, lane_;
};

} // namespace ct3d::cuda
