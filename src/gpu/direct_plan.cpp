// SPDX-License-Identifier: MIT
#include "direct_plan.hpp"

#include "../arithmetic.hpp"
#include "direct_cost.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <string>

namespace ct3d::gpu {

namespace {

constexpr DirectInstance instances[] = {
#define DIRECT_INSTANCE(axes, stride, kernel, padding, tile)                                                           \
    {"ct3d_direct_a" #axes "_s" #stride "_k" #kernel "_p" #padding "_c" #tile, axes, stride, kernel, padding, tile},
#include "direct_instances.inc"
#undef DIRECT_INSTANCE
};

constexpr int64_t most_extent = 1 << 29;       // keeps coordinates far from the end of int32_t
constexpr int64_t most_products = 512;         // that a sum takes in before it is collected
constexpr int64_t preferred_products = 128;    // likewise, where there is a choice
constexpr int64_t most_shared = divisor_limit; // f32 that any device has, and that a Divisor takes

constexpr int64_t own_words = 64; // of shared memory, that the kernel has beside these

// Taps of the output that has the most; at least 1.
int64_t most_taps(const PhaseTable &phases) {
    int64_t product = 1;
    for (const AxisTable &axis : phases.axis)
        product = std::min(product * std::max<int64_t>(axis.most_taps(), 1), most_extent);
    return product;
}

bool compiled(const DirectInstance &i, const Desc &d, size_t axis) {
    return d.stride[axis] == i.stride && d.kernel[axis] == i.kernel && d.dilation[axis] == 1 &&
           d.pad_begin[axis] % i.stride == i.padding;
}

bool serves(const DirectInstance &i, const Desc &d) {
    const size_t first = 3 - static_cast<size_t>(i.axes);
    for (size_t axis = first; axis < 3; ++axis)
        if (!compiled(i, d, axis))
            return false;
    return i.tile == 1 || d.out_channels_per_group() > 1;
}

// Makes the parameters of one cut, as far as it fits.
class TileLayout {
public:
    TileLayout(const PlanContext &c, const DirectInstance &i) : d_(c.desc), phases_(c.phases), instance_(i) {
        set_problem();
        for (size_t axis = 0; axis < 3; ++axis)
            set_axis(axis);
    }

    int64_t windows(size_t axis) const {
        return ceil_div(int64_t{base_.axis[axis].out} + base_.axis[axis].shift, d_.stride[axis]);
    }

    // False where the cut does not fit into `most` f32 of shared memory.
    bool make(const DirectCut &cut, int64_t most, DirectParams &p, int64_t &words) const {
        p = base_;
        if (!set_cut(cut, p))
            return false;
        const int64_t volume = int64_t{p.axis[0].box} * p.axis[1].box * p.row_pitch;
        int64_t channel_pitch = volume;
        if (p.channels_last && channel_pitch / 4 % 2 == 0) // channels that neighbours store go to different banks
            channel_pitch += 4;
        const int64_t channels = int64_t{cut.groups} * cut.inputs, outputs = int64_t{cut.groups} * cut.outputs;
        const int64_t tiles = ceil_div(cut.outputs, instance_.tile);
        const int64_t weights = channels * tiles * d_.kernel[0] * d_.kernel[1] * p.tap_pitch;
        int64_t sums = 1;
        for (const DirectAxis &a : p.axis)
            sums *= std::min<int64_t>(int64_t{a.windows} * a.stride, a.out);
        const int64_t sums_pitch = (sums + sums / 32 + 1) | 1;
        const int64_t bias = round_up(outputs, 4);
        words = bias + round_up(weights, 4) + channels * channel_pitch + outputs * sums_pitch;
        if (words > most)
            return false;
        p.channel_pitch = static_cast<int32_t>(channel_pitch);
        p.sums_pitch = static_cast<int32_t>(sums_pitch);
        p.weights_at = static_cast<int32_t>(bias);
        p.box_at = static_cast<int32_t>(bias + round_up(weights, 4));
        p.sums_at = p.box_at + static_cast<int32_t>(channels * channel_pitch);
        return true;
    }

    // What the device divides by; only for the cut that is taken.
    void finish(const DirectCut &cut, DirectParams &p) const {
        p.box_y = make_divisor(p.axis[1].box);
        p.box_z = make_divisor(p.axis[0].box);
        p.staged = make_divisor(cut.inputs);
        p.kernel_x = make_divisor(p.axis[2].kernel);
        p.kernel_y = make_divisor(p.axis[1].kernel);
        p.runs = make_divisor(direct_runs(p));
        p.windows_y = make_divisor(p.axis[1].windows);
        p.items = make_divisor(direct_items(p));
        p.channel_tiles = make_divisor(ceil_div(cut.outputs, instance_.tile));
        p.stride_x = make_divisor(d_.stride[2]);
        p.stride_y = make_divisor(d_.stride[1]);
        p.stride_z = make_divisor(d_.stride[0]);
        p.units = static_cast<int32_t>(direct_units(p, instance_, cut));
        const int64_t widest = 16 / static_cast<int64_t>(element_size(d_.dtype));
        const bool wide = d_.out_channels_per_group() % widest == 0
                              ? cut.outputs % widest == 0
                              : cut.outputs == d_.out_channels_per_group() && d_.out_channels % widest == 0 &&
                                    cut.groups * cut.outputs % widest == 0;
        p.vector = wide ? static_cast<int32_t>(widest) : 1;
        p.vectors = make_divisor(cut.groups * cut.outputs / p.vector);
    }

private:
    void set_problem() {
        DirectParams &p = base_;
        static_cast<TensorStrides &>(p) = tensor_strides(d_);
        p.dtype = static_cast<int32_t>(d_.dtype);
        p.channels_last = d_.layout == Layout::ndhwc;
        p.groups = static_cast<int32_t>(d_.groups);
        p.in_channels = static_cast<int32_t>(d_.in_channels_per_group());
        p.out_channels = static_cast<int32_t>(d_.out_channels_per_group());
        const int64_t taps = d_.kernel[2] * instance_.tile;
        p.tap_pitch = static_cast<int32_t>(instance_.axes == 0 ? taps : round_up(taps, 4));
    }

    void set_axis(size_t axis) {
        DirectAxis &a = base_.axis[axis];
        const AxisTable &table = phases_.axis[axis];
        a.in = static_cast<int32_t>(d_.in[axis]);
        a.out = static_cast<int32_t>(d_.out[axis]);
        a.kernel = static_cast<int32_t>(d_.kernel[axis]);
        a.stride = static_cast<int32_t>(d_.stride[axis]);
        a.tap_step = static_cast<int32_t>(table.tap_step);
        a.in_step = static_cast<int32_t>(table.in_step);
        if (static_cast<int32_t>(3 - axis) > instance_.axes) {
            set_residues(table, axis);
            return;
        }
        // Along x a window begins at a multiple of the stride; else it begins where an input's first tap lands.
        const int32_t padding = static_cast<int32_t>(d_.pad_begin[axis] % a.stride);
        a.shift = axis == 2 ? 0 : padding;
        const int32_t back = (a.kernel - 1 - (padding - a.shift)) / a.stride;
        a.box_first = static_cast<int32_t>(d_.pad_begin[axis] / a.stride) - back;
        a.box = back + (axis == 2 && padding > 0); // beyond the tile's windows
    }

    void set_residues(const AxisTable &table, size_t axis) {
        DirectAxis &a = base_.axis[axis];
        const auto [low, high] = table.reach();
        fits_ = fits_ && high - low < most_extent && std::max(-low, high) < most_extent;
        if (!fits_)
            return;
        for (const AxisPhase &phase : table.phases)
            a.residue[phase.first_out] = {static_cast<int32_t>(phase.taps), static_cast<int32_t>(phase.first_tap),
                                          static_cast<int32_t>(phase.first_in - low)};
        a.box_first = static_cast<int32_t>(low);
        a.box = static_cast<int32_t>(high - low);
    }

    bool set_cut(const DirectCut &cut, DirectParams &p) const {
        if (!fits_)
            return false;
        for (size_t axis = 0; axis < 3; ++axis) {
            DirectAxis &a = p.axis[axis];
            a.windows = cut.windows[axis];
            a.tiles = static_cast<int32_t>(ceil_div(windows(axis), a.windows));
            a.box += a.windows;
            if (a.box > most_shared)
                return false;
        }
        const DirectAxis &ax = p.axis[2];
        const int64_t reach = ax.box - ax.windows + direct_runs(p) * direct_run;
        p.row_pitch = static_cast<int32_t>(round_up(std::max<int64_t>(ax.box, reach), 4));
        p.block_groups = cut.groups;
        p.block_outputs = cut.outputs;
        p.output_blocks = static_cast<int32_t>(ceil_div(p.out_channels, cut.outputs));
        const int64_t channel_blocks = p.output_blocks * ceil_div(p.groups, cut.groups);
        p.channel_blocks = static_cast<int32_t>(channel_blocks);
        const int64_t contiguous = p.channels_last ? int64_t{cut.groups} * cut.inputs : ax.box;
        while (p.row_lanes_log < 5 && 1 << p.row_lanes_log < contiguous)
            ++p.row_lanes_log;
        return channel_blocks < INT32_MAX;
    }

    const Desc &d_;
    const PhaseTable &phases_;
    const DirectInstance &instance_;
    DirectParams base_{};
    bool fits_ = true;
};

// The values that are tried: doubling from `least`, and `most` itself.
std::vector<int32_t> steps(int64_t least, int64_t most) {
    std::vector<int32_t> values;
    for (int64_t v = least; v < most; v *= 2)
        values.push_back(static_cast<int32_t>(v));
    values.push_back(static_cast<int32_t>(most));
    return values;
}

class Search {
public:
    Search(const PlanContext &c, const Device &device, const DirectInstance &instance, DirectPlan &best)
        : c_(c), device_(device), instance_(instance), layout_(c, instance), best_(best) {}

    void run() {
        const Desc &d = c_.desc;
        const int64_t outputs = std::min<int64_t>(d.out_channels_per_group(), 256);
        const int64_t inputs =
            std::clamp<int64_t>(preferred_products / most_taps(c_.phases), 1, d.in_channels_per_group());
        const int64_t groups = outputs < d.out_channels_per_group() ? 1 : std::min<int64_t>(d.groups, 64);
        for (const int32_t g : steps(1, groups))
            for (const int32_t o : steps(instance_.tile, std::max<int64_t>(instance_.tile, outputs)))
                for (const int32_t i : steps(1, inputs))
                    for (const int32_t threads : {direct_most_threads / 2, direct_most_threads})
                        if (g == 1 || o >= d.out_channels_per_group())
                            run_windows({{}, g, static_cast<int32_t>(std::min<int64_t>(o, outputs)), i, threads});
    }

private:
    void run_windows(DirectCut cut) {
        const int64_t all[3] = {layout_.windows(0), layout_.windows(1), layout_.windows(2)};
        for (const int32_t x : steps(32, std::max<int64_t>(all[2], 32))) {
            cut.windows[2] = static_cast<int32_t>(std::min<int64_t>(x, all[2]));
            for (const int32_t y : steps(1, std::min<int64_t>(all[1], 128))) {
                cut.windows[1] = y;
                for (const int32_t z : steps(1, std::min<int64_t>(all[0], 32))) {
                    cut.windows[0] = z;
                    if (!consider(cut))
                        break;
                }
            }
        }
    }

    // False where the cut, and so any larger one, does not fit.
    bool consider(const DirectCut &cut) {
        DirectParams p;
        int64_t words = 0;
        if (!layout_.make(cut, std::min<int64_t>(most_shared, device_.shared_bytes_per_block / 4 - own_words), p,
                          words))
            return false;
        const double blocks =
            static_cast<double>(c_.desc.batch) * p.channel_blocks * p.axis[0].tiles * p.axis[1].tiles * p.axis[2].tiles;
        if (!device_.can_launch(blocks, cut.threads))
            return true;
        const DirectWork work{c_.desc, p, instance_, cut, blocks, 4 * words};
        const double seconds = direct_seconds(work, device_);
        if (best_.instance && seconds >= best_.seconds)
            return true;
        layout_.finish(cut, p);
        best_ = {&instance_, cut, p, static_cast<uint32_t>(blocks), static_cast<uint32_t>(4 * words), seconds};
        return true;
    }

    const PlanContext &c_;
    const Device &device_;
    const DirectInstance &instance_;
    const TileLayout layout_;
    DirectPlan &best_;
};

std::string above(const char *what, int64_t value, const char *limit) {
    return what + (' ' + std::to_string(value)) + " is above " + limit;
}

std::string refusal(const Desc &d, const PhaseTable &phases) {
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64)
        return "dtype is f64";
    for (size_t axis = 0; axis < 3; ++axis) {
        if (d.stride[axis] > direct_most_stride)
            return above("stride", d.stride[axis], "8");
        if (const int64_t most = std::max({d.in[axis], d.out[axis], d.pad_begin[axis]}); most > most_extent)
            return above("extent", most, "2^29");
        if (d.kernel[axis] > most_products * d.stride[axis])
            return above("kernel", d.kernel[axis], "512 taps of an output");
    }
    if (const int64_t most = std::max(d.in_channels, d.out_channels); most > most_extent)
        return above("channel count", most, "2^29");
    if (const int64_t taps = most_taps(phases); taps > most_products)
        return above("the number of an output's taps", taps, "512");
    return {};
}

} // namespace

std::string plan_direct(const PlanContext &c, const Device &device, DirectPlan &plan) {
    if (std::string reason = refusal(c.desc, c.phases); !reason.empty())
        return reason;
    plan.instance = nullptr;
    int32_t axes = 0; // the most that an instance has compiled in
    for (const DirectInstance &instance : instances)
        if (serves(instance, c.desc))
            axes = std::max(axes, instance.axes);
    for (const DirectInstance &instance : instances)
        if (instance.axes == axes && serves(instance, c.desc))
            Search(c, device, instance, plan).run();
    return plan.instance ? "" : "no tile fits into shared memory";
}

} // namespace ct3d::gpu
