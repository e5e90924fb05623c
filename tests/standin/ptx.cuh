// SPDX-License-Identifier: MIT
// The names of src/cuda/ptx.cuh, carried out on the host.
#pragma once

#include "async_copies.hpp"
#include "shared_access.cuh"
#include "tensor_core.hpp"

namespace ct3d::cuda {

using namespace gpu;

struct TensorMap;

inline void ldmatrix_x4(uint32_t (&r)[4], uint32_t address) { standin::ldmatrix_x4(r, address, false); }
inline void ldmatrix_x4_transposed(uint32_t (&r)[4], uint32_t address) { standin::ldmatrix_x4(r, address, true); }
inline void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    standin::mma_m16n8k16_f16(d, a, b);
}
inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    standin::mma_m16n8k16_bf16(d, a, b);
}
inline void mma_f16_k8(float (&d)[4], const uint32_t (&a)[2], uint32_t b) { standin::mma_m16n8k8_f16(d, a, b); }
inline void mma_bf16_k8(float (&d)[4], const uint32_t (&a)[2], uint32_t b) { standin::mma_m16n8k8_bf16(d, a, b); }
inline void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    standin::mma_m16n8k8_tf32(d, a, b);
}

inline void cp_async_16(uint32_t shared, const void *global) { standin::copy_async(shared, global, 16, 16); }
inline void cp_async_16(uint32_t shared, const void *global, uint32_t bytes) {
    standin::copy_async(shared, global, 16, bytes);
}
inline void cp_async_commit() { standin::commit_async(); }
template <int N> void cp_async_wait() { standin::wait_async(N); }

inline void bulk_store(void *global, uint32_t shared, uint32_t bytes) { standin::bulk_store(global, shared, bytes); }
inline void bulk_commit() { standin::commit_bulk(); }
template <int N> void bulk_wait_read() { standin::wait_bulk(N); }
template <int N> void bulk_wait() { standin::wait_bulk(N); }
inline void fence_proxy_async() { standin::fence_proxy_async(); }

inline void group_barrier(uint32_t id, uint32_t threads) { standin::barrier(id, threads); }
inline void matrix_store_x4_transposed(uint32_t address, const uint32_t (&r)[4]) {
    standin::stmatrix_x4(address, r, true);
}

inline void mbarrier_init(uint32_t barrier, uint32_t count) { standin::barrier_init(barrier, count); }
inline void fence_mbarrier_init() {}
inline void mbarrier_expect(uint32_t barrier, uint32_t bytes) { standin::barrier_expect(barrier, bytes); }
inline void mbarrier_arrive(uint32_t barrier) { standin::barrier_arrive(barrier); }
inline void mbarrier_wait(uint32_t barrier, uint32_t parity) { standin::barrier_wait(barrier, parity); }
inline void bulk_load(uint32_t shared, const void *global, uint32_t bytes, uint32_t barrier) {
    standin::bulk_load(shared, global, bytes, barrier);
}
inline void tensor_load(uint32_t shared, const TensorMap *map, int32_t at0, int32_t at1, int32_t at2, int32_t at3,
                        int32_t at4, uint32_t barrier) {
    standin::tensor_load(shared, map, {at0, at1, at2, at3, at4}, barrier);
}
inline void prefetch_tensor_map(const TensorMap *) {}

// A launch begins when the one before has ended.
inline void wait_for_launch_before() {}

} // namespace ct3d::cuda
