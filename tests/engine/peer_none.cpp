// SPDX-License-Identifier: MIT
#include "peer.hpp"

namespace ct3d::engine {

bool have_peer() { return false; }

std::vector<Peer> make_peers(const ct3d_problem &, const ct3d_buffers &, std::string &reason) {
    reason = "this build has no oneDNN";
    return {};
}

} // namespace ct3d::engine
