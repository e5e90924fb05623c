// SPDX-License-Identifier: MIT
#include "device.hpp"

#include "../status.hpp"
#include "driver.hpp"
#include "images.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

namespace ct3d::cuda {

namespace {

struct Slot {
    Device device;
    CUdevice handle;
    std::mutex retaining;
};

using Slots = std::deque<Slot>;

// Of the bandwidth that clock and bus width make, as measured on an H200.
constexpr double copy_efficiency = 0.875;

int attribute(CUdevice handle, CUdevice_attribute name) {
    int value = 0;
    driver::cuDeviceGetAttribute(&value, name, handle);
    return value;
}

double copy_rate(CUdevice handle) {
    constexpr double unknown = 5e11;
    const double kilohertz = attribute(handle, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    const double bits = attribute(handle, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    const double peak = 2e3 * kilohertz * bits / 8;
    return peak > 0 ? copy_efficiency * peak : unknown;
}

Device read_device(int32_t index, CUdevice handle) {
    const auto natural = [&](CUdevice_attribute name) { return static_cast<uint32_t>(attribute(handle, name)); };
    Device d{};
    d.index = index;
    d.major = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    d.minor = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    d.multiprocessors = attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    d.shared_bytes_per_block = natural(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    d.shared_bytes_per_multiprocessor = natural(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    d.l2_bytes = natural(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    d.bytes_per_second = copy_rate(handle);
    size_t memory = 0;
    driver::cuDeviceTotalMem(&memory, handle);
    d.memory = memory;
    driver::cuDeviceGetName(d.name, sizeof d.name, handle);
    return d;
}

bool has_code(const Device &d) { return d.compute_capability() >= oldest_compute_capability; }

[[noreturn]] void throw_no_code(const Device &d) {
    throw Error(CT3D_UNSUPPORTED, "device %d (%s) is sm_%d, this build has code for sm_%d and later", d.index, d.name,
                d.compute_capability(), oldest_compute_capability);
}

void read_devices(Slots &slots) {
    int count = 0;
    driver::cuDeviceGetCount(&count);
    if (count == 0)
        throw Error(CT3D_UNSUPPORTED, "the driver finds no device");
    for (int32_t index = 0; index < count; ++index) {
        Slot &slot = slots.emplace_back();
        driver::cuDeviceGet(&slot.handle, index);
        slot.device = read_device(index, slot.handle);
    }
    if (std::none_of(slots.begin(), slots.end(), [](const Slot &s) { return has_code(s.device); }))
        throw_no_code(slots.front().device);
}

// Read once; read again by the next call where that failed.
Slots &all_devices() {
    require_driver();
    static Slots &slots = *[] {
        auto fresh = std::make_unique<Slots>();
        read_devices(*fresh);
        return fresh.release(); // kept, since threads may run on while the process ends
    }();
    return slots;
}

Slot &slot_of(int32_t index) { return all_devices()[static_cast<size_t>(index)]; }

} // namespace

int32_t device_count() { return static_cast<int32_t>(all_devices().size()); }

const Device &device_properties(int32_t index) { return slot_of(index).device; }

const Device &device(int32_t index) {
    Slot &slot = slot_of(index);
    if (!has_code(slot.device))
        throw_no_code(slot.device);
    const std::lock_guard lock(slot.retaining);
    if (!slot.device.context) {
        CUcontext context = nullptr;
        driver::cuDevicePrimaryCtxRetain(&context, slot.handle);
        slot.device.context = context;
    }
    return slot.device;
}

} // namespace ct3d::cuda
