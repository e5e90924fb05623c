// SPDX-License-Identifier: MIT
#include "few_outputs_plan.hpp"

#include "../arithmetic.hpp"
#include "../gpu/tensors.hpp"
#include "gpu.hpp"
#include <algorithm>
#include <cmath>
#include <string>

namespace ct3d::cuda {

namespace {

constexpr int64_t warp_pairs = 32;
constexpr int64_t most_pairs = warp_pairs * (few_outputs_threads / 32); // of a pass
constexpr int64_t most_extent = 1 << 27;                                // keeps coordinates far from the end of int32_t

// A warp's pairs, doubled until all fit, so that each warp has as much to do.
int64_t padded_pairs(int64_t pairs) {
    int64_t padded = warp_pairs;
    while (padded < pairs)
        padded *= 2;
    return padded;
}

std::string refusal(const Desc &d, const PhaseTable &phases) {
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64 || (d.dtype == Dtype::f32 && d.math == Math::fp32))
        return "products are f16, bf16 or TF32";
    if (d.out_channels_per_group() > most_pairs || d.kernel[1] > most_pairs || d.kernel[2] > most_pairs ||
        d.out_channels_per_group() * d.kernel[1] * d.kernel[2] > most_pairs)
        return "more than 256 pairs of output channel and tap in a plane";
    for (size_t axis = 0; axis < 3; ++axis) {
        if (d.stride[axis] > few_outputs_most_stride)
            return "a stride is above 8";
        const int64_t reach = (d.kernel[axis] - 1) * d.dilation[axis] + 1; // fits, as the output does
        const int64_t extents[] = {d.in[axis], d.out[axis], d.pad_begin[axis], d.in_channels, d.groups, reach};
        if (std::ranges::max(extents) > most_extent)
            return "an extent is above 2^27";
    }
    return phases.phases() == 0 ? "no output has a tap" : "";
}

void set_axis(const Desc &d, const AxisTable &table, size_t axis, FewOutputsAxis &a) {
    a.in = narrow(d.in[axis]), a.out = narrow(d.out[axis]);
    a.kernel = narrow(d.kernel[axis]), a.stride = narrow(d.stride[axis]);
    a.padding = narrow(d.pad_begin[axis]), a.dilation = narrow(d.dilation[axis]);
    a.tap_step = narrow(table.tap_step), a.in_step = narrow(table.in_step);
    for (const AxisPhase &phase : table.phases)
        a.residue[phase.first_out] = {narrow(phase.taps), narrow(phase.first_tap), narrow(phase.first_in)};
}

// 16 bytes that may be loaded at once lie within a row, and begin at a multiple of 16 bytes from the tensor's start.
bool loads_wide(const Desc &d) {
    const int64_t count = 16 / static_cast<int64_t>(element_size(d.dtype));
    return (d.layout == Layout::ndhwc ? d.in_channels_per_group() : d.in[2]) % count == 0;
}

// Words of a position that are staged at a time.
int64_t chunk_words(const Desc &d, const FewOutputsParams &p) {
    return std::min(p.words, d.dtype == Dtype::f32 ? few_outputs_chunk : few_outputs_chunk / 2);
}

FewOutputsParams make_params(const Desc &d, const PhaseTable &phases) {
    FewOutputsParams p{};
    static_cast<TensorStrides &>(p) = tensor_strides(d);
    p.channels_last = d.layout == Layout::ndhwc;
    p.wide = loads_wide(d);
    for (size_t axis = 0; axis < 3; ++axis)
        set_axis(d, phases.axis[axis], axis, p.axis[axis]);
    p.groups = static_cast<int32_t>(d.groups);
    p.in_channels = static_cast<int32_t>(d.in_channels_per_group());
    p.out_channels = static_cast<int32_t>(d.out_channels_per_group());
    p.words =
        static_cast<int32_t>(round_up(p.in_channels, d.dtype == Dtype::f32 ? 8 : 16) / (d.dtype == Dtype::f32 ? 1 : 2));
    const int64_t plane_pairs = d.out_channels_per_group() * d.kernel[1] * d.kernel[2];
    p.slices = static_cast<int32_t>(std::clamp<int64_t>(warp_pairs / plane_pairs, 1, d.kernel[0]));
    p.passes = static_cast<int32_t>(ceil_div(d.kernel[0], p.slices));
    p.pairs = static_cast<int32_t>(padded_pairs(plane_pairs * p.slices));
    const Reach rows = phases.axis[1].reach();
    p.reach_low = static_cast<int32_t>(rows.low);
    p.reach_high = static_cast<int32_t>(rows.high);
    const int64_t open = (d.kernel[0] - 1) * d.dilation[0] + 1; // planes that one input plane reaches
    p.ring = static_cast<int32_t>(std::clamp<int64_t>(open, 2, INT32_MAX));
    const int64_t count = 16 / static_cast<int64_t>(element_size(d.dtype));
    const int64_t chunk = chunk_words(d, p);
    p.chunk_words = make_divisor(chunk);
    p.chunk_vectors = make_divisor(chunk / 4);
    p.out_x = make_divisor(std::min(d.out[2], divisor_limit));
    p.stride_y = make_divisor(d.stride[1]);
    p.stride_x = make_divisor(d.stride[2]);
    p.vectors = make_divisor(count);
    return p;
}

// False where `rows` windows do not fit into `most` bytes of shared memory.
bool set_rows(const Desc &d, int64_t rows, int64_t most, FewOutputsPlan &plan) {
    FewOutputsParams &p = plan.params;
    const int64_t in_rows = std::min(rows + p.reach_high - p.reach_low, d.in[1]), positions = in_rows * d.in[2];
    const int64_t outputs = std::min(rows * d.stride[1], d.out[1]) * d.out[2];
    if (positions >= divisor_limit || outputs >= divisor_limit)
        return false;
    const int64_t pitch = round_up(positions, 32) + 8, sums = outputs + outputs / 32 + 1;
    const int64_t weights_pitch = round_up(p.words, 32) + 4, chunk = chunk_words(d, p);
    const int64_t inputs_at = int64_t{p.passes} * p.pairs * weights_pitch, products_at = inputs_at + chunk * pitch;
    const int64_t sums_at = products_at + p.pairs * pitch;
    const double bytes =
        4 * (static_cast<double>(sums_at) + static_cast<double>(p.ring) * p.out_channels * static_cast<double>(sums));
    if (bytes > static_cast<double>(most))
        return false;
    plan.shared_bytes = static_cast<uint32_t>(bytes);
    p.rows = static_cast<int32_t>(rows);
    p.row_blocks = static_cast<int32_t>(ceil_div(ceil_div(d.out[1], d.stride[1]), rows));
    p.weights_pitch = static_cast<int32_t>(weights_pitch);
    p.product_pitch = static_cast<int32_t>(pitch);
    p.sums_pitch = static_cast<int32_t>(sums);
    p.inputs_at = static_cast<int32_t>(inputs_at);
    p.products_at = static_cast<int32_t>(products_at);
    p.sums_at = static_cast<int32_t>(sums_at);
    p.positions = make_divisor(positions);
    p.vectors = make_divisor(std::max<int64_t>(positions / (16 / static_cast<int64_t>(element_size(d.dtype))), 1));
    return true;
}

// Cycles of a block for one input plane. Measured times were three times those of the instructions alone.
double plane_cycles(const Desc &d, const FewOutputsParams &p) {
    constexpr double product_cycles = 2; // of a multiprocessor, for 16 pairs, 8 positions and 8 words
    const double positions = p.positions.value, pairs = static_cast<double>(p.passes) * p.pairs, words = p.words;
    const double outputs = static_cast<double>(p.rows * d.stride[1]) * static_cast<double>(d.out[2]) / 32;
    const double reached = static_cast<double>(p.axis[0].kernel) * p.out_channels; // open planes' channels
    const double taps = std::ceil(static_cast<double>(d.kernel[1]) / static_cast<double>(d.stride[1])) *
                        std::ceil(static_cast<double>(d.kernel[2]) / static_cast<double>(d.stride[2]));
    const double products = positions / 8 * pairs / 16 * words / 8;
    const double chunks = std::ceil(words / static_cast<double>(chunk_words(d, p)));
    const double multiply = products * (product_cycles + 1) + (2 * chunks - 1) * positions * pairs / 32;
    const double stage = words * positions / 32 * (p.wide ? 1 : 3) * (chunks > 1 ? p.passes : 1);
    const double add = outputs * (reached * (taps + 2) + 10 * p.passes), write = outputs * reached;
    return 3 * (multiply + stage + add + write);
}

// Input planes that a block walks through.
double planes_walked(const FewOutputsParams &p) {
    const FewOutputsAxis &a = p.axis[0];
    const double reach = static_cast<double>(p.planes) + (a.kernel - 1.0) * a.dilation;
    return std::min<double>(std::ceil(reach / a.stride), a.in);
}

double seconds(const Desc &d, const FewOutputsPlan &plan, const Device &device) {
    constexpr double clock_rate = 1.7e9, launch_seconds = 3e-6, latency_cycles = 2500, l2_rate = 2.5;
    const FewOutputsParams &p = plan.params;
    const double resident = std::clamp(device.resident_blocks(plan.shared_bytes), 1.0, 2.0);
    const double blocks = plan.blocks, places = device.multiprocessors * resident, planes = planes_walked(p);
    const double waves = blocks < 4 * places ? std::ceil(blocks / places) : blocks / places + 0.5;
    const double cycles = plane_cycles(d, p);
    const double compute = waves * (planes + 1) * std::max(cycles * resident, cycles + latency_cycles) / clock_rate;
    const double size = static_cast<double>(element_size(d.dtype)), x = size * static_cast<double>(d.x_elements());
    const double loaded = blocks * planes * p.positions.value * p.in_channels * size;
    const double moved = x + size * static_cast<double>(d.y_elements()) + std::max(loaded - x, 0.0) / l2_rate;
    const double memory = moved / device.bytes_per_second;
    return launch_seconds + std::max(compute, memory) + 0.25 * std::min(compute, memory);
}

// Tries the numbers of parts that the planes may be cut into.
void search_planes(const Desc &d, const Device &device, FewOutputsPlan &tried, FewOutputsPlan &best) {
    FewOutputsParams &p = tried.params;
    for (int64_t parts = 1; parts <= std::min<int64_t>(d.out[0], 64); ++parts) {
        p.planes = static_cast<int32_t>(ceil_div(d.out[0], parts));
        p.plane_blocks = static_cast<int32_t>(ceil_div(d.out[0], p.planes));
        const double blocks =
            static_cast<double>(d.batch) * static_cast<double>(d.groups) * p.plane_blocks * p.row_blocks;
        if (blocks > INT32_MAX)
            continue;
        tried.blocks = static_cast<uint32_t>(blocks);
        tried.seconds = seconds(d, tried, device);
        if (best.seconds == 0 || tried.seconds < best.seconds)
            best = tried;
    }
}

} // namespace

std::string plan_few_outputs(const PlanContext &c, const Device &device, FewOutputsPlan &plan) {
    const Desc &d = c.desc;
    if (std::string reason = refusal(d, c.phases); !reason.empty())
        return reason;
    plan.seconds = 0;
    FewOutputsPlan tried{};
    tried.params = make_params(d, c.phases);
    const int64_t windows = ceil_div(d.out[1], d.stride[1]);
    for (int64_t rows = 1; rows <= windows; ++rows) {
        if (!set_rows(d, rows, device.shared_bytes_per_block, tried))
            break;
        search_planes(d, device, tried, plan);
    }
    return plan.seconds == 0 ? "an output row does not fit into shared memory" : "";
}

} // namespace ct3d::cuda
