// SPDX-License-Identifier: MIT
#include "direct_windows_plan.hpp"

#include "../arithmetic.hpp"
#include <algorithm>
#include <cmath>

namespace ct3d::gpu {

namespace {

constexpr WindowsInstance instances[] = {
#define WINDOWS_INSTANCE(s, kz, ky, kx, p, tile, wz, wy, wide_wz, wide_wy, wide_blocks)                                \
    {"s" #s "_k" #kz #ky #kx "_p" #p "_c" #tile,                                                                       \
     s,                                                                                                                \
     {kz, ky, kx},                                                                                                     \
     p,                                                                                                                \
     tile,                                                                                                             \
     {{wz, wy}, {wide_wz, wide_wy}},                                                                                   \
     {windows_blocks, wide_blocks}},
#include "direct_windows_instances.inc"
#undef WINDOWS_INSTANCE
};

constexpr int64_t few_words = 8 << 10, most_words = 27 << 10; // of weights that are staged at a time
constexpr int64_t most_extent = 1 << 29;                      // keeps coordinates far from the end of int32_t
constexpr int64_t most_index = INT32_MAX;
constexpr int64_t most_items = wide_divisor_limit - 16 * windows_most_threads; // with those past the end

bool serves(const WindowsInstance &i, const Desc &d) {
    for (size_t axis = 0; axis < 3; ++axis)
        if (d.stride[axis] != i.stride || d.kernel[axis] != i.kernel[axis] || d.dilation[axis] != 1)
            return false;
    return d.pad_begin[2] % i.stride == i.padding && (i.tile == 1 || d.out_channels_per_group() > 1);
}

class Search {
public:
    Search(const Desc &d, const Device &device, const WindowsInstance &i, bool wide, WindowsPlan &best)
        : d_(d), device_(device), i_(i), best_(best), last_(d.layout == Layout::ndhwc) {
        plan_.instance = &i;
        plan_.channels = wide ? 4 : 1;
    }

    void run() {
        set_problem();
        if (!set_distances() || items_ > most_items)
            return;
        for (const int64_t threads : {windows_most_threads, windows_most_threads / 2})
            for (const int64_t words : {few_words, most_words})
                if (set_block(threads, words))
                    for (int64_t steps = 1; steps <= 16; steps *= 2)
                        consider(steps);
    }

private:
    int64_t taps() const { return i_.kernel[0] * i_.kernel[1] * i_.kernel[2]; }

    int64_t windows(size_t axis) const { return axis == 2 ? i_.windows_x() : i_.windows[plan_.channels > 1][axis]; }

    // Inputs that an item reads along an axis.
    int64_t inputs(size_t axis) const {
        if (axis == 2)
            return windows(2) + (i_.kernel[2] - 1 - i_.padding) / i_.stride + (i_.padding > 0);
        return windows(axis) + (i_.kernel[axis] - 1) / i_.stride;
    }

    void set_problem() {
        WindowsParams &p = plan_.params;
        int64_t items[3];
        for (size_t axis = 0; axis < 3; ++axis) {
            WindowsAxis &a = p.axis[axis];
            const int64_t padding = d_.pad_begin[axis] % i_.stride, shift = axis == 2 ? 0 : padding;
            const int64_t back = (i_.kernel[axis] - 1 - (padding - shift)) / i_.stride;
            a.in = static_cast<int32_t>(d_.in[axis]);
            a.out = static_cast<int32_t>(d_.out[axis]);
            a.shift = static_cast<int32_t>(shift);
            a.first_in = static_cast<int32_t>(d_.pad_begin[axis] / i_.stride - back);
            items[axis] = ceil_div(ceil_div(d_.out[axis] + shift, i_.stride), windows(axis));
        }
        p.vector = last_ ? i_.tile == 4 && d_.out_channels_per_group() % 4 == 0 : d_.out[2] % 4 == 0;
        const int64_t lines = round_up(items[2], 32);
        p.lines = !last_ && !p.vector && 4 * lines <= 5 * items[2];
        if (p.lines)
            items[2] = lines;
        p.in_channels = static_cast<int32_t>(d_.in_channels_per_group());
        p.out_channels = static_cast<int32_t>(d_.out_channels_per_group());
        const int64_t tiles = ceil_div(p.out_channels, i_.tile);
        p.cells = static_cast<int32_t>(d_.groups * tiles);
        p.tiles = make_wide_divisor(tiles);
        p.runs = make_wide_divisor(items[2]);
        p.items_y = make_wide_divisor(items[1]);
        p.items_z = static_cast<int32_t>(items[0]);
        items_ = items[0] * items[1] <= most_index ? items[0] * items[1] * items[2] : most_index + 1;
    }

    // False where 32 bits do not hold them.
    bool set_distances() {
        const ActivationStrides x = input_strides(d_), y = output_strides(d_);
        const WeightStrides w = weight_strides(d_);
        for (const int64_t distance : {x.z, x.y, x.x, y.z, y.y, y.x})
            if (distance > most_index / 16)
                return false;
        if (y.c > most_index / 8)
            return false;
        if (d_.w_elements() > most_index)
            return false;
        WindowsParams &p = plan_.params;
        p.x_sample = x.n, p.x_channel = x.c, p.x_z = narrow(x.z), p.x_y = narrow(x.y), p.x_x = narrow(x.x);
        p.y_sample = y.n, p.y_channel = narrow(y.c), p.y_z = narrow(y.z), p.y_y = narrow(y.y), p.y_x = narrow(y.x);
        p.w_ci = narrow(w.ci), p.w_co = narrow(w.co), p.w_tap = narrow(w.x);
        return true;
    }

    int64_t channel_words() const { // of staged weights
        return last_ ? taps() * windows_tap_words : i_.kernel[0] * i_.kernel[1] * round_up(i_.kernel[2] * i_.tile, 4);
    }

    // False where the weights do not fit.
    bool set_block(int64_t threads, int64_t words) {
        WindowsParams &p = plan_.params;
        int64_t cells = 1, items = items_;
        const int64_t all = p.cells, each = channel_words() * plan_.channels;
        if (last_) {
            cells = ceil_div(all, ceil_div(all, windows_tap_words / i_.tile));
            items = std::min(items_, threads / cells);
        } else if (items_ < threads) {
            cells = std::clamp<int64_t>(std::min(threads / items_, words / each), 1, all);
        } else {
            cells = p.tiles.value > 1 ? 2 : 1;
            items = threads / cells;
        }
        const int64_t block_words = last_ ? each : each * cells;
        const int64_t staged = std::clamp<int64_t>(words / block_words, 1, p.in_channels / plan_.channels);
        if (staged * block_words > words)
            return false;
        p.block_cells = make_divisor(cells);
        p.block_items = make_divisor(items);
        p.staged = make_divisor(staged * plan_.channels);
        p.weights = static_cast<int32_t>(cells * staged * plan_.channels * taps() * i_.tile);
        p.cell_blocks = make_wide_divisor(ceil_div(all, cells));
        p.exchange_at = static_cast<int32_t>(staged * block_words);
        plan_.threads = round_up(cells * items, 32);
        const int64_t exchange = last_ ? 0 : plan_.threads * 2 * windows_outputs_x;
        plan_.shared_bytes = 4 * (p.exchange_at + exchange);
        return plan_.shared_bytes <= device_.shared_bytes_per_block;
    }

    void consider(int64_t steps) {
        WindowsParams &p = plan_.params;
        p.steps = static_cast<int32_t>(steps);
        const int64_t parts = ceil_div(items_, steps * p.block_items.value);
        p.parts = make_wide_divisor(parts);
        const double blocks =
            static_cast<double>(d_.batch) * static_cast<double>(parts) * static_cast<double>(p.cell_blocks.value);
        if (!device_.can_launch(blocks, plan_.threads))
            return;
        plan_.blocks = static_cast<int64_t>(blocks);
        plan_.seconds = seconds();
        if (!best_.instance || plan_.seconds < best_.seconds)
            best_ = plan_;
    }

    // Instructions of a thread: as counted in the machine code.
    double instructions() const {
        const WindowsParams &p = plan_.params;
        const double tile = static_cast<double>(i_.tile), all_taps = static_cast<double>(taps());
        const double all_windows = static_cast<double>(windows(0) * windows(1) * windows(2));
        const double loads = static_cast<double>(inputs(0) * inputs(1) * inputs(2));
        const double of_load = !last_ ? 2.5 : plan_.channels == 4 ? 3.5 : 7;
        const double channel =
            all_windows * all_taps * tile + loads * of_load + all_taps * (tile == 4 || last_ ? 1 : 0.3) + 15;
        const double stride = static_cast<double>(i_.stride);
        const double outputs = all_windows * stride * stride * stride * tile;
        const double of_output = p.vector ? 2.5 : last_ ? 9 : p.lines ? 6.5 : 12;
        const double rounds = std::ceil(static_cast<double>(p.in_channels) / p.staged.value);
        const double staging = rounds * (100 + 50.0 * p.weights / static_cast<double>(plan_.threads));
        return p.steps * (150 + channel * p.in_channels + outputs * of_output) + staging * (rounds > 1 ? p.steps : 1);
    }

    double seconds() const {
        constexpr double clock_rate = 1.7e9, launch = 3e-6, latency = 3e-6;
        constexpr double most = windows_most_threads / 32 * windows_blocks; // warps of a multiprocessor
        const double full = static_cast<double>(windows_most_threads / 32 * i_.blocks[plan_.channels > 1]);
        const double warps = static_cast<double>(plan_.threads) / 32, blocks = static_cast<double>(plan_.blocks);
        const double resident = std::max(
            1.0, std::min(std::floor(full / warps), device_.resident_blocks(static_cast<double>(plan_.shared_bytes))));
        const double places = device_.multiprocessors * resident, waves = blocks / places;
        const double uneven = waves > 0 && waves < 8 ? std::ceil(waves) / waves : 1;
        const double issued = 4 * (0.3 + 0.3 * std::min(1.0, warps * resident / most)); // in a cycle
        const double compute =
            instructions() * warps * blocks * uneven / (issued * clock_rate * device_.multiprocessors);
        const double size = static_cast<double>(element_size(d_.dtype));
        const double memory = size * total_elements(d_) / device_.bytes_per_second;
        return launch + latency + std::max(compute, memory) + 0.4 * std::min(compute, memory);
    }

    const Desc &d_;
    const Device &device_;
    const WindowsInstance &i_;
    WindowsPlan &best_;
    const bool last_;
    WindowsPlan plan_{};
    int64_t items_ = 0; // of a sample and a cell
};

} // namespace

bool windows_wide(const Desc &d) { return d.layout == Layout::ndhwc && d.in_channels_per_group() % 4 == 0; }

std::string plan_windows(const PlanContext &c, const Device &device, bool wide, WindowsPlan &plan) {
    const Desc &d = c.desc;
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64)
        return "dtype is f64";
    const int64_t extents[] = {std::ranges::max(d.in), std::ranges::max(d.out), std::ranges::max(d.pad_begin),
                               d.in_channels, d.out_channels};
    if (std::ranges::max(extents) > most_extent)
        return "an extent is above 2^29";
    plan.instance = nullptr;
    for (const WindowsInstance &instance : instances)
        if (serves(instance, d))
            Search(d, device, instance, wide, plan).run();
    return plan.instance ? "" : "stride and kernel are not compiled in";
}

std::string windows_function(const Desc &d, const WindowsPlan &plan) {
    return std::string("ct3d_direct_windows_") + name(d.dtype) + '_' + name(d.layout) + std::to_string(plan.channels) +
           '_' + plan.instance->name;
}

} // namespace ct3d::gpu
