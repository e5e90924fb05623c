// SPDX-License-Identifier: MIT
#include "single_output_plan.hpp"

#include "../arithmetic.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "../gpu/tensors.hpp"
#include "gpu.hpp"

#include <algorithm>
#include <limits>

namespace ct3d::cuda {

namespace {

constexpr int64_t most_extent = 1 << 27; // keeps coordinates far from the end of int32_t
constexpr int64_t most_windows = wide_divisor_limit - 1;

// Of the cost: instructions as counted in the machine code. The rest is not measured.
constexpr double clock_rate = 1.7e9, launch = 3e-6; // seconds
constexpr double issue_rate = 0.6;                  // of instructions, of each quarter of a multiprocessor
constexpr double product_cycles = 8;                // of a matrix instruction, of a quarter
constexpr double load_latency = 1.5e-6;             // of a stage
constexpr double reread_rate = 2.5;                 // of what another block has read too, against memory
constexpr double unhidden = 0.25;                   // share of the lesser work that adds to the greater

std::string refusal(const Desc &d, const PhaseTable &phases) {
    if (d.op != Op::forward)
        return "forward only";
    if (d.dtype == Dtype::f64 || (d.dtype == Dtype::f32 && d.math == Math::fp32))
        return "products are f16, bf16 or TF32";
    if (d.out_channels_per_group() != 1)
        return "more than one output channel of a group";
    for (size_t axis = 0; axis < 3; ++axis) {
        if (d.kernel[axis] != 4 || d.stride[axis] != 2 || d.dilation[axis] != 1)
            return "for kernel 4, stride 2 and dilation 1";
        const int64_t extents[] = {d.in[axis], d.out[axis], d.pad_begin[axis], d.in_channels, d.batch};
        if (std::ranges::max(extents) > most_extent)
            return "an extent is above 2^27";
    }
    return phases.phases() == 0 ? "no output has a tap" : "";
}

class Planner {
public:
    Planner(const Desc &d, const Device &device)
        : d_(d), device_(device), math_(gemm_math(d)), last_(d.layout == Layout::ndhwc) {}

    bool best(SingleOutputPlan &plan) const {
        plan.seconds = std::numeric_limits<double>::max();
        for (const int32_t tiles : {1, 2, 4}) {
            SingleOutputPlan tried{};
            set_problem(tried.params);
            if (!set_pieces(tiles, tried))
                continue;
            for (int64_t pieces = 1; pieces <= std::min<int64_t>(tried.params.pieces, most_warps); ++pieces)
                for (int64_t warps = 1; warps * pieces <= most_warps && warps <= tried.params.windows_y; ++warps)
                    for (int64_t resident = 1; resident * warps * pieces <= most_warps; ++resident)
                        if (set_block(warps, pieces, resident, tried) && tried.seconds < plan.seconds)
                            plan = tried;
        }
        return plan.seconds < std::numeric_limits<double>::max();
    }

private:
    static constexpr int64_t most_warps = single_output_most_warps;

    int64_t channels() const { return d_.in_channels_per_group(); }
    int64_t depth() const { return single_output_cell_bytes / gemm_element_bytes(math_) / single_output_steps; }
    int64_t steps() const { return ceil_div(channels(), depth()); }
    int64_t chunks() const { return ceil_div(steps(), single_output_steps); }
    // Of a staged row. Channels first it has no more channels than are multiplied, and a free line where copies to
    // neighbouring rows would meet in a bank.
    int64_t row_bytes(int64_t tiles) const {
        if (last_)
            return 16 * tiles * single_output_cell_bytes;
        const int64_t line = 16 * tiles * gemm_element_bytes(math_);
        return line * (std::min<int64_t>(steps(), single_output_steps) * depth() + (line < 128 ? 1 : 0));
    }
    int64_t windows(size_t axis) const {
        return (d_.out[axis] - 1 + d_.pad_begin[axis]) / 2 - d_.pad_begin[axis] / 2 + 1;
    }

    void set_problem(SingleOutputParams &p) const {
        static_cast<TensorStrides &>(p) = tensor_strides(d_);
        for (size_t axis = 0; axis < 3; ++axis)
            p.axis[axis] = {narrow(d_.in[axis]), narrow(d_.out[axis]), narrow(d_.pad_begin[axis])};
        p.in_channels = narrow(channels());
        p.chunks = narrow(chunks());
        p.windows_y = narrow(windows(1));
        p.windows_z = make_wide_divisor(windows(0));
        p.samples = make_wide_divisor(d_.batch);
        p.weight_bytes = narrow(std::min<int64_t>(chunks() * single_output_chunk_weights, INT32_MAX));
        const int64_t vector = 16 / gemm_element_bytes(math_);
        p.wide = (last_ ? channels() : d_.in[2]) % vector == 0;
        p.two_out = p.y_x == 1 && d_.out[2] % 2 == 0;
    }

    // A piece's first and last eight positions are there for their neighbours alone, but where the row ends.
    bool set_pieces(int32_t tiles, SingleOutputPlan &plan) const {
        SingleOutputParams &p = plan.params;
        const int64_t first = d_.pad_begin[2] / 2, end = first + ceil_div(d_.out[2], 2); // of pairs of outputs
        const int64_t begin = floor_div(std::max<int64_t>(first - 1, 0), single_output_halo) * single_output_halo;
        const int64_t length = std::max(end, std::min(end + 1, d_.in[2])) - begin, width = 16 * tiles;
        const int64_t step = width - 2 * single_output_halo;
        if (length > width && step == 0)
            return false;
        plan.tiles = tiles;
        p.first_position = narrow(begin);
        p.piece_step = narrow(step);
        p.pieces = length > width ? narrow(ceil_div(length - 2 * single_output_halo, step)) : 1;
        return true;
    }

    // False where `resident` blocks do not fit into a multiprocessor, or numbers not into 32 bits.
    bool set_block(int64_t block_windows, int64_t block_pieces, int64_t resident, SingleOutputPlan &plan) const {
        SingleOutputParams &p = plan.params;
        const int64_t y_blocks = ceil_div(p.windows_y, block_windows), x_blocks = ceil_div(p.pieces, block_pieces);
        const double list = real(d_.groups) * real(d_.batch) * real(y_blocks) * real(x_blocks) * p.windows_z.value;
        const int64_t rows = block_windows + 1, stage = block_pieces * rows * row_bytes(plan.tiles);
        const int64_t room = std::min<int64_t>(device_.shared_bytes_per_multiprocessor / resident - 1024,
                                               device_.shared_bytes_per_block);
        const int64_t stages = std::min<int64_t>((room - p.weight_bytes) / stage, single_output_most_stages);
        const double offset = real(rows) * real(p.x_y); // of what a block stages of a plane, from its first
        if (list > real(most_windows) || offset > INT32_MAX || stages < 2)
            return false;
        const int64_t blocks = std::min(static_cast<int64_t>(list), device_.multiprocessors * resident);
        p.block_windows = narrow(block_windows);
        p.block_pieces = narrow(block_pieces);
        p.rows = make_divisor(rows);
        p.x_blocks = make_wide_divisor(x_blocks);
        p.y_blocks = make_wide_divisor(y_blocks);
        p.block_list = narrow(static_cast<int64_t>(list) / blocks);
        p.longer_blocks = narrow(static_cast<int64_t>(list) % blocks);
        p.stages = narrow(stages);
        p.row_bytes = narrow(row_bytes(plan.tiles));
        p.stage_bytes = narrow(stage);
        plan.blocks = static_cast<uint32_t>(blocks);
        plan.threads = static_cast<uint32_t>(32 * block_windows * block_pieces);
        plan.shared_bytes = static_cast<uint32_t>(p.weight_bytes + stages * stage);
        plan.seconds = seconds(plan, real(std::min(resident, ceil_div(blocks, device_.multiprocessors))));
        return true;
    }

    double seconds(const SingleOutputPlan &plan, double resident) const {
        const SingleOutputParams &p = plan.params;
        const double warps = plan.threads / 32.0, own = plane_instructions(plan);
        const double products = real(steps()) * 2 * 4 * plan.tiles;
        const double together = resident * warps / 4 * std::max(own / issue_rate, products * product_cycles);
        const double cycles = std::max(together, 500 * real(chunks()) + 1.5 * own);
        const double windows = p.block_list + (p.longer_blocks > 0);
        const double planes = windows * std::min(1.0, real(d_.in[0]) / p.windows_z.value) + 1;
        const double compute = planes * cycles / clock_rate;
        const double element = gemm_element_bytes(math_), x = element * real(d_.x_elements());
        const double read = (real(d_.in[1]) + p.y_blocks.value - 1) / real(d_.in[1]) *
                            (real(d_.in[2]) + 2.0 * single_output_halo * (p.pieces - 1)) / real(d_.in[2]) *
                            (windows + 1) / windows;
        const double moved = x + x * (read - 1) / reread_rate + element * real(d_.y_elements());
        const double memory = moved / device_.bytes_per_second;
        const double waits = planes * real(chunks()) * load_latency / (p.stages - 1);
        return launch + std::max({compute, memory, waits}) + unhidden * std::min(compute, memory);
    }

    // Of a warp, for one plane.
    double plane_instructions(const SingleOutputPlan &plan) const {
        const double element = gemm_element_bytes(math_), tiles = plan.tiles;
        const double loads = math_ != GemmMath::tf32 ? 1 : last_ ? 9 : 12; // of a matrix of inputs
        const double step = 2 * (2 + tiles * (4 + loads));
        const double positions = real(plan.params.block_pieces) * plan.params.rows.value * 16 * tiles;
        const double channels = real(steps() * depth()) / real(chunks());
        const double copied = element * channels * positions / plan.threads; // bytes of a stage, by a thread
        const double copy = plan.params.wide ? copied / 16 * (last_ ? 18 : 14) : copied / element * 30;
        return real(steps()) * step + real(chunks()) * (60 + copy) + 60 + 30 * tiles;
    }

    const Desc &d_;
    const Device &device_;
    const GemmMath math_;
    const bool last_;
};

} // namespace

std::string plan_single_output(const PlanContext &c, const Device &device, SingleOutputPlan &plan) {
    if (std::string reason = refusal(c.desc, c.phases); !reason.empty())
        return reason;
    return Planner(c.desc, device).best(plan) ? "" : "weights or rows that do not fit";
}

} // namespace ct3d::cuda
