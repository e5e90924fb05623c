// SPDX-License-Identifier: MIT
// The matrix instructions of a warpgroup, which run asynchronously: 64 rows by up to 256 columns, operands in shared
// memory, the first one perhaps in registers. For sm_90a.
#pragma once

#include "../gpu/phase_gemm_params.hpp"
#include "gpu.hpp"
#include "ptx.cuh"
#include "wgmma_operand.hpp"

#include <cstdint>

namespace ct3d::cuda {

// Registers that a thread of this warpgroup may use from now on, all its warps together: a multiple of 8 from 24 to
// 256.
template <int N> __device__ __forceinline__ void registers_more() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> __device__ __forceinline__ void registers_less() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// Before the first wgmma() and whenever registers of sums were read or written since the last.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most N of the committed groups are under way.
template <int N> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// The compiler moves no use of the sums across this, and so across a wait or fence next to it.
template <int n> __device__ __forceinline__ void wgmma_keep(float (&d)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

template <int N> struct Wgmma;
template <int N> struct WgmmaRegisters;

// d = a * b, or d += a * b: a has 64 rows, b has N columns, which are its rows in memory, and each row 32 bytes that
// are multiplied. Row 16*w + l/4 + 8*(i/2) and column 8*j + 2*(l%4) + i%2 is d[4*j + i] of lane l of warp w. `a` is an
// operand, or four registers that nobody writes before wgmma_wait(): register i of the same lane has, of row
// 16*w + l/4 + 8*(i%2), word l%4 + 4*(i/2) of the 32 bytes.
template <GemmMath math, template <int> class Of, int N, class A>
__device__ __forceinline__ void wgmma_as(float (&d)[N / 2], const A &a, uint64_t b, int32_t accumulate) {
    if constexpr (math == GemmMath::f16)
        Of<N>::f16(d, a, b, accumulate);
    else if constexpr (math == GemmMath::tf32)
        Of<N>::tf32(d, a, b, accumulate);
    else
        Of<N>::bf16(d, a, b, accumulate);
}
template <GemmMath math, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int32_t accumulate) {
    wgmma_as<math, Wgmma, N>(d, a, b, accumulate);
}
template <GemmMath math, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b, int32_t accumulate) {
    wgmma_as<math, WgmmaRegisters, N>(d, a, b, accumulate);
}

// The sums of N columns, by four: FIRST(0, 1, 2, 3) NEXT(4, 5, 6, 7) ...
#define CT3D_SUMS_8(FIRST, NEXT) FIRST(0, 1, 2, 3)
#define CT3D_SUMS_16(FIRST, NEXT) CT3D_SUMS_8(FIRST, NEXT) NEXT(4, 5, 6, 7)
#define CT3D_SUMS_24(FIRST, NEXT) CT3D_SUMS_16(FIRST, NEXT) NEXT(8, 9, 10, 11)
#define CT3D_SUMS_32(FIRST, NEXT) CT3D_SUMS_24(FIRST, NEXT) NEXT(12, 13, 14, 15)
#define CT3D_SUMS_40(FIRST, NEXT) CT3D_SUMS_32(FIRST, NEXT) NEXT(16, 17, 18, 19)
#define CT3D_SUMS_48(FIRST, NEXT) CT3D_SUMS_40(FIRST, NEXT) NEXT(20, 21, 22, 23)
#define CT3D_SUMS_56(FIRST, NEXT) CT3D_SUMS_48(FIRST, NEXT) NEXT(24, 25, 26, 27)
#define CT3D_SUMS_64(FIRST, NEXT) CT3D_SUMS_56(FIRST, NEXT) NEXT(28, 29, 30, 31)
#define CT3D_SUMS_72(FIRST, NEXT) CT3D_SUMS_64(FIRST, NEXT) NEXT(32, 33, 34, 35)
#define CT3D_SUMS_80(FIRST, NEXT) CT3D_SUMS_72(FIRST, NEXT) NEXT(36, 37, 38, 39)
#define CT3D_SUMS_88(FIRST, NEXT) CT3D_SUMS_80(FIRST, NEXT) NEXT(40, 41, 42, 43)
#define CT3D_SUMS_96(FIRST, NEXT) CT3D_SUMS_88(FIRST, NEXT) NEXT(44, 45, 46, 47)
#define CT3D_SUMS_104(FIRST, NEXT) CT3D_SUMS_96(FIRST, NEXT) NEXT(48, 49, 50, 51)
#define CT3D_SUMS_112(FIRST, NEXT) CT3D_SUMS_104(FIRST, NEXT) NEXT(52, 53, 54, 55)
#define CT3D_SUMS_120(FIRST, NEXT) CT3D_SUMS_112(FIRST, NEXT) NEXT(56, 57, 58, 59)
#define CT3D_SUMS_128(FIRST, NEXT) CT3D_SUMS_120(FIRST, NEXT) NEXT(60, 61, 62, 63)
#define CT3D_SUMS_136(FIRST, NEXT) CT3D_SUMS_128(FIRST, NEXT) NEXT(64, 65, 66, 67)
#define CT3D_SUMS_144(FIRST, NEXT) CT3D_SUMS_136(FIRST, NEXT) NEXT(68, 69, 70, 71)
#define CT3D_SUMS_152(FIRST, NEXT) CT3D_SUMS_144(FIRST, NEXT) NEXT(72, 73, 74, 75)
#define CT3D_SUMS_160(FIRST, NEXT) CT3D_SUMS_152(FIRST, NEXT) NEXT(76, 77, 78, 79)
#define CT3D_SUMS_168(FIRST, NEXT) CT3D_SUMS_160(FIRST, NEXT) NEXT(80, 81, 82, 83)
#define CT3D_SUMS_176(FIRST, NEXT) CT3D_SUMS_168(FIRST, NEXT) NEXT(84, 85, 86, 87)
#define CT3D_SUMS_184(FIRST, NEXT) CT3D_SUMS_176(FIRST, NEXT) NEXT(88, 89, 90, 91)
#define CT3D_SUMS_192(FIRST, NEXT) CT3D_SUMS_184(FIRST, NEXT) NEXT(92, 93, 94, 95)
#define CT3D_SUMS_200(FIRST, NEXT) CT3D_SUMS_192(FIRST, NEXT) NEXT(96, 97, 98, 99)
#define CT3D_SUMS_208(FIRST, NEXT) CT3D_SUMS_200(FIRST, NEXT) NEXT(100, 101, 102, 103)
#define CT3D_SUMS_216(FIRST, NEXT) CT3D_SUMS_208(FIRST, NEXT) NEXT(104, 105, 106, 107)
#define CT3D_SUMS_224(FIRST, NEXT) CT3D_SUMS_216(FIRST, NEXT) NEXT(108, 109, 110, 111)
#define CT3D_SUMS_232(FIRST, NEXT) CT3D_SUMS_224(FIRST, NEXT) NEXT(112, 113, 114, 115)
#define CT3D_SUMS_240(FIRST, NEXT) CT3D_SUMS_232(FIRST, NEXT) NEXT(116, 117, 118, 119)
#define CT3D_SUMS_248(FIRST, NEXT) CT3D_SUMS_240(FIRST, NEXT) NEXT(120, 121, 122, 123)
#define CT3D_SUMS_256(FIRST, NEXT) CT3D_SUMS_248(FIRST, NEXT) NEXT(124, 125, 126, 127)

#define CT3D_NAMES(i, j, k, l) "%" #i ", %" #j ", %" #k ", %" #l
#define CT3D_MORE_NAMES(i, j, k, l) ", " CT3D_NAMES(i, j, k, l)
#define CT3D_REGISTERS(i, j, k, l) "+f"(d[i]), "+f"(d[j]), "+f"(d[k]), "+f"(d[l])
#define CT3D_MORE_REGISTERS(i, j, k, l) , CT3D_REGISTERS(i, j, k, l)

// The operands after the sums have the numbers A, B and S.
#define CT3D_WGMMA_TYPE(name, N, depth, type, orders, A, B, S)                                                         \
    static __device__ __forceinline__ void name(float(&d)[N / 2], uint64_t a, uint64_t b, int32_t accumulate) {        \
        asm volatile("{\n.reg .pred sum;\nsetp.ne.b32 sum, %" #S ", 0;\n"                                              \
                     "wgmma.mma_async.sync.aligned.m64n" #N depth ".f32." type "." type                                \
                     " {" CT3D_SUMS_##N(CT3D_NAMES, CT3D_MORE_NAMES) "}, %" #A ", %" #B ", sum, 1, 1" orders ";\n}"    \
                     : CT3D_SUMS_##N(CT3D_REGISTERS, CT3D_MORE_REGISTERS)                                              \
                     : "l"(a), "l"(b), "r"(accumulate));                                                               \
    }
#define CT3D_WGMMA(N, A, B, S)                                                                                         \
    template <> struct Wgmma<N> {                                                                                      \
        CT3D_WGMMA_TYPE(f16, N, "k16", "f16", ", 0, 0", A, B, S)                                                       \
        CT3D_WGMMA_TYPE(bf16, N, "k16", "bf16", ", 0, 0", A, B, S)                                                     \
        CT3D_WGMMA_TYPE(tf32, N, "k8", "tf32", "", A, B, S)                                                            \
    };
CT3D_WGMMA(8, 4, 5, 6)
CT3D_WGMMA(16, 8, 9, 10)
CT3D_WGMMA(24, 12, 13, 14)
CT3D_WGMMA(32, 16, 17, 18)
CT3D_WGMMA(40, 20, 21, 22)
CT3D_WGMMA(48, 24, 25, 26)
CT3D_WGMMA(56, 28, 29, 30)
CT3D_WGMMA(64, 32, 33, 34)
CT3D_WGMMA(72, 36, 37, 38)
CT3D_WGMMA(80, 40, 41, 42)
CT3D_WGMMA(88, 44, 45, 46)
CT3D_WGMMA(96, 48, 49, 50)
CT3D_WGMMA(104, 52, 53, 54)
CT3D_WGMMA(112, 56, 57, 58)
CT3D_WGMMA(120, 60, 61, 62)
CT3D_WGMMA(128, 64, 65, 66)
CT3D_WGMMA(136, 68, 69, 70)
CT3D_WGMMA(144, 72, 73, 74)
CT3D_WGMMA(152, 76, 77, 78)
CT3D_WGMMA(160, 80, 81, 82)
CT3D_WGMMA(168, 84, 85, 86)
CT3D_WGMMA(176, 88, 89, 90)
CT3D_WGMMA(184, 92, 93, 94)
CT3D_WGMMA(192, 96, 97, 98)
CT3D_WGMMA(200, 100, 101, 102)
CT3D_WGMMA(208, 104, 105, 106)
CT3D_WGMMA(216, 108, 109, 110)
CT3D_WGMMA(224, 112, 113, 114)
CT3D_WGMMA(232, 116, 117, 118)
CT3D_WGMMA(240, 120, 121, 122)
CT3D_WGMMA(248, 124, 125, 126)
CT3D_WGMMA(256, 128, 129, 130)
#undef CT3D_WGMMA
#undef CT3D_WGMMA_TYPE

// The same with `a` in registers, for a few numbers of columns.
#define CT3D_WGMMA_TYPE(name, N, depth, type, order, A0, A1, A2, A3, B, S)                                             \
    static __device__ __forceinline__ void name(float(&d)[N / 2], const uint32_t(&a)[4], uint64_t b,                   \
                                                int32_t accumulate) {                                                  \
        asm volatile("{\n.reg .pred sum;\nsetp.ne.b32 sum, %" #S ", 0;\n"                                              \
                     "wgmma.mma_async.sync.aligned.m64n" #N depth ".f32." type "." type " {" CT3D_SUMS_##N(            \
                         CT3D_NAMES, CT3D_MORE_NAMES) "}, {" CT3D_NAMES(A0, A1, A2, A3) "}, %" #B ", sum, 1, 1" order  \
                                                                                        ";\n}"                         \
                     : CT3D_SUMS_##N(CT3D_REGISTERS, CT3D_MORE_REGISTERS)                                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                           \
    }
#define CT3D_WGMMA(N, A0, A1, A2, A3, B, S)                                                                            \
    template <> struct WgmmaRegisters<N> {                                                                             \
        CT3D_WGMMA_TYPE(f16, N, "k16", "f16", ", 0", A0, A1, A2, A3, B, S)                                             \
        CT3D_WGMMA_TYPE(bf16, N, "k16", "bf16", ", 0", A0, A1, A2, A3, B, S)                                           \
        CT3D_WGMMA_TYPE(tf32, N, "k8", "tf32", "", A0, A1, A2, A3, B, S)                                               \
    };
CT3D_WGMMA(32, 16, 17, 18, 19, 20, 21)
CT3D_WGMMA(64, 32, 33, 34, 35, 36, 37)
CT3D_WGMMA(128, 64, 65, 66, 67, 68, 69)
#undef CT3D_WGMMA
#undef CT3D_WGMMA_TYPE

} // namespace ct3d::cuda
