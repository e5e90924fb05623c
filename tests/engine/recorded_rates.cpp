// SPDX-License-Identifier: MIT
#include "recorded_rates.hpp"

namespace ct3d::engine {
namespace {

// Copies count bytes read and written. The rate of f32 at full accuracy is that of three TF32 products in place of one:
// there is no fast matmul to measure.
struct Row {
    const char *device;
    Rates rates; // copy, f32, tf32, f16, bf16, f64, launch
};
constexpr Row rows[] = {
    {"NVIDIA H200", {4.30e12, 417e12 / 3, 417e12, 773e12, 803e12, 0, 4e-6}}, // CUDA 13.0, 8192 cubed, cold cache
};

} // namespace

Rates recorded_rates(const std::string &device_name) {
    for (const Row &row : rows)
        if (device_name == row.device)
            return row.rates;
    return {};
}

} // namespace ct3d::engine
