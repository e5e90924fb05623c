// SPDX-License-Identifier: MIT
#include "direct_cost.hpp"

#include <algorithm>
#include <cmath>

namespace ct3d::gpu {

namespace {

constexpr double clock_rate = 1.7e9, launch_seconds = 3e-6;
constexpr double issue_rate = 1.5;      // instructions of a warp, per cycle and multiprocessor: as measured
constexpr double latency_cycles = 4000; // of a block whose warps wait for memory, beside its work
constexpr double l2_rate = 2.5;         // of the bandwidth of memory

double ceil_div(double a, double b) { return std::ceil(a / b); }

// Cycles of the instructions that one pass of a warp's piece issues, or of its wavefronts from shared memory.
double cycles(double instructions, double wavefronts) { return std::max(instructions / issue_rate, wavefronts); }

// All the residues of a warp's worth of runs, one input channel and one register tile.
double channel_cycles(const DirectWork &w) {
    const DirectAxis(&axis)[3] = w.params.axis;
    const double tile = w.instance.tile, tile_loads = std::ceil(tile / 4);
    const double planes = static_cast<double>(axis[0].kernel) * axis[1].kernel;
    if (w.instance.axes == 0)
        return planes * axis[2].kernel * cycles(direct_run * (tile + 1) + tile_loads + 8, direct_run + tile_loads);
    const double kernel = w.instance.kernel, stride = w.instance.stride;
    const double fma = direct_run * kernel * tile, tap_loads = std::ceil(kernel * tile / 4);
    const double input_loads = std::ceil((direct_run + (kernel - 1) / stride) / 4);
    if (w.instance.axes == 1)
        return planes * cycles(1.05 * fma + input_loads + tap_loads + 10, 4 * input_loads + tap_loads);
    const double rows = std::pow(std::floor((kernel - 1) / stride) + 1, 2);
    return cycles(planes * (1.05 * fma + tap_loads) + rows * input_loads + 10,
                  planes * tap_loads + rows * 4 * input_loads);
}

double outputs(const DirectWork &w) {
    double product = static_cast<double>(w.cut.groups) * w.cut.outputs;
    for (const DirectAxis &a : w.params.axis)
        product *= static_cast<double>(a.windows) * a.stride;
    return product;
}

double box_rows(const DirectWork &w) {
    return static_cast<double>(w.cut.groups) * w.cut.inputs * w.params.axis[0].box * w.params.axis[1].box;
}

// Times that a block stages inputs.
double rounds(const DirectWork &w) { return ceil_div(w.params.in_channels, w.cut.inputs); }

double block_cycles(const DirectWork &w) {
    const DirectParams &p = w.params;
    const double units = static_cast<double>(direct_units(p, w.instance, w.cut)), warps = w.cut.threads / 32;
    const double channels = static_cast<double>(w.cut.groups) * ceil_div(w.cut.outputs, w.instance.tile);
    const double multiply = channels * static_cast<double>(direct_items(p)) * p.in_channels * channel_cycles(w) *
                            ceil_div(units, warps) * warps / units;
    const double collect = outputs(w) / 32 * 3 * rounds(w), write = outputs(w) / 32 * 6;
    const double lanes = 1 << p.row_lanes_log;
    const double stage = p.channels_last ? box_rows(w) * p.axis[2].box / 32 * 10
                                         : box_rows(w) * lanes / 32 * (30 + 7 * ceil_div(p.axis[2].box, lanes));
    const double taps = static_cast<double>(p.axis[0].kernel) * p.axis[1].kernel * p.axis[2].kernel;
    const double weights = channels * w.instance.tile * w.cut.inputs * std::ceil(taps / 32) * 20;
    return multiply + (collect + write + rounds(w) * (stage + weights + 300) + 600) / issue_rate;
}

// What neighbours in memory waste where fewer than a sector of them is moved.
double sector_waste(double contiguous_bytes) { return std::max(1.0, 32 / contiguous_bytes); }

double memory_seconds(const DirectWork &w, const Device &device) {
    const Desc &d = w.desc;
    const double size = static_cast<double>(element_size(d.dtype));
    const double x = size * static_cast<double>(d.x_elements()), y = size * static_cast<double>(d.y_elements());
    double staged = w.blocks * rounds(w) * box_rows(w) * w.params.axis[2].box * size, written = y;
    if (w.params.channels_last) {
        staged *= sector_waste(size * w.cut.groups * w.cut.inputs);
        written *= sector_waste(size * w.cut.groups * w.cut.outputs);
    }
    return (x + y + (std::max(staged - x, 0.0) + (written - y)) / l2_rate) / device.bytes_per_second;
}

} // namespace

int64_t direct_runs(const DirectParams &p) { return (p.axis[2].windows + direct_run - 1) / direct_run; }

int64_t direct_items(const DirectParams &p) {
    return (int64_t{p.axis[0].windows} * p.axis[1].windows * direct_runs(p) + 31) / 32;
}

int64_t direct_units(const DirectParams &p, const DirectInstance &instance, const DirectCut &cut) {
    int64_t units = direct_items(p) * cut.groups * ((cut.outputs + instance.tile - 1) / instance.tile);
    for (int32_t axis = 0; axis < 3 - instance.axes; ++axis)
        units *= p.axis[axis].stride;
    return units;
}

double direct_seconds(const DirectWork &w, const Device &device) {
    const double by_registers = 2 * direct_most_threads / w.cut.threads; // as the kernels' launch bounds say
    const double resident = std::clamp(device.resident_blocks(static_cast<double>(w.shared_bytes)), 1.0, by_registers);
    const double per_multiprocessor = std::ceil(w.blocks / device.multiprocessors);
    const double work = block_cycles(w), together = std::min(resident, per_multiprocessor);
    const double compute =
        per_multiprocessor * std::max(work, (work * 1.2 + latency_cycles * rounds(w)) / together) / clock_rate;
    const double memory = memory_seconds(w, device);
    return launch_seconds + std::max(compute, memory) + 0.25 * std::min(compute, memory);
}

} // namespace ct3d::gpu
