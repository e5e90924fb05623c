// SPDX-License-Identifier: MIT
#include "device.hpp"

#include "../gpu/device_list.hpp"
#include "../gpu/memory_rate.hpp"
#include "driver.hpp"
#include "images.hpp"
#include "launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace ct3d::hip {

namespace {

// Of the bandwidth that clock and bus width make. Assumed, since no device has measured it.
constexpr double copy_efficiency = 0.7;

// Per cycle of the clock that the runtime tells, which is the memory controller's: HBM2 2, HBM3 4, GDDR6 16.
double transfers(std::string_view arch) { return arch == "gfx942" ? 4 : arch.starts_with("gfx9") ? 2 : 16; }

template <class Properties> Device describe(int32_t index, const Properties &p) {
    Device d{};
    d.driver = &launch_driver;
    d.index = index;
    d.multiprocessors = p.multiProcessorCount;
    d.shared_bytes_per_block = static_cast<uint32_t>(p.sharedMemPerBlock);
    d.shared_bytes_per_multiprocessor =
        static_cast<uint32_t>(std::max(p.maxSharedMemoryPerMultiProcessor, p.sharedMemPerBlock));
    d.threads_per_launch = UINT32_MAX; // the runtime counts threads, not blocks
    d.memory = p.totalGlobalMem;
    d.l2_bytes = static_cast<uint64_t>(p.l2CacheSize);
    // What follows a colon are modes of the chip; code is made for all of them.
    const int length = static_cast<int>(std::strcspn(p.gcnArchName, ":"));
    std::snprintf(d.arch, sizeof d.arch, "%.*s", length, p.gcnArchName);
    d.bytes_per_second = copy_rate(p.memoryClockRate, transfers(d.arch), p.memoryBusWidth, copy_efficiency);
    std::snprintf(d.name, sizeof d.name, "%.63s", p.name[0] ? p.name : d.arch);
    return d;
}

struct Source {
    using Device = gpu::Device;
    using Handle = int32_t;

    static int count() {
        int count = 0;
        driver::hipGetDeviceCount(&count);
        return count;
    }

    // Runtimes from ROCm 6 on have both functions.
    static Device read(int32_t index, int32_t &) {
        if (driver::hipGetDevicePropertiesR0600.present()) {
            hipDeviceProp_tR0600 properties{};
            driver::hipGetDevicePropertiesR0600(&properties, index);
            return describe(index, properties);
        }
        hipDeviceProp_tR0000 properties{};
        driver::hipGetDeviceProperties(&properties, index);
        return describe(index, properties);
    }

    static bool has_code(const Device &d) { return has_images(d.arch); }

    static std::string code() { return image_architectures(); }

    static void use(Device &, int32_t) {}
};

gpu::DeviceList<Source> &devices() {
    require_driver();
    return gpu::all_devices<Source>();
}

} // namespace

int32_t device_count() { return devices().count(); }

const Device &device_properties(int32_t index) { return devices().properties(index); }

const Device &device(int32_t index) { return devices().usable(index); }

} // namespace ct3d::hip
