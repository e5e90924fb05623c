// SPDX-License-Identifier: MIT
#include "device.hpp"

#include "../gpu/device_list.hpp"
#include "../gpu/memory_rate.hpp"
#include "driver.hpp"
#include "images.hpp"
#include "launch.hpp"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace ct3d::cuda {

namespace {

// Of the bandwidth that clock and bus width make, as measured on an H200.
constexpr double copy_efficiency = 0.875;

int attribute(CUdevice handle, CUdevice_attribute name) {
    int value = 0;
    driver::cuDeviceGetAttribute(&value, name, handle);
    return value;
}

struct Source {
    using Device = cuda::Device;
    using Handle = CUdevice;

    static int count() {
        int count = 0;
        driver::cuDeviceGetCount(&count);
        return count;
    }

    static Device read(int32_t index, CUdevice &handle) {
        driver::cuDeviceGet(&handle, index);
        const auto natural = [&](CUdevice_attribute name) { return static_cast<uint32_t>(attribute(handle, name)); };
        Device d{};
        d.driver = &launch_driver;
        d.index = index;
        d.major = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        d.minor = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        d.multiprocessors = attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        d.shared_bytes_per_block = natural(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        d.shared_bytes_per_multiprocessor = natural(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
        d.shared_bytes_reserved = 1024;
        d.threads_per_launch = INT32_MAX * 1024.0; // more than any block has
        d.l2_bytes = natural(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
        d.bytes_per_second = copy_rate(attribute(handle, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), 2,
                                       attribute(handle, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH), copy_efficiency);
        size_t memory = 0;
        driver::cuDeviceTotalMem(&memory, handle);
        d.memory = memory;
        driver::cuDeviceGetName(d.name, sizeof d.name, handle);
        std::snprintf(d.arch, sizeof d.arch, "sm_%" PRId32, d.compute_capability());
        return d;
    }

    static bool has_code(const Device &d) { return d.compute_capability() >= oldest_compute_capability; }

    static std::string code() { return "sm_" + std::to_string(oldest_compute_capability) + " and later"; }

    static void use(Device &d, CUdevice handle) {
        CUcontext context = nullptr;
        driver::cuDevicePrimaryCtxRetain(&context, handle);
        d.context = context;
    }
};

gpu::DeviceList<Source> &devices() {
    require_driver();
    return gpu::all_devices<Source>();
}

} // namespace

int32_t device_count() { return devices().count(); }

const Device &device_properties(int32_t index) { return devices().properties(index); }

const Device &device(int32_t index) { return devices().usable(index); }

} // namespace ct3d::cuda
