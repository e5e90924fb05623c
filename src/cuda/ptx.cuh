// SPDX-License-Identifier: MIT
// PTX instructions as functions. Addresses of shared memory are those that shared_address() gives.
#pragma once

#include <cstdint>

namespace ct3d::cuda {

struct TensorMap;

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

__device__ __forceinline__ uint2 load_shared_pair(uint32_t address) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ uint32_t load_shared_word(uint32_t address) {
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ float load_shared_float(uint32_t address) {
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ uint16_t load_shared_half(uint32_t address) {
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ void store_shared(uint32_t address, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t address, uint2 v) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.x), "r"(v.y) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t address, uint32_t v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t address, float v) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}
__device__ __forceinline__ void store_shared(uint32_t address, uint16_t v) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(v) : "memory");
}

// 16 bytes to global memory; of a value that repeats the compiler would make four stores.
__device__ __forceinline__ void store_global(void *to, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

// Where value >= least; without a branch.
__device__ __forceinline__ void store_shared_from(uint32_t value, uint32_t least, uint32_t address, uint4 v) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ge.u32 p, %5, %6;\n@p st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n}" ::"r"(address),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(value), "r"(least)
        : "memory");
}
__device__ __forceinline__ void store_shared_from(uint32_t value, uint32_t least, uint32_t address, uint2 v) {
    asm volatile("{\n.reg .pred p;\nsetp.ge.u32 p, %3, %4;\n@p st.shared.v2.u32 [%0], {%1, %2};\n}" ::"r"(address),
                 "r"(v.x), "r"(v.y), "r"(value), "r"(least)
                 : "memory");
}
__device__ __forceinline__ void store_shared_from(uint32_t value, uint32_t least, uint32_t address, uint32_t v) {
    asm volatile("{\n.reg .pred p;\nsetp.ge.u32 p, %2, %3;\n@p st.shared.u32 [%0], %1;\n}" ::"r"(address), "r"(v),
                 "r"(value), "r"(least)
                 : "memory");
}
__device__ __forceinline__ void store_shared_from(uint32_t value, uint32_t least, uint32_t address, uint16_t v) {
    asm volatile("{\n.reg .pred p;\nsetp.ge.u32 p, %2, %3;\n@p st.shared.u16 [%0], %1;\n}" ::"r"(address), "h"(v),
                 "r"(value), "r"(least)
                 : "memory");
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

// The same of 16-bit elements, transposed: a lane gets two neighbours of a column.
__device__ __forceinline__ void ldmatrix_x4_transposed(uint32_t (&r)[4], uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

// The same with 8 products.
#define CT3D_MMA_K8(name, type)                                                                                        \
    __device__ __forceinline__ void name(float(&d)[4], const uint32_t(&a)[2], uint32_t b) {                            \
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "   \
                     "{%0, %1, %2, %3};"                                                                               \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(b));                                                                  \
    }
CT3D_MMA_K8(mma_f16_k8, "f16")
CT3D_MMA_K8(mma_bf16_k8, "bf16")
#undef CT3D_MMA_K8

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

// ---- from here on: sm_90 and later

// Threads of a block that meet, a multiple of a warp; barrier 0 is the one of __syncthreads().
__device__ __forceinline__ void group_barrier(uint32_t id, uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Four 8x8 matrices of 16-bit elements, of which a lane has two neighbours of a column; lane l gives the address of row
// l%8 of matrix l/8.
__device__ __forceinline__ void matrix_store_x4_transposed(uint32_t address, const uint32_t (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// ---- mbarriers: eight bytes of shared memory that count arrivals and bytes

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// After the last mbarrier_init(), by the thread that called it.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and lets the phase wait for `bytes` of copies as well.
__device__ __forceinline__ void mbarrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Returns when the phase of that parity has ended; phases begin with parity 0.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                 "@!ended bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// ---- bulk copies, global to shared, whose bytes an mbarrier counts

__device__ __forceinline__ void bulk_load(uint32_t shared, const void *global, uint32_t bytes, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(barrier)
        : "memory");
}

// The box of a tensor with five axes that begins at these coordinates, the fastest axis first; cells outside the tensor
// become zeros, and count. The map is a __grid_constant__ parameter of the kernel, or in global memory.
__device__ __forceinline__ void tensor_load(uint32_t shared, const TensorMap *map, int32_t at0, int32_t at1,
                                            int32_t at2, int32_t at3, int32_t at4, uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(shared),
                 "l"(map), "r"(at0), "r"(at1), "r"(at2), "r"(at3), "r"(at4), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// ---- launches that overlap, where the later one is enqueued so

// Until the launch before has ended and what it wrote can be read.
__device__ __forceinline__ void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

} // namespace ct3d::cuda
