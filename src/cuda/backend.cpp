// SPDX-License-Identifier: MIT
// NVIDIA GPUs as a backend: the devices, their memory, and the list of kernels.
#include "backend.hpp"

#include "../gpu/backend.hpp"
#include "../gpu/direct_kernel.hpp"
#include "../gpu/limits.hpp"
#include "../gpu/portable_kernel.hpp"
#include "device.hpp"
#include "driver.hpp"
#include "few_outputs_kernel.hpp"
#include "group_gemm_kernel.hpp"
#include "patch_gemm_kernel.hpp"
#include "phase_gemm_kernel.hpp"
#include "phase_wgmma_kernel.hpp"
#include "single_output_kernel.hpp"

namespace ct3d::cuda {

namespace {

CUdeviceptr address(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }

void probe(ct3d_backend_info &info) { gpu::probe(info, library, device_count, driver_version); }

void device_info(int32_t index, ct3d_device_info &info) { describe_device(device_properties(index), info); }

std::span<const Candidate> candidates() {
    static const Candidate list[] = {
#ifdef CT3D_CUDA_SM90
        patch_gemm_candidate,
        phase_wgmma_candidate,
#endif
        phase_gemm_candidate,
        group_gemm_candidate,
        single_output_candidate,
        few_outputs_candidate,
        {"direct", shared<device, consider_direct>},
        {"portable", shared<device, consider_portable>},
    };
    return list;
}

void *alloc(int32_t index, uint64_t bytes) {
    const Device &d = device(index);
    require_memory(d, bytes);
    const Current current(d);
    CUdeviceptr memory = 0;
    driver::cuMemAlloc(&memory, bytes);
    return reinterpret_cast<void *>(memory);
}

void free_memory(int32_t index, void *memory) {
    const Current current(device(index));
    driver::cuMemFree(address(memory));
}

// A copy within the device, or from pageable memory, may return before its end.
void copy(int32_t index, void *destination, const void *source, uint64_t bytes) {
    const Current current(device(index));
    driver::cuMemcpy(address(destination), address(source), bytes);
    driver::cuStreamSynchronize(nullptr);
}

void zero(int32_t index, void *stream, void *memory, uint64_t bytes) {
    const Current current(device(index));
    driver::cuMemsetD8Async(address(memory), 0, bytes, static_cast<CUstream>(stream));
}

void synchronize(int32_t index) {
    const Current current(device(index));
    driver::cuCtxSynchronize();
}

} // namespace

const Backend backend{CT3D_BACKEND_CUDA, "cuda", probe, device_info, threads, candidates, alloc,
                      free_memory,       copy,   zero,  synchronize};

} // namespace ct3d::cuda
