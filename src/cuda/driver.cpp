// SPDX-License-Identifier: MIT
#include "driver.hpp"

#include "device.hpp"

namespace ct3d::cuda {

namespace {

constexpr const char *files[] = {"libcuda.so.1"};

// A driver runs code from a toolkit of its own major version, whatever the minor one.
void initialise() {
    library.require_version(driver_version(), CUDA_VERSION / 1000);
    driver::cuInit(0);
}

} // namespace

constinit gpu::DriverLibrary library("CUDA", files);

DriverVersion driver_version() {
    const int version = library.version(driver::cuDriverGetVersion);
    return {version / 1000, version % 1000 / 10};
}

void throw_failed(const char *name, CUresult result) {
    const char *text = nullptr;
    if (driver::cuGetErrorName.present())
        driver::cuGetErrorName.attempt(result, &text);
    throw_failed_call(name, result, text, result == CUDA_ERROR_OUT_OF_MEMORY);
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
