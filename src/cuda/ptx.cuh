// SPDX-License-Identifier: MIT
// PTX instructions as functions. Addresses of shared memory are those that shared_address() gives.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ uint4 load_shared(uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

// The same value, of which the compiler knows nothing: what is computed from it inside a loop is not kept in registers
// around the loop.
__device__ __forceinline__ int32_t opaque(int32_t value) {
    asm volatile("" : "+r"(value));
    return value;
}

// ---- matrices in registers

// Four 8x8 matrices of 16-bit elements (or 8x4 of 32-bit ones); lane l gives the address of row l%8 of matrix l/8.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// d += a * b with a of 16 rows, b of 8 columns, and 16 products per element of d (8 for TF32).
#define CT3D_MMA(name, shape, type)                                                                                    \
    __device__ __forceinline__ void name(float(&d)[4], const uint32_t(&a)[4], const uint32_t(&b)[2]) {                 \
        asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, "                 \
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                                   \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }
CT3D_MMA(mma_f16, "m16n8k16", "f16")
CT3D_MMA(mma_bf16, "m16n8k16", "bf16")
CT3D_MMA(mma_tf32, "m16n8k8", "tf32")
#undef CT3D_MMA

// ---- asynchronous copies by threads, global to shared

__device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
// Reads `bytes` of the 16 and puts zeros into the rest.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global, uint32_t bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// ---- bulk copies, shared to global: addresses and size are multiples of 16

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ __forceinline__ void bulk_store(void *global, uint32_t shared, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
// Between ordinary stores to shared memory and a bulk copy that reads it, by each thread that stored.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#else
// Before sm_90 the thread copies by itself.
__device__ __forceinline__ void bulk_store(void *global, uint32_t shared, uint32_t bytes) {
#pragma unroll 1
    for (uint32_t at = 0; at < bytes; at += 16) {
        *reinterpret_cast<uint4 *>(static_cast<unsigned char *>(global) + at) = load_shared(shared + at);
    }
}
__device__ __forceinline__ void bulk_commit() {}
template <int N> __device__ __forceinline__ void bulk_wait_read() {}
__device__ __forceinline__ void fence_proxy_async() {}
#endif

} // namespace ct3d::cuda
