// SPDX-License-Identifier: MIT
// What all backends for GPUs share, by its names alone.
#pragma once

namespace ct3d::gpu {}

namespace ct3d::hip {

using namespace gpu;

} // namespace ct3d::hip
