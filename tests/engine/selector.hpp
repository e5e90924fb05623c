// SPDX-License-Identifier: MIT
// Selectors: values that override a key of every case, or `all` of its values.
#pragma once

#include "case.hpp"

#include <map>

namespace ct3d::engine {

// Key (dtype, math, layout, wlayout, op, bias, fill) to a value of the case grammar or `all`; absent keys leave the
// case as it is.
using Selectors = std::map<std::string, std::string>;

// The case once per combination of selected values. Combinations that differ only in a key that has no meaning for them
// (math unless f32, bias of backward_data) stand once.
std::vector<Case> expand(const Case &, const Selectors &);

} // namespace ct3d::engine
