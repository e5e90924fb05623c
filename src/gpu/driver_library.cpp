// SPDX-License-Identifier: MIT
#include "driver_library.hpp"

#include "../status.hpp"

#include <unistd.h>

namespace ct3d::gpu {

namespace {

// One that is in the process already goes first: there is one state of a driver, and somebody may be using it.
const Dynlib *open_first(std::span<const char *const> files) {
    for (const char *file : files)
        if (Dynlib::is_loaded(file))
            return new Dynlib(file);
    try {
        return new Dynlib(files.front());
    } catch (const Error &) {
        for (const char *file : files.subspan(1))
            try {
                return new Dynlib(file);
            } catch (const Error &) {
            }
        throw;
    }
}

} // namespace

const Dynlib &DriverLibrary::opened() {
    const Dynlib *open = library_.load(std::memory_order_acquire);
    if (open)
        return *open;
    const Dynlib *fresh = open_first(files_);
    if (library_.compare_exchange_strong(open, fresh, std::memory_order_acq_rel))
        return *fresh;
    delete fresh;
    return *open;
}

void *DriverLibrary::find(const char *function) { return opened().find(function); }

void DriverLibrary::require_owner() {
    const pid_t self = getpid();
    pid_t process = 0;
    if (!owner_.compare_exchange_strong(process, self) && process != self)
        throw Error(CT3D_UNSUPPORTED, "this process was forked from process %d, in which the %s driver runs",
                    static_cast<int>(process), vendor_);
}

void DriverLibrary::require(void (*initialise)()) {
    opened();
    require_owner();
    if (initialised_.load(std::memory_order_acquire))
        return;
    try {
        initialise();
    } catch (...) {
        if (!initialised_.load(std::memory_order_acquire)) // by another thread
            owner_.store(0);                               // so that a child tells the reason too
        throw;
    }
    initialised_.store(true, std::memory_order_release);
}

void DriverLibrary::require_version(DriverVersion version, int oldest_major) const {
    if (version.major < oldest_major)
        throw Error(CT3D_UNSUPPORTED, "the driver is too old: it is for %s %d.%d, this build needs one for %d.0",
                    vendor_, version.major, version.minor, oldest_major);
}

} // namespace ct3d::gpu
