// SPDX-License-Identifier: MIT
// The devices of a driver, read once.
#pragma once

#include "../status.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

namespace ct3d::gpu {

// Source, of one driver: Device, derived from gpu::Device; Handle; count(); read(index, handle), the device and its
// handle; has_code(device); code(), what devices the build has code for; use(device, handle), before the first plan.
template <class Source> class DeviceList {
public:
    using Device = typename Source::Device;

    DeviceList() {
        const int count = Source::count();
        if (count == 0)
            throw Error(CT3D_UNSUPPORTED, "the driver finds no device");
        for (int32_t index = 0; index < count; ++index) {
            Slot &slot = slots_.emplace_back();
            slot.device = Source::read(index, slot.handle);
        }
        if (std::ranges::none_of(slots_, [](const Slot &s) { return Source::has_code(s.device); }))
            throw_no_code(slots_.front().device);
    }

    int32_t count() const { return static_cast<int32_t>(slots_.size()); }

    const Device &properties(int32_t index) const { return slots_[static_cast<size_t>(index)].device; }

    // Throws Error where the device cannot be used.
    const Device &usable(int32_t index) {
        Slot &slot = slots_[static_cast<size_t>(index)];
        if (!Source::has_code(slot.device))
            throw_no_code(slot.device);
        const std::lock_guard lock(slot.first_use);
        if (!slot.used)
            Source::use(slot.device, slot.handle);
        slot.used = true;
        return slot.device;
    }

private:
    struct Slot {
        Device device{};
        typename Source::Handle handle{};
        bool used = false;
        std::mutex first_use;
    };

    [[noreturn]] static void throw_no_code(const Device &d) {
        throw Error(CT3D_UNSUPPORTED, "device %d (%s) is %s, this build has code for %s", d.index, d.name, d.arch,
                    Source::code().c_str());
    }

    std::deque<Slot> slots_;
};

// Read by the first call that succeeds. Kept, since threads may run on while the process ends.
template <class Source> DeviceList<Source> &all_devices() {
    static auto &list = *new DeviceList<Source>;
    return list;
}

} // namespace ct3d::gpu
