// SPDX-License-Identifier: MIT
// The part of the HIP language that device code here uses and clang does not bring: no header of ROCm is included, so
// that any clang with AMD's GPUs as a target compiles it. Blocks have one dimension.
#pragma once

#include <cstddef>
#include <cstdint>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))

#if defined(__GFX9__)
#define CT3D_WAVE 64
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define CT3D_WAVE 32
#else
#error "no code here was written for GPUs of this generation"
#endif

// Blocks for which a multiprocessor has registers. Where waves have 64 lanes, four units of it have 512 registers each;
// others have so many that they need no limit.
#define CT3D_BOUNDS(threads, blocks, ...)                                                                              \
    __attribute__((amdgpu_flat_work_group_size(1, threads),                                                            \
                   amdgpu_waves_per_eu(CT3D_WAVE == 64 ? ((threads) * (blocks) + 255) / 256 : 1)))
#define __launch_bounds__(...) CT3D_BOUNDS(__VA_ARGS__, 1, )

#define CT3D_VECTOR(type, name)                                                                                        \
    struct alignas(2 * sizeof(type)) name##2 {                                                                         \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct alignas(4 * sizeof(type)) name##4 {                                                                         \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    __device__ __forceinline__ name##2 make_##name##2(type x, type y) { return {x, y}; }                               \
    __device__ __forceinline__ name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
CT3D_VECTOR(float, float)
CT3D_VECTOR(unsigned, uint)
#undef CT3D_VECTOR

namespace ct3d::hip {

struct Along {
    unsigned x;
};
__device__ __forceinline__ Along thread_index() { return {__builtin_amdgcn_workitem_id_x()}; }
__device__ __forceinline__ Along block_index() { return {__builtin_amdgcn_workgroup_id_x()}; }
__device__ __forceinline__ Along block_size() { return {__builtin_amdgcn_workgroup_size_x()}; }
__device__ __forceinline__ Along grid_size() {
    return {__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()};
}

} // namespace ct3d::hip

#define threadIdx (::ct3d::hip::thread_index())
#define blockIdx (::ct3d::hip::block_index())
#define blockDim (::ct3d::hip::block_size())
#define gridDim (::ct3d::hip::grid_size())

__device__ __forceinline__ void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Lanes of a wave run in step; only the compiler must not move memory accesses across.
__device__ __forceinline__ void __syncwarp() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// Within groups of 32 lanes, of which a wave may have two; all lanes of a group take part.
template <class T> __device__ __forceinline__ T __shfl_sync(unsigned, T value, int source) {
    static_assert(sizeof(T) % 4 == 0);
    const unsigned group = threadIdx.x & (CT3D_WAVE - 32);
    const int address = static_cast<int>((group | (static_cast<unsigned>(source) & 31)) * 4);
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof value);
    for (int &word : words)
        word = __builtin_amdgcn_ds_bpermute(address, word);
    __builtin_memcpy(&value, words, sizeof value);
    return value;
}

template <class A, class B> __device__ __forceinline__ constexpr auto min(A a, B b) {
    using C = decltype(true ? a : b);
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B> __device__ __forceinline__ constexpr auto max(A a, B b) {
    using C = decltype(true ? a : b);
    return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

__device__ __forceinline__ float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
__device__ __forceinline__ unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
__device__ __forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ __forceinline__ void *memcpy(void *to, const void *from, size_t bytes) {
    return __builtin_memcpy(to, from, bytes);
}
