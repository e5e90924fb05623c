// SPDX-License-Identifier: MIT
#include "driver.hpp"

namespace ct3d::hip {

namespace {

// The plain name is that of a development package, which is the runtime that the machine is set up for. ROCm's own
// folder need not be among the loader's.
constexpr const char *files[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                 "/opt/rocm/lib/libamdhip64.so"};

constexpr int oldest_major = 5;

void initialise() {
    library.require_version(driver_version(), oldest_major);
    driver::hipInit(0);
}

} // namespace

constinit gpu::DriverLibrary library("HIP", files);

DriverVersion driver_version() {
    const int version = library.version(driver::hipRuntimeGetVersion);
    return {version / 10000000, version / 100000 % 100};
}

void forget_error() {
    if (driver::hipGetLastError.present())
        driver::hipGetLastError.attempt();
}

void throw_failed(const char *name, hipError_t result) {
    forget_error();
    const char *text = driver::hipGetErrorName.present() ? driver::hipGetErrorName.attempt(result) : nullptr;
    throw_failed_call(name, result, text, result == hipErrorOutOfMemory);
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
    if (callers_ != device_ && driver::hipSetDevice.attempt(callers_) != hipSuccess)
        forget_error();
}

} // namespace ct3d::hip
