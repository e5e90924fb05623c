// SPDX-License-Identifier: MIT
// What a CUDA or HIP source may use without including anything, as host code: included before every kernel source.
// Functions of a warp, with a mask of 32 lanes, are of groups of 32 lanes where a warp has 64.
// `__global__` and `__shared__` are rewritten by rewrite.py.
#pragma once

#include "fibers.hpp"
#include "shared_memory.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

#define STANDIN_VECTOR(type, name)                                                                                     \
    struct alignas(2 * sizeof(type)) name##2 {                                                                         \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct name##3 {                                                                                                   \
        type x, y, z;                                                                                                  \
    };                                                                                                                 \
    struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 {                                            \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                                   \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                        \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

STANDIN_VECTOR(unsigned char, uchar)
STANDIN_VECTOR(short, short)
STANDIN_VECTOR(unsigned short, ushort)
STANDIN_VECTOR(int, int)
STANDIN_VECTOR(unsigned int, uint)
STANDIN_VECTOR(float, float)
STANDIN_VECTOR(double, double)
STANDIN_VECTOR(long long, longlong)
STANDIN_VECTOR(unsigned long long, ulonglong)
#undef STANDIN_VECTOR

struct dim3 {
    unsigned int x = 1, y = 1, z = 1;
};

namespace standin {
extern uint3 block_index;
extern dim3 grid_dimensions, block_dimensions;
inline uint3 thread_index() { return {current_thread, 0, 0}; } // blocks have one dimension
} // namespace standin

#define threadIdx (::standin::thread_index())
#define blockIdx (::standin::block_index)
#define gridDim (::standin::grid_dimensions)
#define blockDim (::standin::block_dimensions)
constexpr int warpSize = 32;

namespace standin {

constexpr uint32_t group_lanes = 32;
inline uint32_t lane() { return current_thread % group_lanes; }

// The lane of the warp at which the thread's group begins.
inline uint32_t first_of_group() { return current_thread % warp_lanes() / group_lanes * group_lanes; }
inline uint64_t warp_mask(unsigned mask) { return uint64_t{mask} << first_of_group(); }

} // namespace standin

inline void __syncthreads() { standin::barrier(0, 0); }
inline void __syncwarp(unsigned mask = 0xffffffff) {
    standin::collective(standin::warp_mask(mask), nullptr, [](void *const[], uint64_t) {});
}
inline void __threadfence() {}
inline void __threadfence_block() {}
[[noreturn]] inline void __trap() { standin::fault("__trap()"); }

namespace standin {

template <class T> struct Shuffled {
    T given, taken;
    uint32_t source;
};

// Each lane takes what lane `source` gives.
template <class T> T shuffle(unsigned mask, T value, uint32_t source) {
    Shuffled<T> own{value, value, first_of_group() + source};
    collective(warp_mask(mask), &own, [](void *const lanes[], uint64_t members) {
        for (uint32_t i = 0; i < most_lanes; ++i)
            if (members >> i & 1) {
                auto &lane = *static_cast<Shuffled<T> *>(lanes[i]);
                if (lane.source >= most_lanes || !(members >> lane.source & 1))
                    fault("lane %u shuffles from lane %u, which does not take part", i, lane.source);
                lane.taken = static_cast<const Shuffled<T> *>(lanes[lane.source])->given;
            }
    });
    return own.taken;
}

struct Vote {
    bool given;
    uint32_t all;
};

inline uint32_t vote(unsigned mask, bool value) {
    Vote own{value, 0};
    collective(warp_mask(mask), &own, [](void *const lanes[], uint64_t members) {
        uint32_t all = 0;
        for (uint32_t i = 0; i < most_lanes; ++i)
            if (members >> i & 1)
                all |= uint32_t{static_cast<const Vote *>(lanes[i])->given} << i % group_lanes;
        for (uint32_t i = 0; i < most_lanes; ++i)
            if (members >> i & 1)
                static_cast<Vote *>(lanes[i])->all = all;
    });
    return own.all;
}

// A source outside the lane's segment of `width` leaves the lane its own value.
inline uint32_t segment(uint32_t source, int width, bool inside) {
    return inside && source / static_cast<uint32_t>(width) == lane() / static_cast<uint32_t>(width) ? source : lane();
}

} // namespace standin

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    const uint32_t size = static_cast<uint32_t>(width), first = standin::lane() / size * size;
    return standin::shuffle(mask, value, first + static_cast<uint32_t>(source) % size);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return standin::shuffle(mask, value, standin::segment(standin::lane() - delta, width, delta <= standin::lane()));
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return standin::shuffle(mask, value,
                            standin::segment(standin::lane() + delta, width, standin::lane() + delta < 32));
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    return standin::shuffle(mask, value, standin::segment(standin::lane() ^ static_cast<uint32_t>(bits), width, true));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) { return standin::vote(mask, predicate != 0); }
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    using C = std::common_type_t<A, B>;
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    using C = std::common_type_t<A, B>;
    return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> void __stcs(T *p, T v) { *p = v; }
template <class T> void __stcg(T *p, T v) { *p = v; }

inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }

inline int __popc(unsigned v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t bytes = uint64_t{y} << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const auto byte = static_cast<uint8_t>(bytes >> (8 * (selector >> (4 * i) & 7)));
        const bool spread_sign = selector >> (4 * i + 3) & 1;
        result |= unsigned{spread_sign ? static_cast<uint8_t>(byte & 0x80 ? 0xff : 0) : byte} << (8 * i);
    }
    return result;
}
inline size_t __cvta_generic_to_shared(const void *p) { return standin::shared_address(p); }
