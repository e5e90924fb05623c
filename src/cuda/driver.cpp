// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include "../dynlib.hpp"
#include "../status.hpp"
#include "device.hpp"

#include <unistd.h>

namespace ct3d::cuda {

namespace {

// Neither is behind a lock, which a fork could leave taken in the child. Opening or initialising twice does no harm.
std::atomic<const Dynlib *> library{nullptr};
std::atomic<bool> initialised{false};

// The process that has called the driver; 0: none.
std::atomic<pid_t> owner{0};

const Dynlib &opened() {
    const Dynlib *open = library.load(std::memory_order_acquire);
    if (open)
        return *open;
    const Dynlib *fresh = new Dynlib("libcuda.so.1");
    if (library.compare_exchange_strong(open, fresh, std::memory_order_acq_rel))
        return *fresh;
    delete fresh;
    return *open;
}

// The driver's state does not survive a fork.
void require_owner() {
    const pid_t self = getpid();
    pid_t process = 0;
    if (!owner.compare_exchange_strong(process, self) && process != self)
        throw Error(CT3D_UNSUPPORTED, "this process was forked from process %d, in which the CUDA driver runs",
                    static_cast<int>(process));
}

// A driver runs code from a toolkit of its own major version, whatever the minor one.
void require_version() {
    const int version = driver_version();
    if (version / 1000 < CUDA_VERSION / 1000)
        throw Error(CT3D_UNSUPPORTED, "the driver is too old: it is for CUDA %d.%d, this build needs one for %d.0",
                    version / 1000, version % 1000 / 10, CUDA_VERSION / 1000);
}

} // namespace

int driver_version() {
    static std::atomic<int> known{0};
    int version = known.load(std::memory_order_relaxed);
    if (version == 0) {
        driver::cuDriverGetVersion(&version);
        known.store(version, std::memory_order_relaxed);
    }
    return version;
}

void *find_driver_function(const char *name) { return opened().find(name); }

void throw_missing(const char *name) { throw Error(CT3D_UNSUPPORTED, "the driver is too old: it has no %s", name); }

void throw_failed(const char *name, CUresult result) {
    const char *text = nullptr;
    if (!driver::cuGetErrorName.present() || driver::cuGetErrorName.attempt(result, &text) != CUDA_SUCCESS || !text)
        text = "unknown error";
    throw Error(result == CUDA_ERROR_OUT_OF_MEMORY ? CT3D_OUT_OF_MEMORY : CT3D_DEVICE_ERROR, "%s failed: %s (%d)", name,
                text, static_cast<int>(result));
}

void require_driver() {
    opened();
    require_owner();
    if (initialised.load(std::memory_order_acquire))
        return;
    try {
        require_version();
        driver::cuInit(0);
    } catch (...) {
        owner.store(0); // so that a child tells the reason too
        throw;
    }
    initialised.store(true, std::memory_order_release);
}

Current::Current(const Device &device) {
    require_driver();
    driver::cuCtxPopCurrent.require(); // while throwing is still possible
    driver::cuCtxPushCurrent(static_cast<CUcontext>(device.context));
}

// A failure is one of earlier work, which the calls in between have told.
Current::~Current() {
    CUcontext context;
    driver::cuCtxPopCurrent.attempt(&context);
}

} // namespace ct3d::cuda
