// SPDX-License-Identifier: MIT
#include "patch_gemm_plan.hpp"

#include "../arithmetic.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "../gpu/tensors.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace ct3d::cuda {

namespace {

#define CT3D_PATCH_ROW(math, n) {GemmMath::math, n, "ct3d_patch_gemm_" #math "_" #n},
constexpr PatchRow rows[] = {
#include "gpu.hpp"
#include "patch_gemm_rows.inc"
};
#undef CT3D_PATCH_ROW

constexpr uint64_t most_taps = 4; // of z and y together

// Of the cost, fitted to times that were measured.
constexpr double clock_rate = 1.75e9;
constexpr double launch = 3e-6, first_load = 1.5e-6; // seconds
constexpr double l2_rate = 5.5e12;                   // bytes per second
constexpr double memory_share = 0.85;                // of the rate of a copy
constexpr double unhidden = 0.3;                     // share of the lesser work that adds to the greatest
constexpr double copy_cycles = 4000;                 // of an entry, by threads: not measured
constexpr double issue_cycles = 4;                   // from one instruction of a warp to its next

std::string refusal(const Desc &d) {
    if (std::string reason = gemm_refusal(d); !reason.empty())
        return reason;
    for (size_t a = 0; a < 3; ++a)
        if (d.kernel[a] != d.stride[a] || (d.dilation[a] > 1 && d.kernel[a] > 1) || d.pad_begin[a] != 0 ||
            d.out[a] != d.in[a] * d.stride[a])
            return "outputs are not patches of one input cell each: kernel = stride, no padding";
    if (d.stride[2] != 2)
        return "the stride of x is not 2";
    const auto taps = static_cast<uint64_t>(d.stride[0] * d.stride[1]);
    if (taps > most_taps || !std::has_single_bit(taps))
        return "strides of z and y do not make 1, 2 or 4 taps";
    constexpr int64_t most = wide_divisor_limit - (1 << 16); // so that tiles and slices past the end are counted too
    const int64_t cells = d.in[0] * d.in[1] * d.in[2], tiles = d.batch * ceil_div(cells, patch_cells);
    if (cells > most || tiles * ceil_div(d.in_channels_per_group(), 32) > most)
        return "more than 2^31 cells, or tiles of them";
    if (d.out_channels_per_group() * d.groups > most / (2 * static_cast<int64_t>(most_taps)))
        return "more than 2^31 columns of weights";
    if (d.groups > 1 && d.in_channels_per_group() % patch_channels(gemm_math(d)) != 0)
        return "input channels of a group do not fill " + std::to_string(patch_row_bytes) + " bytes";
    return {};
}

class Planner {
public:
    Planner(const Desc &d, const Device &device)
        : d_(d), device_(device), math_(gemm_math(d)), last_(d.layout == Layout::ndhwc) {}

    bool best(PatchPlan &plan) {
        plan.seconds = std::numeric_limits<double>::max();
        for (const PatchRow &row : rows)
            if (row.math == math_)
                for (int64_t columns = row.n; columns < all_columns() + row.n; columns += row.n)
                    if (!try_columns(row, columns, plan))
                        break;
        return plan.seconds < std::numeric_limits<double>::max();
    }

private:
    int64_t taps() const { return d_.stride[0] * d_.stride[1] * d_.stride[2]; }
    int64_t channel_blocks() const { return ceil_div(d_.out_channels_per_group(), patch_block_channels(math_)); }
    // Of a group.
    int64_t all_columns() const {
        return taps() * (last_ ? channel_blocks() * patch_block_channels(math_) : d_.out_channels_per_group());
    }
    int64_t cells() const { return d_.in[0] * d_.in[1] * d_.in[2]; }
    int64_t chunks() const { return ceil_div(d_.in_channels_per_group(), patch_channels(math_)); }

    // Whether slices of so many columns fit; the plan becomes the better one.
    bool try_columns(const PatchRow &row, int64_t columns, PatchPlan &plan) const {
        PatchGemmParams p{};
        set_tensors(p);
        const int64_t group_slices = ceil_div(all_columns(), columns), slices = group_slices * d_.groups;
        const int64_t sample_tiles = ceil_div(cells(), patch_cells), tiles = sample_tiles * d_.batch;
        const int64_t weights = chunks() * gemm_planes(math_) * columns * patch_slab_bytes(math_);
        const int64_t slot = patch_entry_bytes + 16;
        const int64_t ring = round_up(weights + 4 * columns, wgmma_row_alignment);
        const int64_t room = device_.shared_bytes_per_block - wgmma_row_alignment - ring;
        // A warpgroup needs room for its tile, or has all columns at once and takes entry after entry.
        const int64_t least = columns > row.n ? chunks() : 2;
        if (room < least * slot)
            return false;
        const int64_t warpgroups = std::min<int64_t>(patch_warpgroups, room / slot / least);
        const int64_t entries = std::min(room / slot / warpgroups, std::max<int64_t>(4 * chunks(), 2));
        p.slice_columns = narrow(columns);
        p.w_order = weights_order(columns);
        p.slices = make_wide_divisor(slices);
        p.group_slices = make_wide_divisor(group_slices);
        p.sample_tiles = make_wide_divisor(sample_tiles);
        p.tiles = narrow(tiles);
        p.tile_step = narrow(std::clamp<int64_t>(device_.multiprocessors / slices, 1, tiles));
        p.chunks = narrow(chunks());
        p.entries = make_wide_divisor(entries);
        p.warpgroups = narrow(warpgroups);
        p.shared = {narrow(weights), narrow(ring), narrow(ring + warpgroups * entries * patch_entry_bytes)};
        const double time = seconds(row, p, real(slices));
        if (time < plan.seconds)
            plan = {&row,
                    last_,
                    all_columns(),
                    p,
                    x_map(),
                    static_cast<uint32_t>(slices * p.tile_step),
                    static_cast<uint32_t>(wgmma_row_alignment + ring + warpgroups * entries * slot),
                    time};
        return true;
    }

    void set_tensors(PatchGemmParams &p) const {
        static_cast<TensorStrides &>(p) = tensor_strides(d_);
        p.in_channels = narrow(d_.in_channels_per_group());
        p.out_channels = narrow(d_.out_channels_per_group());
        p.cells = narrow(cells());
        p.in_plane = make_wide_divisor(d_.in[1] * d_.in[2]);
        p.in_row = make_wide_divisor(d_.in[2]);
        p.z_bits = std::countr_zero(static_cast<uint64_t>(d_.stride[0]));
        p.y_bits = std::countr_zero(static_cast<uint64_t>(d_.stride[1]));
        p.copies = (last_ ? d_.in_channels : cells()) * gemm_element_bytes(math_) % 16 == 0;
        const int64_t vector = patch_vector(math_);
        const bool whole = d_.out_channels_per_group() % vector == 0;
        if (last_)
            p.vectors = whole ? narrow(vector) : 1;
        else
            p.vectors = vector == 8 && d_.in[2] % 2 == 0 ? 4 : 2;
    }

    // If w is aligned to 16 bytes.
    PatchWeightsOrder weights_order(int64_t slice_columns) const {
        const bool taps_together = weight_strides(d_).x == 1;
        const int64_t together = taps_together ? d_.w_elements() / d_.in_channels : d_.out_channels_per_group();
        if (together % patch_vector(math_) != 0)
            return PatchWeightsOrder::scattered;
        if (taps_together != last_)
            return PatchWeightsOrder::columns;
        const bool whole = last_ && slice_columns % (taps() * patch_block_channels(math_)) == 0;
        return whole ? PatchWeightsOrder::taps : PatchWeightsOrder::scattered;
    }

    // Cells and channels of a sample, the ones that lie together first.
    TensorMapShape x_map() const {
        const auto wide = [](int64_t value) { return static_cast<uint64_t>(value); };
        const int64_t bytes = gemm_element_bytes(math_), inner = last_ ? d_.in_channels : cells(),
                      outer = last_ ? cells() : d_.in_channels;
        const uint64_t sample = wide(inner * outer * bytes), all = sample * wide(d_.batch);
        const uint32_t row = static_cast<uint32_t>(patch_row_bytes / bytes);
        return {static_cast<int32_t>(bytes),
                {wide(inner), wide(outer), wide(d_.batch), 1, 1},
                {wide(inner * bytes), sample, all, all},
                {row, static_cast<uint32_t>(last_ ? patch_cells : patch_channels(math_)), 1, 1, 1},
                patch_row_bytes};
    }

    double seconds(const PatchRow &row, const PatchGemmParams &p, double slices) const {
        const double waves = std::ceil(slices * p.tile_step / device_.multiprocessors);
        const double compute = waves * tile_cycles(row, p) / clock_rate, element = gemm_element_bytes(math_);
        const double memory = element * total_elements(d_) / (memory_share * device_.bytes_per_second);
        const double l2 =
            element * (real(d_.x_elements()) * slices / real(d_.groups) + real(d_.y_elements())) / l2_rate;
        // Threads that load tensors which the copy engine does not take have nothing beside them.
        const double load =
            p.copies ? 0 : waves * real(ceil_div(p.tiles, p.tile_step)) * p.chunks * copy_cycles / clock_rate;
        const double most = std::max({compute, memory, l2, load});
        return launch + first_load + waves * pack_cycles(p) / clock_rate + most + unhidden * std::min(compute, memory);
    }

    // Of all tiles of a block.
    double tile_cycles(const PatchRow &row, const PatchGemmParams &p) const {
        const double products = math_ == GemmMath::f32 ? 6 : 1, n = row.n;
        const double passes = p.slice_columns / n, steps = patch_steps(math_);
        const double tensor = steps * products * std::max(n / 2, 16.0); // of an entry
        const double operands = steps * 4 * (math_ == GemmMath::f32 ? 15 : math_ == GemmMath::tf32 ? 6 : 2.5);
        const double entry = (operands + 40) * issue_cycles + tensor + 150, write = (n * 2.2 + 40) * issue_cycles;
        const double tiles = real(ceil_div(p.tiles, p.tile_step));
        return std::max(tiles * passes * p.chunks * tensor,
                        std::ceil(tiles / p.warpgroups) * passes * (p.chunks * entry + write));
    }

    double pack_cycles(const PatchGemmParams &p) const {
        const double parts = p.chunks * (patch_slab_bytes(math_) / 16.0) * p.slice_columns / (128 * patch_warpgroups);
        const double channels = 4.0 * gemm_packing(math_), element = gemm_element_bytes(math_);
        if (p.w_order == PatchWeightsOrder::scattered)
            return 1500 + parts * channels * element * 80;
        return 1500 + std::ceil(parts / patch_vector(math_)) * 1200;
    }

    const Desc &d_;
    const Device &device_;
    const GemmMath math_;
    const bool last_;
};

} // namespace

std::string plan_patch_gemm(const PlanContext &c, const Device &device, PatchPlan &plan) {
    if (std::string reason = refusal(c.desc); !reason.empty())
        return reason;
    if (device.compute_capability() != 90)
        return "for compute capability 9.0 only";
    return Planner(c.desc, device).best(plan) ? "" : "the weights of 32 columns do not fit in shared memory";
}

} // namespace ct3d::cuda
