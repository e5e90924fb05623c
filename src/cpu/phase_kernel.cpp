// SPDX-License-Identifier: MIT
#include "phase_kernel.hpp"

#include "../report.hpp"
#include "parallel.hpp"
#include "phase_worker.hpp"

namespace ct3d::cpu {

namespace {

template <class T> class PhaseKernel final : public Kernel {
public:
    PhaseKernel(const PlanContext &c, const PhaseGeometry &g) : job_(c, g), g_(job_.geometry) {}

    uint64_t workspace_size() const override { return g_.workspace(); }
    void execute(const ct3d_buffers &) const override;
    void describe(Report &) const override;

private:
    void stage_bias(const ct3d_buffers &, T *to) const;
    void pack_channel(const ct3d_buffers &, int64_t channel, T *weights) const;
    void stage_row(const ct3d_buffers &, int64_t sample, int64_t channel, int64_t z, int64_t row, T *boxes) const;
    void stage(const ct3d_buffers &, int32_t threads, int64_t first, int64_t samples, T *boxes) const;
    PhaseItem item(int64_t index) const;

    const PhaseJob<T> job_;
    const PhaseGeometry &g_; // the job's
};

template <class T> void PhaseKernel<T>::stage_bias(const ct3d_buffers &b, T *to) const {
    if (job_.desc.has_bias)
        loops<T>().stage(job_.desc.dtype)(b.bias, 1, to, job_.desc.out_channels);
    else
        std::fill_n(to, job_.desc.out_channels, T{0});
}

template <class T> void PhaseKernel<T>::pack_channel(const ct3d_buffers &b, int64_t channel, T *weights) const {
    const int64_t channels = job_.desc.in_channels_per_group(), rows = g_.tile_rows;
    const int64_t group = channel / channels, step = channels * rows;
    const auto *from = static_cast<const unsigned char *>(b.w);
    const PackFn<T> pack = loops<T>().pack(job_.desc.dtype);
    for (int64_t block = 0; block < g_.blocks; ++block) {
        const int64_t first = block * rows;
        pack({from + (channel * job_.w.ci + first * job_.w.co) * static_cast<int64_t>(element_size(job_.desc.dtype)),
              job_.w.co, job_.w.x, std::min(rows, job_.desc.out_channels_per_group() - first), rows, job_.taps,
              weights + (group * g_.blocks + block) * job_.taps * step + channel % channels * rows, step});
    }
}

template <class T> void PhaseKernel<T>::stage_row(const ct3d_buffers &b, int64_t sample, int64_t channel, int64_t z,
                                                  int64_t row, T *boxes) const {
    const int64_t in_y = g_.low_y + row, channels = job_.desc.in_channels_per_group();
    T *to =
        boxes + channel / channels * g_.box + channel % channels * g_.channel_stride + z * g_.plane + row * g_.width;
    const int64_t begin = std::max<int64_t>(g_.low_x, 0), end = std::min(g_.low_x + g_.width, job_.desc.in[2]);
    if (in_y < 0 || in_y >= job_.desc.in[1] || begin >= end) {
        std::fill_n(to, g_.width, T{0});
        return;
    }
    const int64_t left = begin - g_.low_x, right = end - g_.low_x;
    const int64_t offset = sample * job_.x.n + channel * job_.x.c + z * job_.x.z + in_y * job_.x.y + begin * job_.x.x;
    std::fill_n(to, left, T{0});
    loops<T>().stage(job_.desc.dtype)(static_cast<const unsigned char *>(b.x) +
                                          offset * static_cast<int64_t>(element_size(job_.desc.dtype)),
                                      job_.x.x, to + left, end - begin);
    std::fill(to + right, to + g_.width, T{0});
}

// Whole channels or, where these are interleaved in memory, all channels of a row.
template <class T>
void PhaseKernel<T>::stage(const ct3d_buffers &b, int32_t threads, int64_t first, int64_t samples, T *boxes) const {
    const int64_t rows = job_.desc.in[0] * g_.height, channels = job_.desc.in_channels;
    const bool by_channel = job_.desc.layout == Layout::ncdhw;
    const StageFn<T> copy = loops<T>().stage(job_.desc.dtype);
    if (by_channel && g_.unpadded) {
        parallel_for(threads, samples * channels, [&](int64_t index, int32_t) {
            const auto *from =
                static_cast<const unsigned char *>(b.x) +
                (first * channels + index) * job_.x.c * static_cast<int64_t>(element_size(job_.desc.dtype));
            copy(from, 1, boxes + index * g_.channel_stride, job_.x.c);
        });
        return;
    }
    const int64_t outer = by_channel ? channels : rows, inner = by_channel ? rows : channels;
    parallel_for(threads, samples * outer, [&](int64_t index, int32_t) {
        const int64_t sample = index / outer, o = index % outer;
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t channel = by_channel ? o : i, row = by_channel ? i : o;
            stage_row(b, first + sample, channel, row / g_.height, row % g_.height,
                      boxes + sample * job_.desc.groups * g_.box);
        }
    });
}

template <class T> PhaseItem PhaseKernel<T>::item(int64_t index) const {
    const auto next = [&](int64_t count) {
        const int64_t digit = index % count;
        index /= count;
        return digit;
    };
    const int64_t blocks = next(g_.block_chunks()) * g_.chunk_blocks, rows = next(g_.row_chunks()) * g_.chunk_rows;
    const int64_t slab = next(g_.slabs), group = next(job_.desc.groups);
    return {index,
            group,
            slab,
            {rows, std::min(rows + g_.chunk_rows, g_.rows)},
            {blocks, std::min(blocks + g_.chunk_blocks, g_.blocks)}};
}

template <class T> void PhaseKernel<T>::execute(const ct3d_buffers &b) const {
    const int32_t threads = usable_threads(g_.threads);
    const PhaseWorkspace<T> workspace(g_, b.workspace);
    stage_bias(b, workspace.bias);
    parallel_for(threads, job_.desc.in_channels,
                 [&](int64_t channel, int32_t) { pack_channel(b, channel, workspace.weights); });
    for (int64_t first = 0; first < job_.desc.batch; first += g_.samples) {
        const int64_t samples = std::min(g_.samples, job_.desc.batch - first);
        if (!g_.folded)
            stage(b, threads, first, samples, workspace.boxes);
        const int64_t items = samples * job_.desc.groups * g_.slabs * g_.row_chunks() * g_.block_chunks();
        parallel_for(threads, items, [&](int64_t index, int32_t thread) {
            PhaseWorker<T>(job_, b, workspace, first, item(index), thread).run();
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

std::unique_ptr<Kernel> prepare(const PlanContext &c, const PhaseGeometry &g) {
    if (c.desc.dtype == Dtype::f64)
        return std::make_unique<PhaseKernel<double>>(c, g);
    return std::make_unique<PhaseKernel<float>>(c, g);
}

Offer consider(const PlanContext &c) {
    PhaseGeometry g;
    if (std::string reason = make_phase_geometry(c, g); !reason.empty())
        return refuse(std::move(reason));
    return {"", phase_cost(c, g), [&c, g] { return prepare(c, g); }};
}

} // namespace

const Candidate phase_candidate{"phase", consider};

} // namespace ct3d::cpu
