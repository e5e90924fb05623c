// SPDX-License-Identifier: MIT
#include "group_gemm_plan.hpp"

#include "../arithmetic.hpp"
#include "../gpu/tensors.hpp"
#include "gpu.hpp"
#include "sector.hpp"

#include <algorithm>
#include <cmath>

namespace ct3d::cuda {

namespace {

constexpr int64_t most_extent = 1 << 27; // keeps coordinates far from the end of int32_t
constexpr int64_t most_channels = 1 << 10;
constexpr int64_t most_tile_x = 128, most_tile_y = 16, most_tile_z = 8;
constexpr int64_t warps = group_threads / 32;

std::string refusal(const Desc &d, const PhaseTable &phases) {
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64 || (d.dtype == Dtype::f32 && d.math == Math::fp32))
        return "products are f16, bf16 or TF32";
    if (std::max(d.in_channels_per_group(), d.out_channels_per_group()) > most_channels)
        return "more than 1024 channels of a group";
    if (d.stride[2] > group_most_stride_x)
        return "the stride of x is above 2";
    if (std::max(d.stride[0], d.stride[1]) > group_most_stride)
        return "a stride is above 8";
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t reach = (d.kernel[axis] - 1) * d.dilation[axis] + 1; // fits, as the output does
        const int64_t extents[] = {d.in[axis], d.out[axis], d.pad_begin[axis], d.in_channels, d.out_channels, reach};
        if (std::ranges::max(extents) > most_extent)
            return "an extent is above 2^27";
    }
    return phases.phases() == 0 ? "no output has a tap" : "";
}

class GroupPlanner {
public:
    GroupPlanner(const PlanContext &c, const Device &device, GroupPlan &best)
        : d_(c.desc), phases_(c.phases), device_(device), element_(static_cast<int64_t>(element_size(d_.dtype))),
          last_(d_.layout == Layout::ndhwc), best_(best) {
        set_problem();
    }

    // Why there is no plan, or empty.
    std::string search() {
        best_.seconds = 0;
        const int64_t x = lattice(2), y = lattice(1), z = lattice(0);
        const int64_t parts = ceil_div(x, most_tile_x);
        for (const int32_t joined : {1, 2, 4}) {
            if (!can_join(joined))
                continue;
            plan_.params.joined = joined;
            for (const int64_t of_x : {parts, 2 * parts, 4 * parts})
                for (int64_t tile_y = 1; tile_y <= std::min(y, most_tile_y); ++tile_y)
                    for (int64_t tile_z = 1; tile_z <= std::min(z, most_tile_z); ++tile_z)
                        consider({tile_z, tile_y, ceil_div(x, of_x)});
        }
        if (best_.seconds > 0)
            return "";
        return fits_ ? "2^31 blocks or more" : "a row does not fit into shared memory";
    }

private:
    int64_t lattice(size_t axis) const { return ceil_div(d_.out[axis], d_.stride[axis]); }

    // With channels last, groups of whole tiles of channels lie side by side in x and y.
    bool can_join(int64_t groups) const {
        const GroupGemmParams &p = plan_.params;
        return groups == 1 || (last_ && d_.groups % groups == 0 && p.in_channels % group_channels == 0 &&
                               p.out_channels % group_channels == 0);
    }

    void set_problem() {
        GroupGemmParams &p = plan_.params;
        static_cast<TensorStrides &>(p) = tensor_strides(d_);
        p.in_channels = narrow(d_.in_channels_per_group());
        p.out_channels = narrow(d_.out_channels_per_group());
        p.steps = narrow(ceil_div(p.in_channels, group_channels));
        p.channel_tiles = narrow(ceil_div(p.out_channels, group_channels));
        p.wide = last_ && p.in_channels % group_channels == 0;
        p.pairs = last_ && p.out_channels % 2 == 0;
        p.vectors = last_ && p.out_channels % group_channels == 0;
        for (size_t axis = 0; axis < 3; ++axis)
            set_axis(axis);
        taps_ = real(p.axis[0].all_taps) * p.axis[1].all_taps * p.axis[2].all_taps;
    }

    void set_axis(size_t axis) {
        const AxisTable &table = phases_.axis[axis];
        GroupAxis &a = plan_.params.axis[axis];
        a.in = narrow(d_.in[axis]);
        a.out = narrow(d_.out[axis]);
        a.stride = narrow(d_.stride[axis]);
        a.tap_step = narrow(table.tap_step);
        a.in_step = narrow(table.in_step);
        a.low = narrow(table.reach().low);
        for (const AxisPhase &phase : table.phases) {
            a.residue[phase.first_out] = {narrow(phase.taps), narrow(phase.first_tap), narrow(phase.first_in) - a.low,
                                          a.all_taps};
            a.all_taps += narrow(phase.taps);
        }
    }

    void consider(const std::array<int64_t, 3> &tile) {
        if (!set_tile(tile))
            return;
        plan_.seconds = seconds();
        if (best_.seconds == 0 || plan_.seconds < best_.seconds)
            best_ = plan_;
    }

    // False where it does not fit.
    bool set_tile(const std::array<int64_t, 3> &tile) {
        GroupGemmParams &p = plan_.params;
        double cells = 1;
        int64_t tiles[3];
        for (size_t axis = 0; axis < 3; ++axis) {
            const Reach reach = phases_.axis[axis].reach();
            const int64_t box = tile[axis] + reach.high - reach.low;
            p.axis[axis].tile = narrow(tile[axis]);
            p.axis[axis].box = narrow(box);
            tiles[axis] = ceil_div(lattice(axis), tile[axis]);
            cells *= real(box);
        }
        const int64_t planes = d_.dtype == Dtype::f32 ? 2 : 1;
        const double weights = real(p.joined) * p.channel_tiles * p.steps * taps_ * 32 * 4 * real(planes),
                     table = taps_ * 4;
        const double box = real(p.joined) * real(p.steps * planes) * 16 * (cells + group_positions);
        set_rows(tile[2]);
        const double rows = real(warps * p.row_bytes);
        const double units =
            real(tile[0] * tile[1] * d_.stride[0] * d_.stride[1]) * (last_ ? 1 : real(p.channel_tiles));
        if (weights + table + 16 + box + rows > real(device_.shared_bytes_per_block) || units >= real(divisor_limit))
            return false;
        fits_ = true;
        const int64_t groups = d_.groups / p.joined;
        const double blocks = real(d_.batch) * real(groups) * real(tiles[0]) * real(tiles[1]) * real(tiles[2]);
        if (blocks >= real(wide_divisor_limit))
            return false;
        p.cells = narrow(static_cast<int64_t>(cells));
        p.plane_bytes = (p.cells + group_positions) * 16;
        p.taps = narrow(static_cast<int64_t>(taps_));
        p.cells_at = narrow(static_cast<int64_t>(weights));
        p.box_at = narrow(round_up(p.cells_at + static_cast<int64_t>(table), 16));
        p.rows_at = p.box_at + p.joined * p.steps * narrow(planes) * p.plane_bytes;
        p.units = narrow(static_cast<int64_t>(units));
        p.box_x = make_divisor(p.axis[2].box);
        p.box_y = make_divisor(p.axis[1].box);
        p.tile_rows = make_divisor(tile[0] * tile[1]);
        p.tile_y = make_divisor(tile[1]);
        p.groups = make_wide_divisor(groups);
        p.x_tiles = make_wide_divisor(tiles[2]);
        p.y_tiles = make_wide_divisor(tiles[1]);
        p.z_tiles = make_wide_divisor(tiles[0]);
        plan_.shared_bytes = static_cast<uint32_t>(p.rows_at + static_cast<int64_t>(rows));
        plan_.blocks = static_cast<uint32_t>(blocks);
        return true;
    }

    // Spread such that the lanes of a warp find eight places in different banks.
    void set_rows(int64_t tile_x) {
        GroupGemmParams &p = plan_.params;
        if (last_) {
            const int64_t tiles = int64_t{p.joined} * p.channel_tiles, tile_bytes = group_channels * element_;
            p.span_bytes = narrow((tiles + (tiles + 1) % 2) * tile_bytes);
            p.row_bytes = p.vectors ? narrow(group_positions * d_.stride[2] * p.span_bytes) : 0;
            p.cell_vectors = make_divisor(tiles * tile_bytes / 16);
        } else { // every other one of eight rows is written at once: these begin at banks 8 apart
            const int64_t row = round_up(tile_x, group_positions) * d_.stride[2] * element_;
            p.span_bytes = narrow(round_up(row, 64) + 16);
            p.row_bytes = narrow(group_channels * p.span_bytes);
        }
    }

    // Instructions of a block's warps: as counted in the machine code.
    double instructions() const {
        const GroupGemmParams &p = plan_.params;
        const GroupAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
        const bool words = d_.dtype == Dtype::f32;
        const double chunks = std::ceil(real(ax.tile) / group_positions), residues = ax.stride;
        const double tiles = real(p.joined) * p.channel_tiles, rows = real(az.tile) * ay.tile * tiles;
        const double multiply = rows * p.steps * chunks * (real(p.taps) * (words ? 9 : 8) + 10 * residues);
        const double put = chunks * residues * 8 * (words ? 2.2 : 3.2);
        const double row_bytes = real(ax.tile) * residues * real(element_);
        const double copy = last_ ? chunks * residues * real(p.cell_vectors.value) * 15
                                  : group_channels * (25 + 8 * std::ceil(row_bytes / 512));
        const double puts = last_ ? tiles * (p.vectors ? 1 : 3) : 1;
        const double write = real(p.units) * (100 + put * puts + copy);
        const double stage = std::ceil(real(p.cells) / 32) *
                             (30 + real(p.joined) * p.steps * (p.wide ? 12.0 + 20 * words : 30.0 + 30 * words));
        const double weights = (60 + tiles * p.steps * 40) * p.taps;
        return multiply + write + stage + weights;
    }

    double seconds() const {
        constexpr double clock_rate = 1.7e9, launch = 3e-6, latency = 3e-6, issued = 2, l2_rate = 2.5;
        constexpr double partial_cost = 5;
        const GroupGemmParams &p = plan_.params;
        const double resident = std::clamp(device_.resident_blocks(plan_.shared_bytes), 1.0, real(group_blocks));
        const double waves = plan_.blocks / (device_.multiprocessors * resident);
        const double uneven = waves < 8 ? std::ceil(waves) / waves : 1;
        const double share = std::min(1.0, 0.4 + 0.2 * resident); // few warps do not keep the schedulers busy
        const double compute =
            instructions() * plan_.blocks * uneven / (issued * share * clock_rate * device_.multiprocessors);
        const double size = real(element_), x = size * real(d_.x_elements());
        const double loaded = real(plan_.blocks) * p.cells * p.joined * p.in_channels * size;
        // With channels last a block writes less than a sector of a cell where it has few channels.
        const double written = real(p.joined) * p.out_channels * size, y = size * real(d_.y_elements());
        const double partial = last_ ? std::max(partial_cost * (sector_bytes / written - 1), 0.0) : 0;
        const double moved = x + y * (1 + partial) + std::max(loaded - x, 0.0) / l2_rate;
        const double memory = moved / device_.bytes_per_second;
        return launch + latency + std::max(compute, memory) + 0.25 * std::min(compute, memory);
    }

    const Desc &d_;
    const PhaseTable &phases_;
    const Device &device_;
    const int64_t element_;
    const bool last_;
    double taps_ = 0;   // of all residues
    bool fits_ = false; // a tile
    GroupPlan plan_{};
    GroupPlan &best_;
};

} // namespace

std::string plan_group_gemm(const PlanContext &c, const Device &device, GroupPlan &plan) {
    if (std::string reason = refusal(c.desc, c.phases); !reason.empty())
        return reason;
    return GroupPlanner(c, device, plan).search();
}

} // namespace ct3d::cuda
