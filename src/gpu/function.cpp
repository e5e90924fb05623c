// SPDX-License-Identifier: MIT
#include "function.hpp"

#include <map>
#include <mutex>
#include <tuple>

namespace ct3d::gpu {

namespace {

void *module_of(const Device &device, const char *image) {
    static std::mutex &mutex = *new std::mutex;
    static auto &modules = *new std::map<std::tuple<const Driver *, int32_t, std::string>, void *>;
    const std::lock_guard lock(mutex);
    void *&module = modules[{device.driver, device.index, image}];
    if (!module)
        module = device.driver->load_module(device, image);
    return module;
}

} // namespace

Function::Function(const Device &device, const char *image, const std::string &name, uint32_t dynamic_shared_bytes)
    : device_(&device),
      handle_(device.driver->find_function(device, module_of(device, image), name, dynamic_shared_bytes)),
      shared_bytes_(dynamic_shared_bytes) {}

} // namespace ct3d::gpu
