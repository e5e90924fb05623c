// SPDX-License-Identifier: MIT
// A thread of the phase kernel at work on one item: products in tiles, written into the output.
#pragma once

#include "phase_geometry.hpp"
#include "workspace.hpp"

#include <algorithm>
#include <vector>

namespace ct3d::cpu {

template <class T> const PhaseLoops<T> &loops();
template <> inline const PhaseLoops<float> &loops() { return best_isa().phase_f32; }
template <> inline const PhaseLoops<double> &loops() { return best_isa().phase_f64; }

template <class T> struct PhaseWorkspace {
    PhaseWorkspace(const PhaseGeometry &g, void *memory) : g_(g) {
        Parts parts(memory);
        bias = parts.take<T>(g.bias_bytes);
        weights = parts.take<T>(g.weights_bytes);
        boxes = parts.take<T>(g.boxes_bytes);
        panels_ = parts.take<unsigned char>(g.panels_bytes * static_cast<uint64_t>(g.threads));
        taps_ = parts.take<unsigned char>(g.taps_bytes * static_cast<uint64_t>(g.threads));
        sums_ = parts.take<unsigned char>(g.sums_bytes * static_cast<uint64_t>(g.threads));
    }
    T *panels(int32_t thread) const { return at<T>(panels_, g_.panels_bytes, thread); }
    int64_t *taps(int32_t thread) const { return at<int64_t>(taps_, g_.taps_bytes, thread); }
    T *sums(int32_t thread) const { return at<T>(sums_, g_.sums_bytes, thread); }

    T *bias, *weights, *boxes;

private:
    template <class U> static U *at(void *base, uint64_t bytes, int32_t thread) {
        return static_cast<U *>(
            static_cast<void *>(static_cast<unsigned char *>(base) + bytes * static_cast<uint64_t>(thread)));
    }
    const PhaseGeometry &g_;
    unsigned char *panels_, *taps_, *sums_;
};

// Asks for memory that is soon read (0) or written (1).
template <int write> void fetch(const unsigned char *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += cache_line)
        __builtin_prefetch(from + at, write);
}

// How early the input of a channel is asked for: as long as the memory takes.
constexpr int64_t channels_ahead = 8;

// What a thread takes at once: some rows of a slab, and some blocks of output channels.
struct PhaseItem {
    int64_t sample; // of those staged
    int64_t group, slab;
    Range rows, blocks;
};

// What all workers of a kernel share.
template <class T> struct PhaseJob {
    PhaseJob(const PlanContext &c, const PhaseGeometry &g)
        : desc(c.desc), phases(c.phases), geometry(g), x(input_strides(desc)), y(output_strides(desc)),
          w(weight_strides(desc)), taps(desc.kernel[0] * desc.kernel[1] * desc.kernel[2]) {
        for (int64_t v = 1; v <= g.tile_vectors; ++v)
            tiles.push_back(loops<T>().tiles.find(static_cast<size_t>(g.tile_rows), static_cast<size_t>(v)));
        pairs = writes_pairs();
    }

    const Desc desc;
    const PhaseTable phases;
    const PhaseGeometry geometry;
    const ActivationStrides x, y;
    const WeightStrides w;
    const int64_t taps;           // of the kernel
    std::vector<TileFn<T>> tiles; // by vectors, from 1
    bool pairs;                   // both residues of x read one tap of the same inputs and are streamed unconverted

private:
    bool writes_pairs() const {
        return geometry.folded && geometry.stream_rows && desc.layout == Layout::ncdhw &&
               element_size(desc.dtype) == sizeof(T) && desc.stride[2] == 2 && phases.axis[2].phases.size() == 2 &&
               static_cast<size_t>(geometry.tile_rows) == loops<T>().tiles.shapes[0].rows;
    }
};

template <class T> class PhaseWorker {
public:
    PhaseWorker(const PhaseJob<T> &job, const ct3d_buffers &b, const PhaseWorkspace<T> &workspace, int64_t first_sample,
                const PhaseItem &item, int32_t thread)
        : job_(job), g_(job.geometry), item_(item), slab_(item.slab), x_offsets_(workspace.taps(thread)),
          w_offsets_(x_offsets_ + g_.most_taps), sums_(workspace.sums(thread)), panels_(workspace.panels(thread)),
          box_(workspace.boxes + (item.sample * job_.desc.groups + item.group) * g_.box),
          weights_(workspace.weights +
                   item.group * g_.blocks * g_.tile_rows * job_.taps * job_.desc.in_channels_per_group()),
          bias_(workspace.bias + item.group * job_.desc.out_channels_per_group()),
          element_size_(static_cast<int64_t>(element_size(job_.desc.dtype))),
          input_(static_cast<const unsigned char *>(b.x) +
                 ((first_sample + item.sample) * job_.x.n + item.group * job_.desc.in_channels_per_group() * job_.x.c) *
                     element_size_),
          y_(static_cast<unsigned char *>(b.y) +
             ((first_sample + item.sample) * job_.y.n + item.group * job_.desc.out_channels_per_group() * job_.y.c) *
                 element_size_),
          emit_(loops<T>().emit(job_.desc.dtype, job_.desc.layout)) {}

    void run() {
        if (g_.folded) {
            copy_panels();
            for (slab_ = 0; slab_ < std::min(job_.desc.stride[0], job_.desc.out[0]); ++slab_)
                run_slab();
        } else {
            run_slab();
        }
        loops<T>().finish();
    }

private:
    struct Channels {
        int64_t first, count;
    };

    void run_slab() {
        const AxisPhase *z = job_.phases.axis[0].phase_of(slab_);
        if (!z && !g_.folded)
            return write_bias_plane();
        const int64_t jz = g_.folded ? 0 : slab_ / job_.desc.stride[0];
        for (int64_t residue = 0; residue < std::min(job_.desc.stride[1], job_.desc.out[1]); ++residue) {
            const AxisPhase *y = job_.phases.axis[1].phase_of(residue);
            if (z && y && !job_.phases.axis[2].phases.empty())
                run_phases(*z, jz, *y);
            else
                write_bias_rows(residue);
        }
    }

    // Where a lattice row of a residue of y lies in the output, or null where it lies past its end.
    unsigned char *output_row(int64_t row, int64_t residue) const {
        const int64_t oz = slab_ + row / g_.plane_rows * job_.desc.stride[0];
        const int64_t oy = residue + row % g_.plane_rows * job_.desc.stride[1];
        if (oz >= job_.desc.out[0] || oy >= job_.desc.out[1])
            return nullptr;
        return y_ + (oz * job_.y.z + oy * job_.y.y) * element_size_;
    }

    void emit(unsigned char *row, Range outputs, Channels c, const T *const *sums, int64_t stride, bool stream) const {
        emit_({row + (c.first * job_.y.c + outputs.begin * job_.y.x) * element_size_, job_.y.x, job_.y.c,
               outputs.end - outputs.begin, c.count, sums, stride, g_.tile_lanes(), bias_ + c.first, stream});
    }

    Channels all_channels() const {
        const int64_t first = item_.blocks.begin * g_.tile_rows;
        return {first, std::min(item_.blocks.end * g_.tile_rows, job_.desc.out_channels_per_group()) - first};
    }

    void write_bias_rows(int64_t residue) const {
        for (int64_t row = item_.rows.begin; row < item_.rows.end; ++row)
            if (unsigned char *out = output_row(row, residue))
                emit(out, {0, job_.desc.out[2]}, all_channels(), nullptr, 1, g_.stream_rows);
    }

    // The rows of an item that is only bias follow each other without a gap.
    void write_bias_plane() const {
        const int64_t first = item_.rows.begin * job_.desc.stride[1];
        const int64_t last = std::min(item_.rows.end * job_.desc.stride[1], job_.desc.out[1]);
        emit(output_row(item_.rows.begin, 0), {0, (last - first) * job_.desc.out[2]}, all_channels(), nullptr, 1,
             g_.stream_planes);
    }

    // The lanes of all rows of a run, up to the last column.
    Range lanes_of(Range rows) const { return {rows.begin * g_.width, (rows.end - 1) * g_.width + g_.columns}; }

    void copy_panels() const {
        const Range lanes = lanes_of(item_.rows);
        const int64_t channels = job_.desc.in_channels_per_group(), step = g_.even_tile(lanes.end - lanes.begin);
        const StageFn<T> stage = loops<T>().stage(job_.desc.dtype);
        for (int64_t c = 0; c < channels; ++c) {
            if (job_.desc.layout == Layout::ncdhw && c + channels_ahead < channels)
                fetch<0>(input_at(lanes.begin, c + channels_ahead), (lanes.end - lanes.begin) * element_size_);
            for (int64_t lane = lanes.begin; lane < lanes.end; lane += step)
                stage(input_at(lane, c), job_.x.x, panels_ + (lane - lanes.begin) * channels + c * step,
                      std::min(step, lanes.end - lane));
        }
    }

    const unsigned char *input_at(int64_t lane, int64_t channel) const {
        const int64_t first_plane = job_.phases.axis[0].phases[0].first_in;
        return input_ + (channel * job_.x.c + (first_plane * g_.plane + lane) * job_.x.x) * element_size_;
    }

    void run_phases(const AxisPhase &z, int64_t jz, const AxisPhase &y) {
        const int64_t last_row = std::min(item_.rows.end, g_.folded ? g_.rows : y.count);
        if (item_.rows.begin >= last_row)
            return;
        const Range lanes = lanes_of({item_.rows.begin, last_row});
        const T *box = box_ + (z.first_in + jz) * g_.plane + (y.first_in - g_.low_y) * g_.width - g_.low_x;
        const int64_t tile_lanes = g_.even_tile(lanes.end - lanes.begin);
        const int64_t panel = job_.desc.in_channels_per_group() * tile_lanes;
        Range listed{-1, -1};
        for (int64_t lane = lanes.begin; lane < lanes.end; lane += tile_lanes) {
            const Range tile{lane, std::min(lane + tile_lanes, lanes.end)};
            const Range tap_rows = reached_rows(y, tile);
            if (tap_rows.begin != listed.begin || tap_rows.end != listed.end)
                list_taps(z, jz, y, tap_rows);
            listed = tap_rows;
            x_ = g_.folded ? panels_ + (lane - lanes.begin) / tile_lanes * panel : box + lane;
            x_stride_ = g_.folded ? tile_lanes : g_.channel_stride;
            for (int64_t block = item_.blocks.begin; block < item_.blocks.end; block += g_.emit_blocks)
                run_tile(y, tile, {block, std::min(block + g_.emit_blocks, item_.blocks.end)});
        }
    }

    // The taps of y that some row of a tile reads inside the input.
    Range reached_rows(const AxisPhase &y, Range lanes) const {
        if (g_.folded)
            return {0, 1};
        return valid_taps(job_.phases.axis[1], y, lanes.begin / g_.width, (lanes.end - 1) / g_.width + 1,
                          job_.desc.in[1]);
    }

    // Offsets of input and weights, per phase of x and tap.
    void list_taps(const AxisPhase &z, int64_t jz, const AxisPhase &y, Range tap_rows) {
        const auto &[tz, ty, tx] = job_.phases.axis;
        const Range planes = valid_taps(tz, z, jz, jz + 1, job_.desc.in[0]);
        const int64_t step = job_.desc.in_channels_per_group() * g_.tile_rows;
        int64_t next = 0;
        for (size_t p = 0; p < tx.phases.size(); ++p) {
            const AxisPhase &x = tx.phases[p];
            first_tap_[p] = next;
            for (int64_t a = planes.begin; a < planes.end; ++a)
                for (int64_t b = tap_rows.begin; b < tap_rows.end; ++b)
                    for (int64_t c = 0; c < x.taps; ++c, ++next) {
                        const int64_t kz = z.first_tap + a * tz.tap_step, ky = y.first_tap + b * ty.tap_step;
                        const int64_t kx = x.first_tap + c * tx.tap_step;
                        x_offsets_[next] =
                            x.first_in - a * tz.in_step * g_.plane - b * ty.in_step * g_.width - c * tx.in_step;
                        w_offsets_[next] = ((kz * job_.desc.kernel[1] + ky) * job_.desc.kernel[2] + kx) * step;
                    }
        }
        first_tap_[tx.phases.size()] = next;
    }

    void run_tile(const AxisPhase &y, Range lanes, Range blocks) {
        const int64_t first = blocks.begin * g_.tile_rows;
        const Channels channels{first, std::min(blocks.end * g_.tile_rows, job_.desc.out_channels_per_group()) - first};
        if (g_.prefetch)
            for_rows(y, lanes, [&](unsigned char *row, Range, Range outputs) { prefetch(row, outputs, channels); });
        if (unsigned char *out = pairs_of(y, lanes, first))
            return write_pairs(out, lanes, blocks);
        for (int64_t block = blocks.begin; block < blocks.end; ++block)
            multiply(lanes, block, (block - blocks.begin) * g_.tile_rows * g_.tile_lanes());
        write(y, lanes, channels);
    }

    // Calls body(row of the output, lanes, outputs along x) for each lattice row, or part of one, of a tile.
    template <class Body> void for_rows(const AxisPhase &y, Range lanes, Body &&body) const {
        const int64_t stride = job_.desc.stride[2];
        for (int64_t row = lanes.begin / g_.width; row * g_.width < lanes.end; ++row) {
            const int64_t start = row * g_.width;
            const int64_t begin = std::max(lanes.begin - start, int64_t{0});
            const int64_t end = std::min(lanes.end - start, g_.columns);
            unsigned char *out = output_row(row, y.first_out);
            if (out && begin < end)
                body(out, Range{start + begin, start + end},
                     Range{begin * stride, std::min(end * stride, job_.desc.out[2])});
        }
    }

    // Where the tile's outputs of a channel begin if it can be written in pairs, else null: it is part of a row, and
    // all its vectors are whole and aligned.
    unsigned char *pairs_of(const AxisPhase &y, Range lanes, int64_t channel) const {
        const int64_t row = lanes.begin / g_.width, column = lanes.begin % g_.width, count = lanes.end - lanes.begin;
        if (!job_.pairs || column + count > g_.columns || count % g_.lanes != 0 ||
            2 * (column + count) > job_.desc.out[2] || job_.y.c * element_size_ % cache_line != 0)
            return nullptr;
        unsigned char *const out = output_row(row, y.first_out);
        if (!out)
            return nullptr;
        unsigned char *const first = out + (channel * job_.y.c + 2 * column) * element_size_;
        return reinterpret_cast<uintptr_t>(first) % cache_line == 0 ? first : nullptr;
    }

    void write_pairs(unsigned char *out, Range lanes, Range blocks) const {
        const int64_t channels = job_.desc.in_channels_per_group();
        const PairFn<T> pair = loops<T>().tiles.find_pair(static_cast<size_t>((lanes.end - lanes.begin) / g_.lanes));
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
            const T *const weights = weights_ + block * job_.taps * channels * g_.tile_rows;
            const int64_t channel = block * g_.tile_rows, step = (channel - blocks.begin * g_.tile_rows) * job_.y.c;
            pair({x_ + x_offsets_[first_tap_[0]],
                  {weights + w_offsets_[first_tap_[0]], weights + w_offsets_[first_tap_[1]]},
                  channels,
                  x_stride_,
                  std::min(g_.tile_rows, job_.desc.out_channels_per_group() - channel),
                  bias_ + channel,
                  reinterpret_cast<T *>(out + step * element_size_),
                  job_.y.c});
        }
    }

    // Fetches what is about to be written, so that the memory's latency hides behind the multiplications.
    void prefetch(const unsigned char *row, Range outputs, Channels channels) const {
        for (int64_t c = channels.first; c < channels.first + channels.count; ++c)
            fetch<1>(row + (c * job_.y.c + outputs.begin) * element_size_,
                     (outputs.end - outputs.begin) * element_size_);
    }

    // Sums of one block of output channels, for all phases of x.
    void multiply(Range lanes, int64_t block, int64_t sums_offset) const {
        const int64_t channels = job_.desc.in_channels_per_group();
        const auto vectors = static_cast<size_t>((lanes.end - lanes.begin + g_.lanes - 1) / g_.lanes);
        const TileFn<T> tile = job_.tiles[vectors - 1];
        const T *weights = weights_ + block * job_.taps * channels * g_.tile_rows;
        for (size_t p = 0; p < job_.phases.axis[2].phases.size(); ++p) {
            const int64_t first = first_tap_[p];
            tile({x_, weights, x_offsets_ + first, w_offsets_ + first, first_tap_[p + 1] - first, channels,
                  g_.channel_block, x_stride_, sums_ + sums_offset + phase_sums(p), g_.tile_lanes()});
        }
    }

    int64_t phase_sums(size_t phase) const {
        return static_cast<int64_t>(phase) * g_.emit_blocks * g_.tile_rows * g_.tile_lanes();
    }

    void write(const AxisPhase &y, Range lanes, Channels channels) const {
        const AxisTable &axis = job_.phases.axis[2];
        for_rows(y, lanes, [&](unsigned char *row, Range part, Range outputs) {
            const T *sums[most_residues];
            std::fill_n(sums, axis.out_step, nullptr);
            for (size_t p = 0; p < axis.phases.size(); ++p)
                sums[axis.phases[p].first_out] = sums_ + phase_sums(p) + (part.begin - lanes.begin);
            emit(row, outputs, channels, sums, axis.out_step, g_.stream_rows);
        });
    }

    const PhaseJob<T> &job_;
    const PhaseGeometry &g_;
    const PhaseItem item_;
    int64_t slab_;
    int64_t *const x_offsets_, *const w_offsets_;
    int64_t first_tap_[most_residues + 1];
    T *const sums_;
    T *const panels_;
    const T *const box_, *const weights_, *const bias_;
    const int64_t element_size_;
    const unsigned char *const input_; // of the sample and group
    unsigned char *const y_;
    const EmitFn<T> emit_;
    const T *x_ = nullptr; // the first lane of a tile, before the offset of a tap
    int64_t x_stride_ = 0; // from one channel to the next
};

} // namespace ct3d::cpu
