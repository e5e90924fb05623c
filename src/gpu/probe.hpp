// SPDX-License-Identifier: MIT
// Whether a driver has devices, or why not.
#pragma once

#include "../status.hpp"

#include <cstdio>

namespace ct3d::gpu {

// `read` fills device_count and version, or throws Error.
template <class Read> void probe(ct3d_backend_info &info, Read &&read) {
    try {
        read(info);
    } catch (const Error &error) {
        info.device_count = 0;
        std::snprintf(info.reason, sizeof info.reason, "%.255s", error.message());
    }
}

} // namespace ct3d::gpu
