// SPDX-License-Identifier: MIT
#include "references.hpp"

#include "parallel.hpp"
#include "samples.hpp"

#include <algorithm>

namespace ct3d::engine {
namespace {

Kept kept(const Exact &exact) {
    const auto value = static_cast<double>(exact.value);
    const long double rest = exact.value - static_cast<long double>(value);
    return {value, static_cast<double>(rest), static_cast<double>(exact.magnitude), exact.products};
}

ExactOutput compute(const ct3d_problem &p, const Reference &reference, uint64_t seed) {
    const Role role = output_role(p);
    const Index extent = shape(p, role);
    ExactOutput output;
    if (is_sampled(p))
        output.samples = sample(p, role, sampled_elements, seed);
    const auto count = is_sampled(p) ? static_cast<int64_t>(output.samples.size()) : elements(extent);
    output.values.resize(static_cast<size_t>(count));
    constexpr int64_t chunk = 256;
    parallel_for((count + chunk - 1) / chunk, products(p) + static_cast<double>(count), [&](int64_t item, int) {
        for (int64_t i = item * chunk; i < std::min(count, (item + 1) * chunk); ++i) {
            const auto number = static_cast<size_t>(i);
            output.values[number] =
                kept(reference.at(output.samples.empty() ? index_of(extent, i) : output.samples[number]));
        }
    });
    if (p.op == CT3D_BACKWARD_WEIGHTS && p.has_bias) {
        output.bias_gradient.resize(static_cast<size_t>(p.out_channels));
        parallel_for(p.out_channels, static_cast<double>(elements(p, Role::y)), [&](int64_t channel, int) {
            output.bias_gradient[static_cast<size_t>(channel)] = kept(reference.bias_gradient(channel));
        });
    }
    return output;
}

} // namespace

bool check_all(const ct3d_problem &p) { return products(p) <= all_elements_products; }

bool is_sampled(const ct3d_problem &p) { return !check_all(p) && elements(p, output_role(p)) > sampled_elements; }

std::string inputs_key(const Case &c, uint64_t seed) {
    Case same = c;
    same.name = "inputs";
    same.offset = 0;
    same.problem.layout = CT3D_NCDHW;
    same.problem.weights_layout = CT3D_IODHW;
    same.problem.math = CT3D_MATH_FP32;
    return to_line(same) + " " + std::to_string(seed);
}

template <class MakeReference>
const ExactOutput &References::keep(const Case &c, uint64_t seed, MakeReference &&make_reference) {
    std::string key = inputs_key(c, seed);
    if (key != key_) {
        forget_others(c, seed);
        output_ = compute(c.problem, make_reference(), seed);
        key_ = std::move(key);
    }
    return output_;
}

const ExactOutput &References::output(const Case &c, uint64_t seed, const Inputs &inputs) {
    return keep(c, seed, [&] { return Reference(c.problem, inputs, check_all(c.problem)); });
}

const ExactOutput &References::output(const Case &c, uint64_t seed) {
    return keep(c, seed, [&] { return Reference(c, seed); });
}

void References::forget_others(const Case &c, uint64_t seed) {
    if (inputs_key(c, seed) == key_)
        return;
    key_.clear();
    output_ = {};
    device.reset();
}

double reference_bytes(const ct3d_problem &p) {
    const bool sampled = is_sampled(p);
    const int64_t count = sampled ? sampled_elements : elements(p, output_role(p));
    return reference_bytes(p, check_all(p)) + static_cast<double>(sizeof(Kept)) * static_cast<double>(count);
}

} // namespace ct3d::engine
