// SPDX-License-Identifier: MIT
#include "portable_kernel.hpp"

#include "../arithmetic.hpp"
#include "../report.hpp"
#include "function.hpp"
#include "portable_params.hpp"
#include "tensors.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ct3d::gpu {

namespace {

// Enough to fill any device many times over; what is beyond is a further round of the same threads.
constexpr int64_t most_blocks = 1 << 20;

// The b in [0, m) with a * b = 1 (mod m), for coprime a and m; 0 where m is 1.
int64_t inverse_modulo(int64_t a, int64_t m) {
    int64_t r = m, next_r = a % m, t = 0, next_t = 1;
    while (next_r != 0) {
        const int64_t quotient = r / next_r;
        r = std::exchange(next_r, r - quotient * next_r);
        t = std::exchange(next_t, t - quotient * next_t);
    }
    return t < 0 ? t + m : t % m;
}

PortableAxis axis_params(const Desc &d, size_t axis) {
    const int64_t divisor = std::gcd(d.stride[axis], d.dilation[axis]);
    const int64_t tap_step = d.stride[axis] / divisor, in_step = d.dilation[axis] / divisor;
    return {d.in[axis],        d.out[axis], d.kernel[axis], d.stride[axis], d.dilation[axis],
            d.pad_begin[axis], divisor,     tap_step,       in_step,        inverse_modulo(in_step, tap_step)};
}

// Output channels that a thread computes.
int channels_per_thread(const Desc &d) { return d.out_channels_per_group() > 1 ? 4 : 1; }

PortableParams make_params(const Desc &d) {
    PortableParams p{};
    for (size_t axis = 0; axis < 3; ++axis)
        p.axis[axis] = axis_params(d, axis);
    const ActivationStrides x = input_strides(d), y = output_strides(d);
    const WeightStrides w = weight_strides(d);
    p.x_sample = x.n, p.x_channel = x.c;
    p.y_sample = y.n, p.y_channel = y.c;
    p.w_in = w.ci, p.w_out = w.co;
    std::ranges::copy(std::array{x.z, x.y, x.x}, p.x_step);
    std::ranges::copy(std::array{y.z, y.y, y.x}, p.y_step);
    std::ranges::copy(std::array{w.z, w.y, w.x}, p.w_step);
    p.groups = d.groups;
    p.in_channels = d.in_channels_per_group();
    p.out_channels = d.out_channels_per_group();
    p.channel_slots = ceil_div(p.out_channels, channels_per_thread(d));
    p.input_slots = ceil_div(d.out[2], d.stride[2] * portable_positions);
    p.x_apart = p.input_slots * x.x;
    p.w_apart = p.channel_slots * w.co;
    p.x_slots = std::min(d.out[2], d.stride[2] * p.input_slots);
    p.threads = d.batch * d.groups * p.channel_slots * d.out[0] * d.out[1] * p.x_slots;
    p.channels_last = d.layout == Layout::ndhwc;
    return p;
}

std::string function_name(const Desc &d) {
    const char *type = d.math == Math::tf32 ? name(d.math) : name(d.dtype);
    return "ct3d_portable_" + std::string(type) + '_' + std::to_string(channels_per_thread(d));
}

class PortableKernel final : public Kernel {
public:
    PortableKernel(const PlanContext &c, const Device &device)
        : params_(make_params(c.desc)), function_(device, "portable", function_name(c.desc)),
          channels_(channels_per_thread(c.desc)),
          blocks_(static_cast<uint32_t>(std::min(ceil_div(params_.threads, portable_block), most_blocks))) {}

    uint64_t workspace_size() const override { return 0; }

    void execute(const ct3d_buffers &b) const override {
        PortableParams p = params_;
        static_cast<TensorAddresses &>(p) = tensor_addresses(b);
        function_.launch(b.stream, {blocks_}, portable_block, p);
    }

    void describe(Report &report) const override {
        report.field("channels_per_thread", channels_);
        report.field("positions_per_thread", portable_positions);
        report.field("blocks", blocks_);
    }

private:
    const PortableParams params_;
    const Function function_;
    const int channels_;
    const uint32_t blocks_;
};

// Products of one output, on average over those that have any.
double products_per_output(const PlanContext &c) {
    const double outputs = static_cast<double>(c.desc.y_elements()) * (1 - c.phases.bias_only_share());
    return outputs > 0 ? c.phases.multiplications() / outputs : 0;
}

// A small problem takes what one thread takes, which waits for memory at each of its products.
double cost(const PlanContext &c, const Device &d) {
    constexpr double launch = 4e-6, memory_efficiency = 0.3, seconds_per_product = 1e-7;
    constexpr double products_per_multiprocessor = 1e10; // and second
    const double multiply = c.phases.multiplications() / (products_per_multiprocessor * d.multiprocessors);
    const double move = static_cast<double>(element_size(c.desc.dtype)) * total_elements(c.desc) /
                        (memory_efficiency * d.bytes_per_second);
    return launch + std::max({multiply, move, seconds_per_product * products_per_output(c)});
}

} // namespace

Offer consider_portable(const PlanContext &c, const Device &device) {
    if (c.desc.op != Op::forward)
        return refuse("forward only");
    return {"", cost(c, device), [&] { return std::make_unique<PortableKernel>(c, device); }};
}

} // namespace ct3d::gpu
