// SPDX-License-Identifier: MIT
#include "backend.hpp"

#include "../status.hpp"

#include <cstdio>

namespace ct3d::gpu {

void probe(ct3d_backend_info &info, const DriverLibrary &library, int32_t (*device_count)(),
           DriverVersion (*driver_version)()) {
    try {
        info.device_count = device_count();
        const DriverVersion version = driver_version();
        std::snprintf(info.version, sizeof info.version, "driver for %s %d.%d", library.vendor(), version.major,
                      version.minor);
    } catch (const Error &error) {
        info.device_count = 0;
        std::snprintf(info.reason, sizeof info.reason, "%.255s", error.message());
    }
}

void describe_device(const Device &d, ct3d_device_info &info) {
    std::snprintf(info.name, sizeof info.name, "%s", d.name);
    std::snprintf(info.arch, sizeof info.arch, "%s", d.arch);
    info.compute_units = d.multiprocessors;
    info.memory = d.memory;
    info.last_level_cache = d.l2_bytes;
}

} // namespace ct3d::gpu
