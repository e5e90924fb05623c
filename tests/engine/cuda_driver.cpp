// SPDX-License-Identifier: MIT
#include "cuda_driver.hpp"

#include "driver_call.hpp"

#include <map>
#include <mutex>

#ifdef CT3D_ENGINE_HAS_CUDA
extern "C" const unsigned char ct3d_cuda_image_engine[];
#endif

namespace ct3d::engine {
namespace {

const DriverCalls &driver() {
    static const DriverCalls calls([] {
        void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            refuse("libcuda.so.1", "cannot be opened");
        return library;
    }());
    return calls;
}

template <class... Parameters> void call(const char *function, Parameters... parameters) {
    driver()(function, parameters...);
}

Handle context_of(int32_t device) {
    static std::mutex mutex;
    static std::map<int32_t, Handle> contexts; // retained for as long as the process lives
    const std::lock_guard lock(mutex);
    Handle &context = contexts[device];
    if (context == nullptr) {
        call<unsigned>("cuInit", 0);
        int ordinal = 0;
        call("cuDeviceGet", &ordinal, static_cast<int>(device));
        call("cuDevicePrimaryCtxRetain", &context, ordinal);
    }
    return context;
}

Handle kernel_of(int32_t device, const char *name) {
#ifdef CT3D_ENGINE_HAS_CUDA
    static std::mutex mutex;
    static std::map<int32_t, Handle> modules;
    const std::lock_guard lock(mutex);
    Handle &module = modules[device];
    if (module == nullptr)
        call("cuModuleLoadData", &module, static_cast<const void *>(ct3d_cuda_image_engine));
    Handle function = nullptr;
    call("cuModuleGetFunction", &function, module, name);
    return function;
#else
    static_cast<void>(device);
    refuse(name, "this build has no device code");
#endif
}

uint64_t address(const void *memory) { return reinterpret_cast<uintptr_t>(memory); }

class CudaTimer final : public GpuTimer {
public:
    CudaTimer() {
        call("cuEventCreate", &begin_, 0u);
        call("cuEventCreate", &end_, 0u);
    }
    ~CudaTimer() override {
        for (const Handle event : {begin_, end_})
            driver().or_print("cuEventDestroy_v2", event);
    }

    void begin() const override { call("cuEventRecord", begin_, Handle{}); }

    double end() const override {
        call("cuEventRecord", end_, Handle{});
        call("cuEventSynchronize", end_);
        float milliseconds = 0;
        call("cuEventElapsedTime", &milliseconds, begin_, end_);
        return static_cast<double>(milliseconds) * 1e-3;
    }

private:
    Handle begin_ = nullptr, end_ = nullptr;
};

} // namespace

CudaDevice::CudaDevice(int32_t device) : device_(device) { call("cuCtxPushCurrent_v2", context_of(device)); }

CudaDevice::~CudaDevice() {
    Handle popped = nullptr;
    driver().or_print("cuCtxPopCurrent_v2", &popped);
}

void CudaDevice::set(void *memory, uint8_t value, uint64_t bytes) const {
    call("cuMemsetD8Async", address(memory), value, static_cast<size_t>(bytes), Handle{});
}

void CudaDevice::copy(void *destination, const void *source, uint64_t bytes) const {
    call("cuMemcpy", address(destination), address(source), static_cast<size_t>(bytes));
}

bool CudaDevice::has_device_code() {
#ifdef CT3D_ENGINE_HAS_CUDA
    return true;
#else
    return false;
#endif
}

void CudaDevice::launch_kernel(const char *kernel, uint32_t blocks, uint32_t threads, const void *params) const {
    void *parameters[] = {const_cast<void *>(params)};
    void **const none = nullptr;
    call("cuLaunchKernel", kernel_of(device_, kernel), blocks, 1u, 1u, threads, 1u, 1u, 0u, Handle{}, parameters + 0,
         none);
}

std::unique_ptr<GpuTimer> CudaDevice::timer() const { return std::make_unique<CudaTimer>(); }

} // namespace ct3d::engine
