// SPDX-License-Identifier: MIT
#include "phase_wgmma_cost.hpp"

#include "../arithmetic.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "gpu.hpp"

#include <algorithm>
#include <cmath>

namespace ct3d::cuda {

namespace {

constexpr double clock_rate = 1.75e9;
constexpr double launch = 3e-6, pack_launch = 2e-6, start = 2e-6; // seconds; start: until a first block multiplies
constexpr double pack_share = 0.6;                                // of the rate of a copy
constexpr double load_rate = 24, load_latency = 1000;             // bytes per cycle and multiprocessor, cycles
constexpr double issue_cycles = 4; // from one instruction of a warp to its next: there are few warps
constexpr double job_overhead = 1000, line_bytes = 128;
constexpr double unhidden = 0.2; // share of the lesser work that adds to the greatest

// The greatest takes its time, and what the others do not hide beside it.
template <class... Others> double together(double first, Others... others) {
    const double most = std::max({first, others...});
    return most + unhidden * ((first + ... + others) - most);
}

// Cycles of the tensor cores: they multiply 64 * 16 * 16 two-byte products in 8, and read both operands, of 32 bytes a
// row, at 128 bytes a cycle.
double instruction_cycles(double n) { return std::max(n / 2, (wgmma_rows + n) * wgmma_step_bytes / 128); }

// Of all taps of an axis, those of the job that has the most. That job counts even among many, since a block often gets
// jobs of the same residue only.
double worst_share(const WgmmaAxis &axis, int64_t residues) {
    if (residues == 1)
        return 1;
    int32_t most = 0;
    for (const WgmmaPhase &f : axis.phase)
        most = std::max(most, f.taps);
    return real(most) / real(axis.all_taps);
}

} // namespace

WgmmaCost::WgmmaCost(const PlanContext &context, const Device &device)
    : c_(context), d_(context.desc), device_(device), z_taps_(plane_taps()) {}

double WgmmaCost::jobs(const WgmmaCuts &c) {
    return real(c.y_residues) * real(c.z_residues) * real(c.row_tiles) * real(c.groups) * real(c.x) * real(c.y) *
           real(c.z) * real(c.samples);
}

double WgmmaCost::plane_taps() const {
    return gemm_taps_read(c_.phases.axis[0], ceil_div(d_.out[0], d_.stride[0]), 1, d_.in[0]);
}

double WgmmaCost::row_taps(const WgmmaTiling &t) const {
    return gemm_taps_read(c_.phases.axis[1], t.operands.axis[1].lattice, t.tile.y + t.tile.second_y, d_.in[1]);
}

// With few slots, latency: a slot is loaded again only when it has been emptied.
double WgmmaCost::load_cycles(const WgmmaTiling &t, double entries, double stages) const {
    const double stage_bytes = t.operands.stage_bytes * t.shared.stage_taps * (1 + t.tile.second_row_tile);
    const double entry = t.shared.entry_bytes / load_rate, stage = stage_bytes / load_rate;
    const double ahead = t.shared.keep ? 4 : t.shared.entries; // what keeping cannot hide is counted for itself
    return std::max(entries * entry + stages * stage, entries * (load_latency + entry) / (ahead - 1) +
                                                          stages * (load_latency + stage) / (t.shared.stages - 1));
}

// Instructions of a warp that has sums of `n` columns written, for each set of sums; counted from machine code.
double WgmmaCost::put_instructions(const WgmmaTiling &t) const {
    const double n = t.row->n, element = static_cast<double>(element_size(d_.dtype));
    const double share = t.operands.warp_channels == 8 ? 0.6 : 1; // half of the rows
    if (t.out.channels_last) {
        const double write = t.out.vectors ? 0.3 * element / 2 : 6;
        return n * (0.8 * share + write) + n / wgmma_last_columns * 100 + 50;
    }
    if (t.out.straight)
        return n * 1.8 + 50;
    if (t.out.vectors)
        return n * (d_.stride[2] == 1 ? 1.9 : 1.3) * share + 50;
    return n * (t.out.row_spans ? 4 : 3) * share + 50;
}

// And that makes its spans of one residue of z, and of one or all of y, bias.
double WgmmaCost::fill_instructions(const WgmmaTiling &t) const {
    if (!t.out.fill)
        return 0;
    const double bytes = warp_spans(t) * t.out.span_bytes;
    return 2 * bytes / 16 / 32 + wgmma_rows;
}

// And that copies them.
double WgmmaCost::copy_instructions(const WgmmaTiling &t) const {
    if (t.out.channels_last || t.out.straight)
        return 0;
    const double each = t.out.short_spans ? 60.0 * t.out.span_quads.value / 32 : t.aligned_spans ? 45 : 75;
    return 60 + each * warp_spans(t);
}

double WgmmaCost::warp_spans(const WgmmaTiling &t) {
    const double channels = std::min(real(t.operands.warp_channels), real(t.operands.out_channels));
    return (t.out.cell_spans ? 0.25 : channels) * t.out.channel_spans.value;
}

// And that writes the bias of one residue that no tap reaches.
double WgmmaCost::bias_instructions(const WgmmaTiling &t) const {
    const double element = static_cast<double>(element_size(d_.dtype));
    return t.out.channels_last ? 0.3 * element * t.row->n + 50 : 0;
}

WgmmaCost::Work WgmmaCost::work(const WgmmaTiling &t) const {
    const WgmmaOperands &o = t.operands;
    const double z_share = worst_share(o.axis[0], t.cuts.z_residues),
                 y_share = worst_share(o.axis[1], t.cuts.y_residues);
    const double slabs = o.slabs, planes = real(t.cuts.z_planes);
    const double z_taps = z_taps_ * z_share, rows = z_taps * row_taps(t) * y_share, taps = rows * o.pass_taps * slabs;
    double parts = 0; // stages of a row
    for (int32_t i = 0; i < o.passes; ++i)
        parts += std::ceil(static_cast<double>(o.pass[i].taps) / t.shared.stage_taps);
    const double stages = rows * slabs * parts;
    const double products = t.row->math == GemmMath::f32 ? 6 : 1;
    const double steps = real(wgmma_steps(o)) * products * rows * o.pass_taps;
    const double tensor = steps * instruction_cycles(t.row->n); // of one warpgroup

    const double z_phases = t.cuts.z_residues > 1 ? 1 : real(std::ssize(c_.phases.axis[0].phases));
    const double y_phases = t.cuts.y_residues > 1 ? 1 : real(std::ssize(c_.phases.axis[1].phases));
    const double entries =
        t.shared.keep ? slabs * (planes + o.axis[0].reach) / planes : z_taps * y_phases * o.passes * slabs;
    const double load = load_cycles(t, entries, stages);

    const double passes = z_phases * y_phases * o.passes;
    const double sets = t.row->residues == WgmmaResidues::two ? 2 : 1;
    const double z_residues = t.cuts.z_residues > 1 ? 1 : o.axis[0].stride,
                 y_residues = t.cuts.y_residues > 1 ? 1 : o.axis[1].stride;
    // Planes that are only bias are written beside, at a rate that hides.
    const double bias_rows =
        t.out.row_spans && wgmma_hands_over(t.row->math, t.row->n) ? z_phases * (y_residues - y_phases) : 0;
    const double writes =
        t.out.channels_last ? z_residues * y_residues : z_phases * (t.out.row_spans ? y_residues : 1) - bias_rows;
    const double multiply = stages * 60 + taps * 8 + steps * 6;
    const double put = passes * (sets * put_instructions(t) + 120) + writes * fill_instructions(t) +
                       (z_residues * y_residues * o.axis[2].stride - passes * sets) * bias_instructions(t);
    // Cycles until the last products of a pass are there, and until copies have read what spans were before.
    const double drained = passes * 200 + (t.out.channels_last || t.out.straight ? 0 : writes * 2000);
    constexpr double warps = 4, lone_cycles = 1.5; // its copies overlap
    constexpr double bias_row_cycles = 70;
    return {.tensor = 2 * tensor,
            .load = load,
            .warpgroup = std::max(multiply * issue_cycles, tensor) + drained + put * issue_cycles,
            .copy = writes * copy_instructions(t) * issue_cycles,
            .writer = writes * (warps * copy_instructions(t) * lone_cycles + 500),
            .bias = bias_rows * warps * warp_spans(t) * bias_row_cycles};
}

// Where a warp of its own writes spans, and rows of bias, in less time than the longest of the other work takes; and
// where all warps put spans together.
bool WgmmaCost::hands_over(const WgmmaTiling &t) const {
    const Work w = work(t);
    return t.out.cell_spans || (wgmma_hands_over(t.row->math, t.row->n) && !t.out.channels_last && !t.out.straight &&
                                w.writer + w.bias < std::max({w.tensor, w.warpgroup + w.copy, w.bias}));
}

// A job whose entries stay begins when those of its first plane are there, as many of which as there is room for have
// been loaded before.
double WgmmaCost::job_cycles(const WgmmaTiling &t) const {
    const WgmmaOperands &o = t.operands;
    const Work w = work(t);
    const double planes = real(t.cuts.z_planes);
    double waits = load_latency;
    if (t.shared.keep) {
        const double slabs = o.slabs, kept = slabs * (1 + o.axis[0].reach), ahead = t.shared.entries - kept;
        const double entry = t.shared.entry_bytes / load_rate;
        waits += std::max(0.0, kept - ahead) * entry;
        if (ahead < slabs)
            waits += (planes - 1) * (load_latency + (slabs - ahead) * entry);
    }
    const double warpgroup = w.warpgroup + (t.out.handed ? 0 : w.copy), writer = w.bias + (t.out.handed ? w.writer : 0);
    return planes * together(w.tensor, w.load, warpgroup, writer) + waits + job_overhead;
}

double WgmmaCost::packing(const WgmmaTiling &t) const {
    const WgmmaOperands &o = t.operands;
    const double element = static_cast<double>(element_size(d_.dtype));
    double bytes =
        real(d_.w_elements()) * element + real(o.groups) * o.row_tiles * real(wgmma_stages(o)) * o.stage_bytes;
    if (!wgmma_takes_input(d_))
        bytes += real(d_.x_elements()) * element +
                 real(d_.batch * d_.in[0] * d_.in[1] * d_.in[2]) * real(wgmma_packed_cell(d_, o));
    return pack_launch + bytes / (pack_share * device_.bytes_per_second);
}

double WgmmaCost::seconds(const WgmmaTiling &t) const {
    constexpr double edge_share = 0.3; // of the time of a full job
    const WgmmaCuts &c = t.cuts;
    const double all = jobs(c), full = all * real(c.full_y) * real(c.full_z) / (real(c.y) * real(c.z));
    const double full_waves = std::ceil(full / device_.multiprocessors);
    const double waves = full_waves + edge_share * (std::ceil(all / device_.multiprocessors) - full_waves);
    const double compute = waves * job_cycles(t) / clock_rate;
    // With channels last less than a line is written at once where there are few channels.
    const double element = static_cast<double>(element_size(d_.dtype));
    const double written = std::min(real(wgmma_tile_channels(t.operands)), real(t.operands.out_channels)) * element;
    const double partial = t.out.channels_last ? std::clamp(line_bytes / written - 1, 0.0, 1.0) : 0;
    const double memory = element * (total_elements(d_) + partial * real(d_.y_elements())) / device_.bytes_per_second;
    return launch + packing(t) + start + together(compute, memory);
}

} // namespace ct3d::cuda
