// SPDX-License-Identifier: MIT
// The names of src/hip/target.cuh, carried out on the host.
#pragma once

#include "device_language.hpp"
#include "mfma.cuh"
#include "shared_access.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ct3d::gpu {

inline void settle(float &, float &) {}
template <class T> T read_global(const T *p) { return *p; }
template <class T> void write_global(T *p, T v) { *p = v; }
template <class E> E *whole(E *p) { return p; }
template <class Params> const Params &launch_params(const Params &given) { return given; }

// There are no copies that a thread waits for later: each is carried out at once.
inline void cp_async_16(uint32_t shared, const void *global, uint32_t bytes) {
    if (bytes != 0 && bytes != 16)
        standin::fault("a copy of %u bytes, must be 0 or 16", bytes);
    if (reinterpret_cast<uintptr_t>(global) % 16 != 0)
        standin::fault("global address %p, must be a multiple of 16", global);
    store_shared(shared, bytes ? *static_cast<const uint4 *>(global) : uint4{});
}
inline void cp_async_16(uint32_t shared, const void *global) { cp_async_16(shared, global, 16); }
inline void cp_async_commit() {}
template <int N> void cp_async_wait() {}

inline float half_to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
inline uint16_t float_to_half(float v) { return __half_as_ushort(__float2half_rn(v)); }
inline uint16_t float_to_bfloat(float v) { return __bfloat16_as_ushort(__float2bfloat16_rn(v)); }
inline uint32_t floats_to_halves(float x, float y) { return float_to_half(x) | uint32_t{float_to_half(y)} << 16; }
inline uint32_t floats_to_bfloats(float x, float y) { return float_to_bfloat(x) | uint32_t{float_to_bfloat(y)} << 16; }

} // namespace ct3d::gpu
