// SPDX-License-Identifier: MIT
#include "phase_kernel.hpp"

#include "../report.hpp"
#include "../status.hpp"
#include "parallel.hpp"
#include "phase_geometry.hpp"
#include "workspace.hpp"

#include <algorithm>
#include <vector>

namespace ct3d::cpu {

namespace {

template <class T> const PhaseLoops<T> &loops();
template <> const PhaseLoops<float> &loops() { return best_isa().phase_f32; }
template <> const PhaseLoops<double> &loops() { return best_isa().phase_f64; }

template <class T> struct Workspace {
    Workspace(const PhaseGeometry &g, void *memory) : g_(g) {
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

// What a thread takes at once: some rows of a slab, and some blocks of output channels.
struct Item {
    int64_t sample; // of those staged
    int64_t group, slab;
    Range rows, blocks;
};

template <class T> class PhaseKernel final : public Kernel {
public:
    PhaseKernel(const PlanContext &, const PhaseGeometry &);

    uint64_t workspace_size() const override { return g_.workspace(); }
    void execute(const ct3d_buffers &) const override;
    void describe(Report &) const override;

private:
    class Worker;

    void stage_bias(const ct3d_buffers &, T *to) const;
    void pack_channel(const ct3d_buffers &, int64_t channel, T *weights) const;
    void stage_row(const ct3d_buffers &, int64_t sample, int64_t channel, int64_t z, int64_t row, T *boxes) const;
    void stage(const ct3d_buffers &, int32_t threads, int64_t first, int64_t samples, T *boxes) const;
    Item item(int64_t index) const;

    const Desc desc_;
    const PhaseTable phases_;
    const PhaseGeometry g_;
    const ActivationStrides x_, y_;
    const WeightStrides w_;
    const int64_t taps_;           // of the kernel
    std::vector<TileFn<T>> tiles_; // by vectors, from 1
};

template <class T> PhaseKernel<T>::PhaseKernel(const PlanContext &c, const PhaseGeometry &g)
    : desc_(c.desc), phases_(c.phases), g_(g), x_(input_strides(desc_)), y_(output_strides(desc_)),
      w_(weight_strides(desc_)), taps_(desc_.kernel[0] * desc_.kernel[1] * desc_.kernel[2]) {
    for (int64_t v = 1; v <= g_.tile_vectors; ++v)
        tiles_.push_back(loops<T>().tiles.find(static_cast<size_t>(g_.tile_rows), static_cast<size_t>(v)));
}

template <class T> void PhaseKernel<T>::stage_bias(const ct3d_buffers &b, T *to) const {
    if (desc_.has_bias)
        loops<T>().stage(desc_.dtype)(b.bias, 1, to, desc_.out_channels);
    else
        std::fill_n(to, desc_.out_channels, T{0});
}

template <class T> void PhaseKernel<T>::pack_channel(const ct3d_buffers &b, int64_t channel, T *weights) const {
    const int64_t channels = desc_.in_channels_per_group(), rows = g_.tile_rows;
    const int64_t group = channel / channels, step = channels * rows;
    const auto *from = static_cast<const unsigned char *>(b.w);
    const PackFn<T> pack = loops<T>().pack(desc_.dtype);
    for (int64_t block = 0; block < g_.blocks; ++block) {
        const int64_t first = block * rows;
        pack({from + (channel * w_.ci + first * w_.co) * static_cast<int64_t>(element_size(desc_.dtype)), w_.co, w_.x,
              std::min(rows, desc_.out_channels_per_group() - first), rows, taps_,
              weights + (group * g_.blocks + block) * taps_ * step + channel % channels * rows, step});
    }
}

template <class T> void PhaseKernel<T>::stage_row(const ct3d_buffers &b, int64_t sample, int64_t channel, int64_t z,
                                                  int64_t row, T *boxes) const {
    const int64_t in_y = g_.low_y + row, channels = desc_.in_channels_per_group();
    T *to =
        boxes + channel / channels * g_.box + channel % channels * g_.channel_stride + z * g_.plane + row * g_.width;
    const int64_t begin = std::max<int64_t>(g_.low_x, 0), end = std::min(g_.low_x + g_.width, desc_.in[2]);
    if (in_y < 0 || in_y >= desc_.in[1] || begin >= end) {
        std::fill_n(to, g_.width, T{0});
        return;
    }
    const int64_t left = begin - g_.low_x, right = end - g_.low_x;
    const int64_t offset = sample * x_.n + channel * x_.c + z * x_.z + in_y * x_.y + begin * x_.x;
    std::fill_n(to, left, T{0});
    loops<T>().stage(desc_.dtype)(static_cast<const unsigned char *>(b.x) +
                                      offset * static_cast<int64_t>(element_size(desc_.dtype)),
                                  x_.x, to + left, end - begin);
    std::fill(to + right, to + g_.width, T{0});
}

// Whole channels or, where these are interleaved in memory, all channels of a row.
template <class T>
void PhaseKernel<T>::stage(const ct3d_buffers &b, int32_t threads, int64_t first, int64_t samples, T *boxes) const {
    const int64_t rows = desc_.in[0] * g_.height, channels = desc_.in_channels;
    const bool by_channel = desc_.layout == Layout::ncdhw;
    const StageFn<T> copy = loops<T>().stage(desc_.dtype);
    if (by_channel && g_.unpadded) {
        parallel_for(threads, samples * channels, [&](int64_t index, int32_t) {
            const auto *from = static_cast<const unsigned char *>(b.x) +
                               (first * channels + index) * x_.c * static_cast<int64_t>(element_size(desc_.dtype));
            copy(from, 1, boxes + index * g_.channel_stride, x_.c);
        });
        return;
    }
    const int64_t outer = by_channel ? channels : rows, inner = by_channel ? rows : channels;
    parallel_for(threads, samples * outer, [&](int64_t index, int32_t) {
        const int64_t sample = index / outer, o = index % outer;
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t channel = by_channel ? o : i, row = by_channel ? i : o;
            stage_row(b, first + sample, channel, row / g_.height, row % g_.height,
                      boxes + sample * desc_.groups * g_.box);
        }
    });
}

template <class T> Item PhaseKernel<T>::item(int64_t index) const {
    const auto next = [&](int64_t count) {
        const int64_t digit = index % count;
        index /= count;
        return digit;
    };
    const int64_t blocks = next(g_.block_chunks()) * g_.chunk_blocks, rows = next(g_.row_chunks()) * g_.chunk_rows;
    const int64_t slab = next(g_.slabs), group = next(desc_.groups);
    return {index,
            group,
            slab,
            {rows, std::min(rows + g_.chunk_rows, g_.rows)},
            {blocks, std::min(blocks + g_.chunk_blocks, g_.blocks)}};
}

// A thread at work on one item.
template <class T> class PhaseKernel<T>::Worker {
public:
    Worker(const PhaseKernel &kernel, const ct3d_buffers &b, const Workspace<T> &workspace, int64_t first_sample,
           const Item &item, int32_t thread)
        : k_(kernel), g_(kernel.g_), item_(item), slab_(item.slab), x_offsets_(workspace.taps(thread)),
          w_offsets_(x_offsets_ + g_.most_taps), sums_(workspace.sums(thread)), panels_(workspace.panels(thread)),
          box_(workspace.boxes + (item.sample * k_.desc_.groups + item.group) * g_.box),
          weights_(workspace.weights +
                   item.group * g_.blocks * g_.tile_rows * k_.taps_ * k_.desc_.in_channels_per_group()),
          bias_(workspace.bias + item.group * k_.desc_.out_channels_per_group()),
          element_size_(static_cast<int64_t>(element_size(k_.desc_.dtype))),
          input_(static_cast<const unsigned char *>(b.x) +
                 ((first_sample + item.sample) * k_.x_.n + item.group * k_.desc_.in_channels_per_group() * k_.x_.c) *
                     element_size_),
          y_(static_cast<unsigned char *>(b.y) +
             ((first_sample + item.sample) * k_.y_.n + item.group * k_.desc_.out_channels_per_group() * k_.y_.c) *
                 element_size_),
          emit_(loops<T>().emit(k_.desc_.dtype, k_.desc_.layout)) {}

    void run() {
        if (!g_.folded)
            return run_slab();
        copy_panels();
        for (slab_ = 0; slab_ < std::min(k_.desc_.stride[0], k_.desc_.out[0]); ++slab_)
            run_slab();
    }

private:
    struct Channels {
        int64_t first, count;
    };

    void run_slab() {
        const AxisPhase *z = k_.phases_.axis[0].phase_of(slab_);
        if (!z && !g_.folded)
            return write_bias_plane();
        const int64_t jz = g_.folded ? 0 : slab_ / k_.desc_.stride[0];
        for (int64_t residue = 0; residue < std::min(k_.desc_.stride[1], k_.desc_.out[1]); ++residue) {
            const AxisPhase *y = k_.phases_.axis[1].phase_of(residue);
            if (z && y && !k_.phases_.axis[2].phases.empty())
                run_phases(*z, jz, *y);
            else
                write_bias_rows(residue);
        }
    }

    // Where a lattice row of a residue of y lies in the output, or null where it lies past its end.
    unsigned char *output_row(int64_t row, int64_t residue) const {
        const int64_t oz = slab_ + row / g_.plane_rows * k_.desc_.stride[0];
        const int64_t oy = residue + row % g_.plane_rows * k_.desc_.stride[1];
        if (oz >= k_.desc_.out[0] || oy >= k_.desc_.out[1])
            return nullptr;
        return y_ + (oz * k_.y_.z + oy * k_.y_.y) * element_size_;
    }

    void emit(unsigned char *row, Range outputs, Channels c, const T *const *sums, int64_t stride, bool stream) const {
        emit_({row + (c.first * k_.y_.c + outputs.begin * k_.y_.x) * element_size_, k_.y_.x, k_.y_.c,
               outputs.end - outputs.begin, c.count, sums, stride, g_.tile_lanes(), bias_ + c.first, stream});
    }

    Channels all_channels() const {
        const int64_t first = item_.blocks.begin * g_.tile_rows;
        return {first, std::min(item_.blocks.end * g_.tile_rows, k_.desc_.out_channels_per_group()) - first};
    }

    void write_bias_rows(int64_t residue) const {
        for (int64_t row = item_.rows.begin; row < item_.rows.end; ++row)
            if (unsigned char *out = output_row(row, residue))
                emit(out, {0, k_.desc_.out[2]}, all_channels(), nullptr, 1, g_.stream_rows);
    }

    // The rows of an item that is only bias follow each other without a gap.
    void write_bias_plane() const {
        const int64_t first = item_.rows.begin * k_.desc_.stride[1];
        const int64_t last = std::min(item_.rows.end * k_.desc_.stride[1], k_.desc_.out[1]);
        emit(output_row(item_.rows.begin, 0), {0, (last - first) * k_.desc_.out[2]}, all_channels(), nullptr, 1,
             g_.stream_planes);
    }

    // The lanes of all rows of a run, up to the last column.
    Range lanes_of(Range rows) const { return {rows.begin * g_.width, (rows.end - 1) * g_.width + g_.columns}; }

    void copy_panels() const {
        const Range lanes = lanes_of(item_.rows);
        const int64_t channels = k_.desc_.in_channels_per_group(), step = g_.even_tile(lanes.end - lanes.begin);
        const StageFn<T> stage = loops<T>().stage(k_.desc_.dtype);
        for (int64_t c = 0; c < channels; ++c) {
            if (k_.desc_.layout == Layout::ncdhw && c + 1 < channels)
                fetch<0>(input_at(lanes.begin, c + 1), (lanes.end - lanes.begin) * element_size_);
            for (int64_t lane = lanes.begin; lane < lanes.end; lane += step)
                stage(input_at(lane, c), k_.x_.x, panels_ + (lane - lanes.begin) * channels + c * step,
                      std::min(step, lanes.end - lane));
        }
    }

    const unsigned char *input_at(int64_t lane, int64_t channel) const {
        const int64_t first_plane = k_.phases_.axis[0].phases[0].first_in;
        return input_ + (channel * k_.x_.c + (first_plane * g_.plane + lane) * k_.x_.x) * element_size_;
    }

    void run_phases(const AxisPhase &z, int64_t jz, const AxisPhase &y) {
        const int64_t last_row = std::min(item_.rows.end, g_.folded ? g_.rows : y.count);
        if (item_.rows.begin >= last_row)
            return;
        const Range lanes = lanes_of({item_.rows.begin, last_row});
        const T *box = box_ + (z.first_in + jz) * g_.plane + (y.first_in - g_.low_y) * g_.width - g_.low_x;
        const int64_t tile_lanes = g_.even_tile(lanes.end - lanes.begin);
        const int64_t panel = k_.desc_.in_channels_per_group() * tile_lanes;
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
        return valid_taps(k_.phases_.axis[1], y, lanes.begin / g_.width, (lanes.end - 1) / g_.width + 1,
                          k_.desc_.in[1]);
    }

    // Offsets of input and weights, per phase of x and tap.
    void list_taps(const AxisPhase &z, int64_t jz, const AxisPhase &y, Range tap_rows) {
        const auto &[tz, ty, tx] = k_.phases_.axis;
        const Range planes = valid_taps(tz, z, jz, jz + 1, k_.desc_.in[0]);
        const int64_t step = k_.desc_.in_channels_per_group() * g_.tile_rows;
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
                        w_offsets_[next] = ((kz * k_.desc_.kernel[1] + ky) * k_.desc_.kernel[2] + kx) * step;
                    }
        }
        first_tap_[tx.phases.size()] = next;
    }

    void run_tile(const AxisPhase &y, Range lanes, Range blocks) {
        const int64_t first = blocks.begin * g_.tile_rows;
        const Channels channels{first, std::min(blocks.end * g_.tile_rows, k_.desc_.out_channels_per_group()) - first};
        if (g_.prefetch)
            for_rows(y, lanes, [&](unsigned char *row, Range, Range outputs) { prefetch(row, outputs, channels); });
        for (int64_t block = blocks.begin; block < blocks.end; ++block)
            multiply(lanes, block, (block - blocks.begin) * g_.tile_rows * g_.tile_lanes());
        write(y, lanes, channels);
    }

    // Calls body(row of the output, lanes, outputs along x) for each lattice row, or part of one, of a tile.
    template <class Body> void for_rows(const AxisPhase &y, Range lanes, Body &&body) const {
        const int64_t stride = k_.desc_.stride[2];
        for (int64_t row = lanes.begin / g_.width; row * g_.width < lanes.end; ++row) {
            const int64_t start = row * g_.width;
            const int64_t begin = std::max(lanes.begin - start, int64_t{0});
            const int64_t end = std::min(lanes.end - start, g_.columns);
            unsigned char *out = output_row(row, y.first_out);
            if (out && begin < end)
                body(out, Range{start + begin, start + end},
                     Range{begin * stride, std::min(end * stride, k_.desc_.out[2])});
        }
    }

    // Fetches what is about to be written, so that the memory's latency hides behind the multiplications.
    void prefetch(const unsigned char *row, Range outputs, Channels channels) const {
        for (int64_t c = channels.first; c < channels.first + channels.count; ++c)
            fetch<1>(row + (c * k_.y_.c + outputs.begin) * element_size_,
                     (outputs.end - outputs.begin) * element_size_);
    }

    // Sums of one block of output channels, for all phases of x.
    void multiply(Range lanes, int64_t block, int64_t sums_offset) const {
        const int64_t channels = k_.desc_.in_channels_per_group();
        const auto vectors = static_cast<size_t>((lanes.end - lanes.begin + g_.lanes - 1) / g_.lanes);
        const TileFn<T> tile = k_.tiles_[vectors - 1];
        const T *weights = weights_ + block * k_.taps_ * channels * g_.tile_rows;
        for (size_t p = 0; p < k_.phases_.axis[2].phases.size(); ++p) {
            const int64_t first = first_tap_[p];
            tile({x_, weights, x_offsets_ + first, w_offsets_ + first, first_tap_[p + 1] - first, channels,
                  g_.channel_block, x_stride_, sums_ + sums_offset + phase_sums(p), g_.tile_lanes()});
        }
    }

    int64_t phase_sums(size_t phase) const {
        return static_cast<int64_t>(phase) * g_.emit_blocks * g_.tile_rows * g_.tile_lanes();
    }

    void write(const AxisPhase &y, Range lanes, Channels channels) const {
        const AxisTable &axis = k_.phases_.axis[2];
        for_rows(y, lanes, [&](unsigned char *row, Range part, Range outputs) {
            const T *sums[most_residues];
            std::fill_n(sums, axis.out_step, nullptr);
            for (size_t p = 0; p < axis.phases.size(); ++p)
                sums[axis.phases[p].first_out] = sums_ + phase_sums(p) + (part.begin - lanes.begin);
            emit(row, outputs, channels, sums, axis.out_step, g_.stream_rows);
        });
    }

    const PhaseKernel &k_;
    const PhaseGeometry &g_;
    const Item item_;
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

template <class T> void PhaseKernel<T>::execute(const ct3d_buffers &b) const {
    const int32_t threads = usable_threads(g_.threads);
    const Workspace<T> workspace(g_, b.workspace);
    stage_bias(b, workspace.bias);
    parallel_for(threads, desc_.in_channels,
                 [&](int64_t channel, int32_t) { pack_channel(b, channel, workspace.weights); });
    for (int64_t first = 0; first < desc_.batch; first += g_.samples) {
        const int64_t samples = std::min(g_.samples, desc_.batch - first);
        if (!g_.folded)
            stage(b, threads, first, samples, workspace.boxes);
        const int64_t items = samples * desc_.groups * g_.slabs * g_.row_chunks() * g_.block_chunks();
        parallel_for(threads, items, [&](int64_t index, int32_t thread) {
            Worker(*this, b, workspace, first, item(index), thread).run();
        });
    }
}

template <class T> void PhaseKernel<T>::describe(Report &report) const {
    report.field("isa", best_isa().name);
    report.field("tile_rows", g_.tile_rows);
    report.field("tile_lanes", g_.tile_lanes());
    report.field("folded", g_.folded ? "yes" : "no");
    report.field("threads", g_.threads);
    report.field("samples_staged", g_.samples);
    report.field("computed_flop", 2 * g_.computed_multiplications);
}

std::string refusal(const PlanContext &c) {
    PhaseGeometry g;
    return make_phase_geometry(c, g);
}

double cost(const PlanContext &c) {
    PhaseGeometry g;
    make_phase_geometry(c, g);
    return phase_cost(c, g);
}

std::unique_ptr<Kernel> prepare(const PlanContext &c) {
    PhaseGeometry g;
    if (const std::string reason = make_phase_geometry(c, g); !reason.empty())
        throw Error(CT3D_UNSUPPORTED, "%s", reason.c_str());
    if (c.desc.dtype == Dtype::f64)
        return std::make_unique<PhaseKernel<double>>(c, g);
    return std::make_unique<PhaseKernel<float>>(c, g);
}

} // namespace

const Candidate phase_candidate{"phase", refusal, cost, prepare};

} // namespace ct3d::cpu
