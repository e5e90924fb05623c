// SPDX-License-Identifier: MIT
// What known devices reach at best, measured once with large copies and matmuls.
#pragma once

#include "rates.hpp"

#include <string>

namespace ct3d::engine {

// Zeros where a device is not known.
Rates recorded_rates(const std::string &device_name);

} // namespace ct3d::engine
