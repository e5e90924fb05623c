// SPDX-License-Identifier: MIT
// Measured with oneDNN 2.6.3 on two cores with AVX-512 (f32, NCDHW callers, the shapes of the public suite), as shares
// of the rate of FMA: the estimates order the formats of a problem right, and are within a third of most times.
#include "onednn_cost.hpp"

#include "isa.hpp"

#include <cmath>

namespace ct3d::cpu::onednn {

namespace {

constexpr double bytes_per_thread = 1e10;
constexpr double product_share = 0.85;
constexpr double seconds_per_call = 1e-5;

struct Shares {
    const char *implementation; // a part of its name
    double blocked[2];          // of FMA: forward and backward data, backward weights
    double channels_last[2];
    int column_passes[2]; // over the column matrix, which has an element per (input, tap, output channel)
    bool pads;            // the output channels of a group, to whole vectors
};

constexpr Shares known[] = {
    {"gemm", {0.65, 0.65}, {0.65, 0.65}, {2, 8}, false},
    {"brg", {0.95, 0.85}, {0.95, 0.6}, {0, 0}, true},
    {"", {0.95, 0.85}, {0.87, 0.6}, {0, 0}, true},
};

const Shares &shares_of(const std::string &implementation) {
    for (const Shares &s : known)
        if (implementation.find(s.implementation) != std::string::npos)
            return s;
    return known[std::size(known) - 1];
}

double column_elements(const Desc &d) {
    double elements = static_cast<double>(d.batch) * static_cast<double>(d.out_channels);
    for (size_t a = 0; a < 3; ++a)
        elements *= static_cast<double>(d.in[a]) * static_cast<double>(d.kernel[a]);
    return elements;
}

} // namespace

double vector_padding(int64_t channels) {
    constexpr double vector = 16;
    const double exact = static_cast<double>(channels);
    return std::ceil(exact / vector) * vector / exact;
}

double seconds_to_move(double bytes, int32_t threads) { return bytes / (bytes_per_thread * threads); }

double seconds_of_product(double flop, int32_t threads) {
    return flop / (product_share * best_isa().flops_per_thread * threads);
}

double seconds_of_calls(double calls) { return seconds_per_call * calls; }

double seconds_of_primitive(const PlanContext &context, const std::string &implementation, bool channels_last,
                            bool native) {
    const Desc &d = context.desc;
    const Shares &s = shares_of(implementation);
    const size_t op = d.op == Op::backward_weights ? 1 : 0;
    double share = (channels_last ? s.channels_last : s.blocked)[op];
    if (s.pads)
        share /= vector_padding(d.op == Op::backward_data ? d.in_channels_per_group() : d.out_channels_per_group());
    if (native)
        share *= 1.6;
    const double tensors = 4.0 * static_cast<double>(d.x_elements() + d.y_elements() + d.w_elements());
    const double columns = 4.0 * s.column_passes[op] * column_elements(d);
    return 2 * context.phases.multiplications() / (share * best_isa().flops_per_thread * context.threads) +
           seconds_to_move(tensors + columns, context.threads);
}

} // namespace ct3d::cpu::onednn
