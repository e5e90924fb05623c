// SPDX-License-Identifier: MIT
// AMD GPUs as a backend: the devices, their memory, and the list of kernels.
#include "backend.hpp"

#include "../gpu/backend.hpp"
#include "../gpu/direct_kernel.hpp"
#include "../gpu/limits.hpp"
#include "../gpu/portable_kernel.hpp"
#include "device.hpp"
#include "driver.hpp"
#include "phase_gemm_mfma_kernel.hpp"

namespace ct3d::hip {

namespace {

void probe(ct3d_backend_info &info) { gpu::probe(info, library, device_count, driver_version); }

void device_info(int32_t index, ct3d_device_info &info) { describe_device(device_properties(index), info); }

std::span<const Candidate> candidates() {
    static const Candidate list[] = {
        phase_gemm_mfma_candidate,
        {"direct", shared<device, consider_direct>},
        {"portable", shared<device, consider_portable>},
    };
    return list;
}

void *alloc(int32_t index, uint64_t bytes) {
    require_memory(device(index), bytes);
    const Current current(index);
    void *memory = nullptr;
    driver::hipMalloc(&memory, bytes);
    return memory;
}

void free_memory(int32_t index, void *memory) {
    const Current current(index);
    driver::hipFree(memory);
}

// A copy within the device, or from pageable memory, may return before its end.
void copy(int32_t index, void *destination, const void *source, uint64_t bytes) {
    const Current current(index);
    driver::hipMemcpy(destination, source, bytes, hipMemcpyDefault);
    driver::hipStreamSynchronize(nullptr);
}

void zero(int32_t index, void *stream, void *memory, uint64_t bytes) {
    const Current current(index);
    driver::hipMemsetAsync(memory, 0, bytes, static_cast<hipStream_t>(stream));
}

void synchronize(int32_t index) {
    const Current current(index);
    driver::hipDeviceSynchronize();
}

} // namespace

const Backend backend{CT3D_BACKEND_HIP, "hip", probe, device_info, threads, candidates, alloc,
                      free_memory,      copy,  zero,  synchronize};

} // namespace ct3d::hip
