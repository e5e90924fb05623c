// SPDX-License-Identifier: MIT
// What the backends for GPUs have in common, whoever makes these.
#pragma once

#include "../backend.hpp"
#include "device.hpp"
#include "driver_library.hpp"

namespace ct3d::gpu {

// Whether a driver has devices, or why not. The functions are those of one backend; they throw Error.
void probe(ct3d_backend_info &, const DriverLibrary &, int32_t (*device_count)(), DriverVersion (*driver_version)());

void describe_device(const Device &, ct3d_device_info &);

inline int32_t threads(int32_t) { return 1; }

// A kernel of all vendors, on the devices that the function `device` knows.
template <auto &device, Offer (*consider)(const PlanContext &, const Device &)> Offer shared(const PlanContext &c) {
    return consider(c, device(c.device));
}

} // namespace ct3d::gpu
