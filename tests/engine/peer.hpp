// SPDX-License-Identifier: MIT
// Another library's primitive on the same tensors, to be timed beside ct3d.
#pragma once

#include <ct3d/ct3d.h>

#include <functional>
#include <string>
#include <vector>

namespace ct3d::engine {

struct Peer {
    std::string format;        // how it lays out its tensors
    std::function<void()> run; // from tensors in the problem's layouts to outputs in them, all reorders included
};

// Whether this build has the peer at all.
bool have_peer();

// One for each format that the peer accepts; none if it cannot do the problem, and `reason` says why.
std::vector<Peer> make_peers(const ct3d_problem &, const ct3d_buffers &, std::string &reason);

} // namespace ct3d::engine
