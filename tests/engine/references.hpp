// SPDX-License-Identifier: MIT
// Exact values of the last case's outputs, kept for the cases that follow and have the same inputs: in another layout,
// on another kernel, or with another math.
#pragma once

#include "reference.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ct3d::engine {

// A long double as the sum of two doubles.
struct Kept {
    double value, rest;
    double magnitude;
    int64_t products;

    Exact exact() const {
        return {static_cast<long double>(value) + static_cast<long double>(rest), magnitude, products};
    }
};

// Of the op's main output: all of it, or samples.
struct ExactOutput {
    std::vector<Index> samples; // empty if all elements are there, in the order of their numbers
    std::vector<Kept> values;
    std::vector<Kept> bias_gradient;
};

// Problems of at most this many products have every element checked.
inline constexpr double all_elements_products = 1e9;
inline constexpr int64_t sampled_elements = 10000;

bool check_all(const ct3d_problem &);
bool is_sampled(const ct3d_problem &); // of the main output

// The line that cases with the same exact outputs have in common, with the seed.
std::string inputs_key(const Case &, uint64_t seed);

struct DeviceReference;

class References {
public:
    const ExactOutput &output(const Case &, uint64_t seed, const Inputs &);
    const ExactOutput &output(const Case &, uint64_t seed); // of inputs that are in no host memory

    // Frees what does not serve the case, so that its tensors have room.
    void forget_others(const Case &, uint64_t seed);

    std::shared_ptr<DeviceReference> device; // of the last case that was checked on a device

private:
    template <class MakeReference> const ExactOutput &keep(const Case &, uint64_t seed, MakeReference &&);

    std::string key_;
    ExactOutput output_;
};

// Bytes that output() allocates, of which some are kept.
double reference_bytes(const ct3d_problem &);

} // namespace ct3d::engine
