// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include "../status.hpp"

namespace ct3d::hip {

namespace {

// The plain name is that of a development package, which is the runtime that the machine is set up for. ROCm's own
// folder need not be among the loader's.
constexpr const char *files[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                 "/opt/rocm/lib/libamdhip64.so"};

constexpr int oldest_major = 5;

void require_version() {
    const int version = runtime_version();
    if (version_major(version) < oldest_major)
        throw Error(CT3D_UNSUPPORTED, "the HIP runtime is too old: it is %d.%d, this build needs %d.0",
                    version_major(version), version_minor(version), oldest_major);
}

void initialise() {
    require_version();
    driver::hipInit(0);
}

} // namespace

constinit gpu::DriverLibrary library("HIP", files);

int runtime_version() {
    static std::atomic<int> known{0};
    int version = known.load(std::memory_order_relaxed);
    if (version == 0) {
        driver::hipRuntimeGetVersion(&version);
        known.store(version, std::memory_order_relaxed);
    }
    return version;
}

void forget_error() {
    if (driver::hipGetLastError.present())
        driver::hipGetLastError.attempt();
}

void throw_failed(const char *name, hipError_t result) {
    forget_error();
    const char *text = driver::hipGetErrorName.present() ? driver::hipGetErrorName.attempt(result) : nullptr;
    throw Error(result == hipErrorOutOfMemory ? CT3D_OUT_OF_MEMORY : CT3D_DEVICE_ERROR, "%s failed: %s (%d)", name,
                text ? text : "unknown error", static_cast<int>(result));
}

void require_driver() { library.require(initialise); }

Current::Current(int32_t device) : device_(device), callers_(device) {
    require_driver();
    driver::hipGetDevice(&callers_);
    if (callers_ != device_)
        driver::hipSetDevice(device_);
}

// A failure is one of earlier work, which the calls in between have told.
Current::~Current() {
    if (callers_ != device_)
        driver::hipSetDevice.attempt(callers_);
}

} // namespace ct3d::hip
