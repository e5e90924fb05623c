// SPDX-License-Identifier: MIT
// Estimated times of oneDNN's implementations, for choosing among them and beside other kernels.
#pragma once

#include "../backend.hpp"

#include <string>

namespace ct3d::cpu::onednn {

// By how much whole vectors exceed so many channels.
double vector_padding(int64_t channels);

// Seconds to move so many bytes between memory and the planned threads.
double seconds_to_move(double bytes, int32_t threads);

// Seconds of the primitive alone. `channels_last` is about the format of its activations, `native` about 16-bit
// arithmetic.
double seconds_of_primitive(const PlanContext &, const std::string &implementation, bool channels_last, bool native);

// Seconds of a product of matrices, or of a convolution that runs as well as one.
double seconds_of_product(double flop, int32_t threads);

// Seconds to start and end so many primitives or loops on several threads.
double seconds_of_calls(double calls);

} // namespace ct3d::cpu::onednn
