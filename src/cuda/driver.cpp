// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include "../status.hpp"
#include "device.hpp"

namespace ct3d::cuda {

namespace {

constexpr const char *files[] = {"libcuda.so.1"};

// A driver runs code from a toolkit of its own major version, whatever the minor one.
void require_version() {
    const int version = driver_version();
    if (version / 1000 < CUDA_VERSION / 1000)
        throw Error(CT3D_UNSUPPORTED, "the driver is too old: it is for CUDA %d.%d, this build needs one for %d.0",
                    version / 1000, version % 1000 / 10, CUDA_VERSION / 1000);
}

void initialise() {
    require_version();
    driver::cuInit(0);
}

} // namespace

constinit gpu::DriverLibrary library("CUDA", files);

int driver_version() {
    static std::atomic<int> known{0};
    int version = known.load(std::memory_order_relaxed);
    if (version == 0) {
        driver::cuDriverGetVersion(&version);
        known.store(version, std::memory_order_relaxed);
    }
    return version;
}

void throw_failed(const char *name, CUresult result) {
    const char *text = nullptr;
    if (!driver::cuGetErrorName.present() || driver::cuGetErrorName.attempt(result, &text) != CUDA_SUCCESS || !text)
        text = "unknown error";
    throw Error(result == CUDA_ERROR_OUT_OF_MEMORY ? CT3D_OUT_OF_MEMORY : CT3D_DEVICE_ERROR, "%s failed: %s (%d)", name,
                text, static_cast<int>(result));
}

void require_driver() { library.require(initialise); }

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
