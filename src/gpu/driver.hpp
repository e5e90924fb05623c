// SPDX-License-Identifier: MIT
// What kernels need of a vendor's driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ct3d::gpu {

struct Device;

struct Grid {
    uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
    Grid grid;
    uint32_t threads, dynamic_shared_bytes;
    const void *params; // of the only parameter, a struct
    bool early;         // blocks may begin while the launch before ends; drivers without such launches ignore it
};

// These throw Error. Modules and functions are never unloaded.
struct Driver {
    void *(*load_module)(const Device &, const char *image);
    // Ready to be launched with so much shared memory.
    void *(*find_function)(const Device &, void *module, const std::string &name, uint32_t dynamic_shared_bytes);
    void (*launch)(const Device &, void *function, void *stream, const Launch &);
};

} // namespace ct3d::gpu
