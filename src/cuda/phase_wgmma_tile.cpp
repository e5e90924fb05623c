// SPDX-License-Identifier: MIT
#include "phase_wgmma_tile.hpp"

#include "../arithmetic.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "phase_wgmma_cost.hpp"
#include "phase_wgmma_pack.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ct3d::cuda {

namespace {

#define CT3D_WGMMA_ROW_OF(math, residues, n)                                                                           \
    {GemmMath::math, WgmmaResidues::residues, n, "ct3d_phase_wgmma_" #math "_" #residues "_" #n},
constexpr WgmmaRow rows[] = {
#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_ROW_OF(f16, residues, n)
#include "phase_wgmma_rows.inc"
#undef CT3D_WGMMA_ROW
#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_ROW_OF(bf16, residues, n)
#include "phase_wgmma_rows.inc"
#undef CT3D_WGMMA_ROW
#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_ROW_OF(tf32, residues, n)
#include "phase_wgmma_rows.inc"
#undef CT3D_WGMMA_ROW
#define CT3D_WGMMA_ROW(residues, n) CT3D_WGMMA_ROW_OF(f32, residues, n)
#include "gpu.hpp"
#include "phase_wgmma_rows_f32.inc"
#undef CT3D_WGMMA_ROW
};
#undef CT3D_WGMMA_ROW_OF

constexpr int64_t most_box = 256; // cells along a dimension that the copy engine brings at once
constexpr int64_t most_slots = 32;
constexpr int64_t short_bytes = 512; // of a span, for which one bulk copy costs more than it saves

// Eight channels that write `width` bytes each: the accesses that they take, for each one that they need.
int64_t conflicts_of(int64_t channel_bytes, int64_t width) {
    constexpr int64_t unit = 16, units = 8; // of the banks
    int64_t uses[units] = {};
    for (int64_t channel = 0; channel < 128 / width; ++channel)
        for (int64_t i = 0; i < width / unit; ++i)
            ++uses[(channel * channel_bytes / unit + i) % units];
    return *std::ranges::max_element(uses);
}

class WgmmaTiler {
public:
    WgmmaTiler(const PlanContext &context, const Device &device)
        : c_(context), d_(context.desc), device_(device), cost_(context, device),
          element_(static_cast<int64_t>(element_size(d_.dtype))), math_(gemm_math(d_)), y_(output_strides(d_)) {}

    std::optional<WgmmaTiling> best() {
        for (const WgmmaResidues residues : {WgmmaResidues::one, WgmmaResidues::two})
            for (const int32_t slab : wgmma_slabs(d_))
                if (slab > 0 && wgmma_has_residues(c_, residues))
                    try_operands(make_wgmma_operands(c_, residues, slab));
        return best_;
    }

private:
    // The packed input is at most twice x. Blocks of the packing, stages of a tile of weights and channels of the
    // packed input are counted by 31 bits; the copy engine's strides have 40.
    bool packing_fits(const WgmmaOperands &o) const {
        constexpr int64_t most = std::numeric_limits<int32_t>::max(), most_stride = int64_t{1} << 40;
        const int64_t cell = wgmma_packed_cell(d_, o), cells = d_.in[0] * d_.in[1] * d_.in[2];
        if (cell > 2 * d_.in_channels * element_ || cell > most || cells > most_stride / cell)
            return false;
        if (real(o.axis[0].all_taps) * real(o.axis[1].all_taps) * real(o.axis[2].all_taps) * real(o.slabs) > real(most))
            return false;
        WgmmaPackParams p{};
        p.operands = o;
        p.cells = cells;
        p.batch = narrow(d_.batch);
        return wgmma_weight_blocks(o) + wgmma_input_blocks(math_, p) < most;
    }

    void try_operands(const WgmmaOperands &o) {
        if (std::max(o.axis[1].reach, o.axis[2].reach) >= most_box || !packing_fits(o))
            return;
        for (const WgmmaRow &row : rows)
            if (row.math == math_ && row.residues == o.residues)
                for (const bool split_channels : {false, true})
                    try_row(row, o, split_channels);
    }

    void try_row(const WgmmaRow &row, const WgmmaOperands &o, bool split_channels) {
        WgmmaTiling t{};
        t.row = &row;
        t.operands = o;
        if (split_channels) {
            if (t.operands.row_tiles == 1)
                return;
            t.operands.row_tiles = narrow(round_up(t.operands.row_tiles, 2));
            t.tile.second_row_tile = 1;
        }
        const int64_t lattice = t.operands.axis[2].lattice;
        const int64_t parts = ceil_div(lattice, std::min<int64_t>(row.n, most_box - t.operands.axis[2].reach - 1));
        int64_t last = 0;
        for (const int64_t more : {parts, parts + 1, 2 * parts, 3 * parts, 4 * parts})
            if (const int64_t x = ceil_div(lattice, more); x != last) {
                try_x(t, x);
                last = x;
            }
    }

    // Cells of a box along x, such that its rows are even in number from one y to the next.
    static int64_t box_x(const WgmmaTiling &t, int64_t x) {
        const int64_t cells = x + t.operands.axis[2].reach;
        return cells + cells % 2;
    }

    // Columns of a warpgroup's product that are needed.
    static int64_t columns(const WgmmaTiling &t, int64_t samples, int64_t y, int64_t x) {
        return (y * samples - 1) * box_x(t, x) + x;
    }

    void try_x(WgmmaTiling &t, int64_t x) {
        const int64_t n = t.row->n, lattice = t.operands.axis[1].lattice, warpgroups = t.tile.second_row_tile ? 1 : 2;
        const int64_t most_y = 1 + (n - x) / box_x(t, x);
        const int64_t y = ceil_div(even_part(lattice, most_y * warpgroups), warpgroups);
        try_y(t, 1, y, x);
        if (x < t.operands.axis[2].lattice || y * warpgroups < lattice)
            return;
        int64_t samples = std::min(d_.batch, n / x);
        while (samples > 1 && columns(t, samples, y, x) > n)
            --samples;
        if (samples = even_part(d_.batch, samples); samples > 1 && columns(t, samples, y, x) <= n)
            try_y(t, samples, y, x);
    }

    void try_y(WgmmaTiling &t, int64_t samples, int64_t y, int64_t x) {
        const WgmmaAxis *const axis = t.operands.axis;
        const int64_t second_y = t.tile.second_row_tile ? 0 : y;
        const int64_t cells_x = box_x(t, x);
        const int64_t box_y = second_y + y + axis[1].reach;
        if (std::max({cells_x, box_y, samples}) > most_box || !offsets_fit(samples))
            return;
        t.tile = {narrow(samples), narrow(y),     narrow(x),        narrow(cells_x * samples),
                  narrow(cells_x), narrow(box_y), narrow(second_y), t.tile.second_row_tile};
        set_cuts(t);
        for (const Collection collection : {Collection::spans, Collection::row_spans, Collection::none}) {
            if (!place_output(t, collection))
                continue;
            for (const bool keep : {false, true})
                if (place_rings(t, keep))
                    try_jobs(t);
        }
    }

    // Bytes from the first output of a tile are 32-bit.
    bool offsets_fit(int64_t samples) const {
        return (real(samples - 1) * real(y_.n) + real(d_.out[1]) * real(y_.y)) * real(element_) <
               std::numeric_limits<int32_t>::max();
    }

    void set_cuts(WgmmaTiling &t) const {
        const WgmmaOperands &o = t.operands;
        const int64_t y = t.tile.y + t.tile.second_y;
        t.cuts = {};
        t.cuts.row_tiles = o.row_tiles / (1 + t.tile.second_row_tile);
        t.cuts.groups = o.groups;
        t.cuts.x = ceil_div(o.axis[2].lattice, t.tile.x);
        t.cuts.y = ceil_div(o.axis[1].lattice, y);
        t.cuts.full_y = ceil_div(full_positions(o.axis[1]), y);
        t.cuts.samples = ceil_div(d_.batch, t.tile.samples);
    }

    // Lattice positions at which all residues with taps have an output.
    static int64_t full_positions(const WgmmaAxis &axis) {
        int32_t last = 0;
        for (int32_t residue = 0; residue < std::min(axis.stride, axis.out); ++residue)
            if (axis.phase[residue].taps > 0)
                last = residue;
        return ceil_div(axis.out - last, axis.stride);
    }

    // Of outputs in shared memory; none: they are written from registers, or channels are last.
    enum class Collection { spans, row_spans, none };

    bool place_output(WgmmaTiling &t, Collection collection) const {
        const bool row_spans = collection != Collection::spans;
        t.out = {};
        t.out.sample = y_.n;
        t.out.channel = y_.c;
        t.out.z = y_.z;
        t.out.y = y_.y;
        t.out.x = y_.x;
        t.out.row_spans = row_spans;
        if (d_.layout == Layout::ndhwc) {
            const int element = static_cast<int>(element_);
            t.out.vectors = y_.x * element % 16 == 0 && t.operands.out_channels * element % 16 == 0;
            t.out.cell_spans = !t.out.vectors && collection == Collection::row_spans;
            t.out.channels_last = !t.out.cell_spans;
            t.shared.staging_bytes = wgmma_last_columns * wgmma_last_pitch(element);
            if (t.out.channels_last || !joins_cells(t))
                return collection == Collection::none;
        }
        const bool whole = t.cuts.x == 1;
        if (!row_spans && !whole)
            return false;
        if (t.tile.samples > 1 && y_.n * element_ % sector_bytes != 0)
            return false;
        t.out.fill = has_bias_only(t.operands.axis[2]) || (!row_spans && has_bias_only(t.operands.axis[1]));
        const int64_t row = (whole ? d_.out[2] : t.tile.x * d_.stride[2]) * y_.x;
        const int64_t bytes_of_span = (row_spans ? row : t.tile.y * d_.stride[1] * row) * element_;
        const int64_t span_rows = row_spans ? t.tile.y : 1, spans = t.tile.samples * span_rows;
        t.aligned_spans = has_aligned_rows(t, sector_bytes / element_) && row * element_ % sector_bytes == 0;
        const int64_t loose = round_up(bytes_of_span + sector_bytes - element_, sector_bytes);
        if (loose >= device_.shared_bytes_per_block || spans >= divisor_limit)
            return false;
        t.out.vectors = joins_columns(t);
        t.out.straight = collection == Collection::none;
        if (t.out.straight && !writes_straight(t))
            return false;
        t.out.short_spans = t.aligned_spans && bytes_of_span < short_bytes;
        t.out.channel_spans = make_divisor(spans);
        t.out.sample_spans = make_divisor(span_rows);
        t.out.span_quads = make_divisor(ceil_div(bytes_of_span, 16));
        set_span_bytes(t, loose);
        const int64_t span_bytes = spans * t.out.span_bytes;
        const int64_t channels = std::min<int64_t>(wgmma_tile_channels(t.operands),
                                                   round_up(t.operands.out_channels, t.operands.warp_channels));
        t.out.channel_bytes = narrow(t.out.cell_spans ? element_ : span_bytes);
        const int64_t bytes = t.out.straight ? 0 : t.out.cell_spans ? span_bytes : channels * span_bytes;
        t.shared.staging_bytes = narrow(std::min<int64_t>(round_up(bytes, 128), device_.shared_bytes_per_block));
        return std::cmp_less(t.shared.staging_bytes, device_.shared_bytes_per_block);
    }

    // Whether a tile has all channels and residues of x of its cells, and each of them a product.
    static bool joins_cells(const WgmmaTiling &t) {
        const WgmmaOperands &o = t.operands;
        return o.groups == 1 && o.row_tiles == 1 && o.passes == 1 && o.pass[0].residues == o.axis[2].stride &&
               has_taps_everywhere(o.axis[0]) && has_taps_everywhere(o.axis[1]) &&
               wgmma_hands_over(t.row->math, t.row->n);
    }

    static bool has_bias_only(const WgmmaAxis &axis) {
        return std::any_of(axis.phase, axis.phase + std::min(axis.stride, axis.out),
                           [](const WgmmaPhase &f) { return f.taps == 0; });
    }

    // Whether the rows of a tile begin at multiples of so many elements, relative to y.
    bool has_aligned_rows(const WgmmaTiling &t, int64_t elements) const {
        const std::array strides{y_.n, y_.c, y_.z, y_.y, t.cuts.x == 1 ? elements : t.tile.x * d_.stride[2]};
        return std::ranges::all_of(strides, [&](int64_t stride) { return stride % elements == 0; });
    }

    // Whether a thread has what two neighbouring columns write as one vector. All columns then have all outputs.
    bool joins_columns(const WgmmaTiling &t) const {
        const bool has_residues = d_.stride[2] == 1 || (d_.stride[2] == 2 && t.row->residues != WgmmaResidues::one);
        return has_residues && has_aligned_rows(t, 2 * d_.stride[2]);
    }

    // Whether two columns and two residues of x are all that there is of x, and all rows have taps.
    bool writes_straight(const WgmmaTiling &t) const {
        return t.out.vectors && d_.stride[2] == 2 && t.operands.passes == 1 && t.operands.pass[0].residues == 2 &&
               has_taps_everywhere(t.operands.axis[1]);
    }

    // Whether each output of an axis has a tap inside the input. Those of a residue that do are neighbours where taps
    // are not further apart than the input is long.
    static bool has_taps_everywhere(const WgmmaAxis &axis) {
        const int32_t step = narrow(axis.in_step.value);
        const auto has_tap = [&axis, step](const WgmmaPhase &f, int32_t position) {
            const int32_t in = position + axis.low + f.first, last = in - (f.taps - 1) * step;
            return f.taps > 0 && in >= 0 && last < axis.in;
        };
        for (int32_t residue = 0; residue < std::min(axis.stride, axis.out); ++residue)
            if (!has_tap(axis.phase[residue], 0) ||
                !has_tap(axis.phase[residue], (axis.out - 1 - residue) / axis.stride))
                return false;
        return step <= axis.in;
    }

    // Spread such that the lanes of a warp, which write eight channels, find them in different banks.
    void set_span_bytes(WgmmaTiling &t, int64_t least) const {
        const int64_t width = t.out.vectors ? 4 * 2 * d_.stride[2] * element_ : 16; // that four lanes write
        int64_t fewest = std::numeric_limits<int64_t>::max();
        for (int64_t bytes = least; bytes < least + 128; bytes += sector_bytes)
            if (const int64_t conflicts = conflicts_of(int64_t{t.out.channel_spans.value} * bytes, width);
                conflicts < fewest) {
                fewest = conflicts;
                t.out.span_bytes = narrow(bytes);
            }
    }

    // Of a pass.
    static int32_t most_taps(const WgmmaOperands &o) {
        int32_t most = 1;
        for (const WgmmaPass &pass : o.pass)
            most = std::max(most, pass.taps);
        return most;
    }

    // Stages first hide the latency of loading, then entries that of the next plane; what is left is for more stages.
    bool place_rings(WgmmaTiling &t, bool keep) const {
        constexpr int64_t least_stages = 3, good_stages = 6, good_entries = 4, good_stage_bytes = 16 << 10;
        const WgmmaOperands &o = t.operands;
        WgmmaShared &s = t.shared;
        s.keep = keep;
        const int64_t box_rows = int64_t{t.tile.row_y} * t.tile.box_y;
        const int64_t read_rows =
            int64_t{t.tile.second_y + o.axis[1].reach} * t.tile.row_y + o.axis[2].reach + t.row->n;
        const int64_t plane = round_up(std::max(box_rows, read_rows) * o.slab_bytes, wgmma_row_alignment);
        const int64_t entry = gemm_planes(math_) * plane;
        const int64_t tap = int64_t{o.stage_bytes} * (1 + t.tile.second_row_tile);
        s.stage_taps = narrow(std::clamp<int64_t>(good_stage_bytes / tap, 1, most_taps(o)));
        const int64_t stage = s.stage_taps * tap;
        int64_t left = device_.shared_bytes_per_block - wgmma_warpgroups * int64_t{s.staging_bytes} -
                       table_bytes(t, most_slots, most_slots);
        const int64_t kept = (int64_t{o.axis[0].reach} + 1) * o.slabs;
        const int64_t least = keep ? kept : 2, good = keep ? kept + o.slabs : good_entries;
        int64_t entries = least, stages = least_stages;
        left -= entries * entry + stages * stage;
        if (left < 0 || entries > most_slots)
            return false;
        const auto grow = [&left](int64_t &slots, int64_t most, int64_t bytes) {
            const int64_t more = std::clamp<int64_t>(std::min(most, most_slots) - slots, 0, left / bytes);
            slots += more;
            left -= more * bytes;
        };
        grow(stages, good_stages, stage);
        grow(entries, good, entry);
        grow(stages, 2 * good_stages, stage);
        grow(entries, 2 * least, entry);
        grow(stages, std::min<int64_t>(most_slots, wgmma_stages(o) * o.axis[0].lattice), stage);
        s.plane_bytes = narrow(plane);
        s.entry_bytes = narrow(entry);
        s.box_bytes = narrow(box_rows * o.slab_bytes);
        s.entries = narrow(entries);
        s.stages = narrow(stages);
        s.stages_offset = narrow(entries * entry);
        s.staging_offset = narrow(s.stages_offset + stages * stage);
        s.tables_offset = s.staging_offset + wgmma_warpgroups * s.staging_bytes;
        t.shared_bytes = s.tables_offset + table_bytes(t, entries, stages);
        return true;
    }

    // Barriers, places and bias, and what aligning the whole takes.
    static int64_t table_bytes(const WgmmaTiling &t, int64_t entries, int64_t stages) {
        constexpr int64_t slot = 2 * sizeof(uint64_t), place = sizeof(uint64_t);
        const int64_t tables = t.row->n * place + wgmma_rows * static_cast<int64_t>(sizeof(float));
        return slot * (entries + stages + wgmma_warpgroups) + wgmma_warpgroups * tables + wgmma_row_alignment;
    }

    void try_jobs(WgmmaTiling &t) {
        const WgmmaAxis *const axis = t.operands.axis;
        const bool splits_y = axis[1].stride > 1 && (t.out.channels_last || t.out.row_spans);
        for (const bool split_z : {false, true})
            for (const bool split_y : {false, true}) {
                if ((split_z && axis[0].stride == 1) || (split_y && !splits_y))
                    continue;
                t.cuts.z_residues = split_z ? axis[0].stride : 1;
                t.cuts.y_residues = split_y ? axis[1].stride : 1;
                try_planes(t);
            }
    }

    void try_planes(WgmmaTiling &t) {
        constexpr double many_waves = 8;
        const int64_t lattice = t.operands.axis[0].lattice;
        for (int64_t parts = 1; parts <= lattice; parts += std::max<int64_t>(1, parts / 4)) {
            t.cuts.z_planes = ceil_div(lattice, parts);
            t.cuts.z = ceil_div(lattice, t.cuts.z_planes);
            t.cuts.full_z = ceil_div(full_positions(t.operands.axis[0]), t.cuts.z_planes);
            const double jobs = cost_.jobs(t.cuts);
            if (jobs >= static_cast<double>(wide_divisor_limit))
                return;
            t.out.handed = cost_.hands_over(t);
            t.seconds = cost_.seconds(t);
            if (!best_ || t.seconds < best_->seconds)
                best_ = t;
            if (jobs > many_waves * device_.multiprocessors)
                return;
        }
    }

    const PlanContext &c_;
    const Desc &d_;
    const Device &device_;
    const WgmmaCost cost_;
    const int64_t element_;
    const GemmMath math_;
    const ActivationStrides y_;
    std::optional<WgmmaTiling> best_;
};

} // namespace

std::optional<WgmmaTiling> choose_wgmma_tiling(const PlanContext &context, const Device &device) {
    return WgmmaTiler(context, device).best();
}

} // namespace ct3d::cuda
