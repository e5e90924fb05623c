// SPDX-License-Identifier: MIT
// What a driver cannot do, as errors.
#pragma once

#include "device.hpp"

namespace ct3d::gpu {

[[noreturn]] void throw_missing_function(const char *name);

// `text`: what the driver calls the result; null: it does not know it.
[[noreturn]] void throw_failed_call(const char *name, int result, const char *text, bool out_of_memory);

// The driver's function `name` has refused the image for having no code for the device.
[[noreturn]] void throw_no_code(const Device &, const char *image, const char *name, int result);

} // namespace ct3d::gpu
