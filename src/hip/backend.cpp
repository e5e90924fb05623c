// SPDX-License-Identifier: MIT
// AMD GPUs as a backend: the devices, their memory, and the list of kernels.
#include "backend.hpp"

#include "../gpu/direct_kernel.hpp"
#include "../gpu/limits.hpp"
#include "../gpu/portable_kernel.hpp"
#include "../gpu/probe.hpp"
#include "device.hpp"
#include "driver.hpp"
#include "phase_gemm_mfma_kernel.hpp"

#include <cstdio>

namespace ct3d::hip {

namespace {

void probe(ct3d_backend_info &info) {
    gpu::probe(info, [](ct3d_backend_info &i) {
        i.device_count = device_count();
        const int version = runtime_version();
        std::snprintf(i.version, sizeof i.version, "runtime of HIP %d.%d", version_major(version),
                      version_minor(version));
    });
}

void device_info(int32_t index, ct3d_device_info &info) {
    const Device &d = device_properties(index);
    std::snprintf(info.name, sizeof info.name, "%s", d.name);
    std::snprintf(info.arch, sizeof info.arch, "%s", d.arch);
    info.compute_units = d.multiprocessors;
    info.memory = d.memory;
    info.last_level_cache = d.l2_bytes;
}

int32_t threads(int32_t) { return 1; }

// A kernel of all vendors.
template <Offer (*consider)(const PlanContext &, const gpu::Device &)> Offer shared(const PlanContext &c) {
    return consider(c, device(c.device));
}

std::span<const Candidate> candidates() {
    static const Candidate list[] = {
        phase_gemm_mfma_candidate,
        {"direct", shared<gpu::consider_direct>},
        {"portable", shared<gpu::consider_portable>},
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
