// SPDX-License-Identifier: MIT
#include "phase_gemm_tile.hpp"

#include "../arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ct3d::gpu {

namespace {

class Tiler {
public:
    Tiler(const PlanContext &context, const Device &device, const GemmTarget &target)
        : c_(context), d_(context.desc), device_(device), target_(target),
          math_(gemm_math(d_) == GemmMath::f32 ? target.f32_math : gemm_math(d_)) {
        for (size_t a = 0; a < 3; ++a)
            lattice_[a] = ceil_div(d_.out[a], d_.stride[a]);
    }

    std::optional<GemmTiling> best() {
        for (const GemmTileRow &row : target_.rows)
            if (row.math == math_ && (row.only_arch == 0 || row.only_arch == target_.arch))
                for (const bool samples_first : {false, true})
                    try_chunks(row, samples_first);
        return best_;
    }

private:
    // Phases that a block goes through.
    int64_t plane_phases() const { return std::ssize(c_.phases.axis[1].phases) * std::ssize(c_.phases.axis[2].phases); }

    int64_t words() const { return ceil_div(d_.in_channels_per_group(), gemm_packing(math_)); }

    void try_chunks(const GemmTileRow &row, bool samples_first) {
        GemmTiling t{};
        t.row = &row;
        t.lattice = lattice_;
        const int64_t most = row.positions();
        t.tile = {1, 1, even_part(lattice_[2], most)};
        t.samples = 1;
        if (t.tile[2] == lattice_[2])
            t.tile[1] = even_part(lattice_[1], most / t.tile[2]);
        if (t.tile[2] == lattice_[2] && t.tile[1] == lattice_[1]) {
            const int64_t plane = t.tile[1] * t.tile[2];
            if (!samples_first)
                t.tile[0] = even_part(lattice_[0], most / plane);
            if (samples_first || t.tile[0] == lattice_[0])
                t.samples = even_part(d_.batch, most / (plane * t.tile[0]));
        } else if (samples_first) {
            return;
        }
        for (int64_t chunk = round_up(words(), gemm_step_words);; chunk = round_up(chunk / 2, gemm_step_words)) {
            t.chunk_words = chunk;
            const bool whole = chunk >= words();
            for (t.box_buffers = 1; t.box_buffers <= (whole ? 1 : 2); ++t.box_buffers)
                for (const bool row_spans : {false, true}) {
                    t.row_spans = row_spans;
                    if ((row_spans || t.tile[2] == lattice_[2]) && complete(t))
                        consider(t);
                }
            if (chunk == gemm_step_words)
                break;
        }
    }

    void consider(const GemmTiling &t) {
        if (!best_ || t.seconds < best_->seconds)
            best_ = t;
    }

    // A block has one phase of z, but all phases of y and x.
    void set_box(GemmTiling &t) const {
        for (size_t a = 0; a < 3; ++a) {
            int64_t reach = 0;
            const std::vector<AxisPhase> &phases = c_.phases.axis[a].phases;
            for (size_t i = 0; i < phases.size(); ++i)
                reach = std::max(reach, phases[i].first_in - gemm_low(c_.phases, a, i));
            t.box[a] = t.tile[a] + reach;
        }
    }

    bool complete(GemmTiling &t) const {
        const GemmMath math = t.row->math;
        set_box(t);
        for (size_t a = 0; a < 3; ++a)
            t.tiles[a] = ceil_div(lattice_[a], t.tile[a]);
        t.sample_tiles = ceil_div(d_.batch, t.samples);
        t.out_blocks = ceil_div(d_.out_channels_per_group(), t.row->channels());
        t.chunks = ceil_div(words(), t.chunk_words);
        const double cells = static_cast<double>(t.samples) * static_cast<double>(t.box[0]) *
                             static_cast<double>(t.box[1]) * static_cast<double>(t.box[2]);
        if (cells >= static_cast<double>(divisor_limit))
            return false;
        t.box_cells = t.samples * t.box[0] * t.box[1] * t.box[2];
        t.cell_words = gemm_planes(math) * t.chunk_words + 4;
        t.tap_bytes =
            t.chunk_words / gemm_step_words * gemm_planes(math) * t.row->channels() / 16 * gemm_fragment_bytes;
        t.box_bytes = round_up(t.box_cells * t.cell_words * 4, 128);
        t.box_rows = t.samples * t.box[0] * t.box[1];
        t.box_offset = gemm_table_bytes(t.row->channels(), t.box_rows, t.row->positions());
        t.ring_offset = t.box_offset + t.box_bytes * t.box_buffers;
        int64_t most_taps = 1; // of a phase
        for (const AxisTable &axis : c_.phases.axis)
            most_taps *= std::max<int64_t>(axis.most_taps(), 1);
        t.stage_taps = std::clamp<int64_t>(gemm_stage_bytes / t.tap_bytes, 1, most_taps);
        t.output_offset = t.ring_offset + gemm_ring_stages * t.stage_taps * t.tap_bytes;
        t.shared_bytes = t.output_offset;
        if (t.output_offset > device_.shared_bytes_per_block || packed_share(t) > 2 ||
            !device_.can_launch(packing_blocks(t), gemm_pack_threads))
            return false;
        if (!offsets_fit(t))
            return false;
        if (d_.layout == Layout::ncdhw && !place_spans(t))
            return false;
        const double blocks = static_cast<double>(t.tiles[0]) * static_cast<double>(t.tiles[1]) *
                              static_cast<double>(t.tiles[2]) * static_cast<double>(t.sample_tiles) *
                              static_cast<double>(d_.stride[0] * d_.groups) * static_cast<double>(t.out_blocks);
        if (!device_.can_launch(blocks, t.row->threads()))
            return false;
        t.blocks = static_cast<int64_t>(blocks);
        t.seconds = estimate(t);
        return true;
    }

    // Offsets within a tile are 32-bit.
    bool offsets_fit(const GemmTiling &t) const {
        constexpr double most = std::numeric_limits<int32_t>::max();
        const auto plane = [&](const Extents &e, int64_t channels) {
            return static_cast<double>(e[1]) * static_cast<double>(e[2]) * static_cast<double>(channels);
        };
        const double out_planes =
            static_cast<double>(t.samples) * static_cast<double>(t.samples > 1 ? d_.out[0] : t.tile[0] * d_.stride[0]);
        return out_planes * plane(d_.out, d_.out_channels) < most && 8 * plane(d_.in, d_.in_channels + 64) < most;
    }

    // Each thread packs one step of a cell.
    double packing_blocks(const GemmTiling &t) const {
        const double steps = static_cast<double>(d_.groups * t.chunks * (t.chunk_words / gemm_step_words));
        const double cells = static_cast<double>(d_.x_elements()) / static_cast<double>(d_.in_channels);
        return cells * steps / gemm_pack_threads;
    }

    // Bytes of the packed input for each of x.
    double packed_share(const GemmTiling &t) const {
        return static_cast<double>(t.chunks * t.chunk_words * gemm_planes(t.row->math) * 4) /
               static_cast<double>(d_.in_channels_per_group() * gemm_element_bytes(t.row->math));
    }

    // With one phase of x and y its sums stay in registers until the box is no longer needed, so that spans may take
    // its place, some channels at a time.
    bool place_spans(GemmTiling &t) const {
        const int64_t bytes = gemm_element_bytes(t.row->math);
        const int64_t row = t.tiles[2] > 1 ? t.tile[2] * d_.stride[2] : d_.out[2];
        t.spans = t.samples * t.tile[0] * (t.row_spans ? t.tile[1] : 1);
        t.span_bytes = round_up((t.row_spans ? row : t.tile[1] * d_.stride[1] * row) * bytes + 16 - bytes, 16);
        // Lanes that write four pairs of channels shall find them in different banks.
        const int64_t spread = bytes * d_.stride[2] > 4 ? 32 : 16;
        while (t.spans == 1 && t.span_bytes % 64 != spread)
            t.span_bytes += 16;
        const int64_t of_channel = t.spans * t.span_bytes;
        const bool at_once = plane_phases() > 1;
        t.slice = t.row->channels();
        if (at_once) {
            t.shared_bytes = t.output_offset + t.slice * of_channel;
        } else {
            while (t.slice > 8 && t.box_offset + t.slice * of_channel > t.output_offset)
                t.slice /= 2;
            t.output_offset = t.box_offset;
            t.shared_bytes = std::max(t.shared_bytes, t.output_offset + t.slice * of_channel);
        }
        return t.shared_bytes <= device_.shared_bytes_per_block;
    }

    double taps_read(size_t a, const GemmTiling &t) const {
        return gemm_taps_read(c_.phases.axis[a], lattice_[a], t.tile[a], d_.in[a]);
    }

    // Of 32 threads of a block that has taps: products, see GemmProduct, and instructions besides theirs. The weights
    // of the terms are counted from machine code.
    struct Work {
        double products, other;
    };
    Work work(const GemmTiling &t) const {
        const GemmTileRow &row = *t.row;
        const double planes = gemm_planes(row.math), m = row.m, n = row.n * row.fragment_channels / 8.0,
                     warps = row.threads() / 32.0;
        const double tap_steps = static_cast<double>(t.chunk_words / gemm_step_words);
        const double phases = static_cast<double>(plane_phases());
        double taps = taps_read(0, t) / std::max<double>(1, static_cast<double>(c_.phases.axis[0].phases.size()));
        taps *= taps_read(1, t) * taps_read(2, t);
        const double chunks = static_cast<double>(t.chunks), steps = taps * chunks * tap_steps;
        const double stages = chunks * std::max(phases, taps / static_cast<double>(t.stage_taps));
        const double boxes = t.chunks > 1 ? chunks * phases : 1;
        const double box = static_cast<double>(t.box_cells * t.chunk_words) / 4 * planes / 32 / warps * 10 + 100;
        const bool last = d_.layout == Layout::ndhwc;
        const double bytes = gemm_element_bytes(row.math);
        const double write = 2 * m * (last ? 8 + n * bytes / 8 * (8 + 8 / bytes) : 6 + 2 * n * 6) + 100;
        const double residues = static_cast<double>(d_.stride[1] * d_.stride[2]) - phases;
        const double bias = residues * row.positions() * row.channels() * bytes / 16 / 32 / warps * (last ? 10 : 4);
        return {steps * m * n, steps * ((m + n / 2) * planes + 16 + (planes == 3 ? m * n : 0)) + stages * 60 +
                                   boxes * box + phases * (write + 150) + bias + 600};
    }

    // A scheduler issues at most once a cycle.
    double estimate(const GemmTiling &t) const {
        constexpr double launch = 4e-6, l2_rate = 4e12;
        const double multiprocessors = device_.multiprocessors;
        const double resident = std::max(
            1.0, std::min<double>(t.row->blocks, device_.resident_blocks(static_cast<double>(t.shared_bytes))));
        const double warps = t.row->threads() / 32.0;
        const Work w = work(t);
        const GemmProduct &product = target_.product(t.row->math);
        // Blocks of residues without taps only write, at less than half of the memory's rate, as measured.
        const double z_phases = static_cast<double>(c_.phases.axis[0].phases.size());
        const double blocks = static_cast<double>(t.blocks) / static_cast<double>(d_.stride[0]) * z_phases;
        const double waves = std::ceil(blocks / (multiprocessors * resident));
        const double busy = std::min(resident, std::max(1.0, blocks / multiprocessors));
        const double cycle = std::max(1.0, target_.issue_cycles / (busy * warps / target_.schedulers));
        const double block_cycles =
            std::max((w.products * product.instructions + w.other) * cycle, w.products * product.cycles) * warps /
            target_.schedulers;
        // What instructions wait for besides, measured too.
        const double waits = t.row->math == GemmMath::f32 ? 1.5 : 1.2;
        const double compute = waits * waves * busy * block_cycles / target_.clock;
        const double x_bytes = static_cast<double>(element_size(d_.dtype)) * static_cast<double>(d_.x_elements());
        const double packing =
            gemm_takes_input(d_) ? 0
                                 : 2.5 * x_bytes * (t.row->math == GemmMath::f32 ? 1.5 : 1) / device_.bytes_per_second;
        // With channels last, where 16 bytes do not divide a cell, each element costs as much as a vector.
        const double element = static_cast<double>(element_size(d_.dtype));
        const bool vectors = d_.layout == Layout::ncdhw ||
                             d_.out_channels_per_group() * static_cast<int64_t>(element_size(d_.dtype)) % 16 == 0;
        const double single = vectors ? 0 : (16 / element - 1) * static_cast<double>(d_.y_elements());
        const double memory = element * (total_elements(d_) + single) / device_.bytes_per_second;
        const double boxes = static_cast<double>(t.box_cells * t.cell_words * 4 * t.chunks) *
                             (t.chunks > 1 ? static_cast<double>(plane_phases()) : 1);
        const double weights = w.products * 32 / t.row->m * 8 * gemm_planes(t.row->math);
        const double staging = blocks * (boxes + weights) / l2_rate;
        const double bias_planes = static_cast<double>(element_size(d_.dtype)) * static_cast<double>(d_.y_elements()) *
                                   (1 - z_phases / static_cast<double>(d_.stride[0])) /
                                   (0.45 * device_.bytes_per_second);
        const double most = std::max({compute, memory, staging});
        return launch + packing + bias_planes + most + 0.2 * (compute + memory + staging - most);
    }

    const PlanContext &c_;
    const Desc &d_;
    const Device &device_;
    const GemmTarget &target_;
    const GemmMath math_;
    Extents lattice_;
    std::optional<GemmTiling> best_;
};

} // namespace

int64_t gemm_low(const PhaseTable &table, size_t a, size_t phase) {
    const AxisTable &axis = table.axis[a];
    return a == 0 ? axis.last_in(axis.phases[phase]) : axis.reach().low;
}

bool gemm_takes_input(const Desc &d) {
    const int64_t bytes = static_cast<int64_t>(element_size(d.dtype));
    return bytes == 2 && d.layout == Layout::ndhwc && d.in_channels_per_group() * bytes % 16 == 0;
}

int64_t even_part(int64_t extent, int64_t most) {
    return ceil_div(extent, ceil_div(extent, std::clamp<int64_t>(most, 1, extent)));
}

const char *gemm_math_name(GemmMath math) {
    constexpr const char *names[] = {"f16", "bf16", "tf32", "f32", "single"};
    return names[static_cast<size_t>(math)];
}

double gemm_taps_read(const AxisTable &axis, int64_t lattice, int64_t positions, int64_t in) {
    constexpr int64_t few = 64; // tiles; among many those at the borders do not count
    const int64_t tiles = ceil_div(lattice, positions);
    double taps = 0;
    for (const AxisPhase &f : axis.phases) {
        if (tiles > few)
            taps += static_cast<double>(f.taps * tiles);
        else
            for (int64_t first = 0; first < lattice; first += positions) {
                const Range r = valid_taps(axis, f, first, std::min(first + positions, lattice), in);
                taps += static_cast<double>(std::max<int64_t>(r.end - r.begin, 0));
            }
    }
    return taps / static_cast<double>(tiles);
}

GemmMath gemm_math(const Desc &d) {
    switch (d.dtype) {
    case Dtype::f16:
        return GemmMath::f16;
    case Dtype::bf16:
        return GemmMath::bf16;
    default:
        return d.math == Math::tf32 ? GemmMath::tf32 : GemmMath::f32;
    }
}

std::string gemm_refusal(const Desc &d) {
    constexpr int64_t most = 1 << 30; // of any extent, so that indices on an axis are 32-bit
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64)
        return "no f64 on matrix units";
    for (size_t a = 0; a < 3; ++a) {
        if (d.stride[a] > phase_gemm_most_stride)
            return "stride over " + std::to_string(phase_gemm_most_stride);
        if (std::max({d.in[a], d.out[a], d.kernel[a] * d.dilation[a], d.pad_begin[a]}) > most)
            return "an extent over 2^30";
    }
    if (std::max({d.batch, d.in_channels, d.out_channels}) > most)
        return "batch or channels over 2^30";
    return {};
}

std::optional<GemmTiling> choose_gemm_tiling(const PlanContext &context, const Device &device,
                                             const GemmTarget &target) {
    return Tiler(context, device, target).best();
}

} // namespace ct3d::gpu
