// SPDX-License-Identifier: MIT
// Random numbers as a pure function of a counter: the same in any order, on any machine and thread.
#pragma once

#include "shared.hpp"

#include <cstdint>

namespace ct3d::engine {

// The finaliser of SplitMix64: a bijection whose every output bit depends on every input bit.
CT3D_ENGINE_SHARED uint64_t mix(uint64_t v) {
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

} // namespace ct3d::engine
