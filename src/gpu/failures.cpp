// SPDX-License-Identifier: MIT
#include "failures.hpp"

#include "../status.hpp"

#include <cinttypes>

namespace ct3d::gpu {

void throw_missing_function(const char *name) {
    throw Error(CT3D_UNSUPPORTED, "the driver is too old: it has no %s", name);
}

void throw_failed_call(const char *name, int result, const char *text, bool out_of_memory) {
    throw Error(out_of_memory ? CT3D_OUT_OF_MEMORY : CT3D_DEVICE_ERROR, "%s failed: %s (%d)", name,
                text ? text : "unknown error", result);
}

void throw_no_code(const Device &device, const char *image, const char *name, int result) {
    throw Error(CT3D_UNSUPPORTED, "image \"%s\" has no code that device %" PRId32 " (%s) runs: %d from %s", image,
                device.index, device.arch, result, name);
}

} // namespace ct3d::gpu
