// SPDX-License-Identifier: MIT
// Every element of a large output, compared on a GPU with what its portable kernel computes of the same values in f64,
// once samples of that agree with the exact values.
#pragma once

#include "device_memory.hpp"
#include "judgement.hpp"
#include "tensors.hpp"

#include <string>

namespace ct3d::engine {

// Whether a case is too large for the host to judge each element, and a device can.
bool checked_on_device(const Case &, Place);

// y in the order of its elements' numbers, and M beside it.
struct DeviceReference {
    std::string fault; // why it cannot be relied on; empty if it can
    DeviceMemory expected, magnitude;
};

// Bytes of the reference, with what computing it takes.
double device_reference_bytes(const Case &);

// Judges all elements of y; the reference is kept in `references`.
void check_on_device(Result &, const Case &, const Rules &, Place, const Tensors &, uint64_t seed, References &);

} // namespace ct3d::engine
