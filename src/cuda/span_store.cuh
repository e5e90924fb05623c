// SPDX-License-Identifier: MIT
// Spans of a tensor that a warp writes, each of which lies without a gap and begins anywhere: sectors of 32 bytes are
// written whole, 16 bytes a lane, and what is left at both ends in one go, so that no sector is written twice.
#pragma once

#include "../gpu/element.cuh"
#include "gpu.hpp"
#include "sector.hpp"

namespace ct3d::cuda {

constexpr int32_t span_warp_bytes = 32 * 16;

// Length from which a span may take more than one store of a warp.
constexpr int32_t long_span_bytes = span_warp_bytes - sector_bytes;

__device__ __forceinline__ int32_t span_lane() { return static_cast<int32_t>(threadIdx.x) % 32; }

// Addresses are the lane's own from the start, 16 bytes a lane apart: what all lanes share would be computed on the
// slow, uniform path.
__device__ __forceinline__ uintptr_t span_address(const void *span) {
    return reinterpret_cast<uintptr_t>(span) + span_lane() * 16;
}

// One value everywhere, given as often as it fits into a word.
template <class E> class SpanFill {
public:
    __device__ __forceinline__ explicit SpanFill(uint32_t word) : word_(word) {}

    __device__ __forceinline__ uint4 quad(int32_t) const { return make_uint4(word_, word_, word_, word_); }
    __device__ __forceinline__ E element(int32_t) const {
        if constexpr (sizeof(E) == 4)
            return __uint_as_float(word_);
        else
            return {static_cast<uint16_t>(word_)};
    }

private:
    const uint32_t word_;
};

// Shared memory from an address that 16 divides, where the span stands at the same place in 16 bytes as in the tensor.
template <class E> class SpanCopy {
public:
    __device__ __forceinline__ SpanCopy(uint32_t from, uintptr_t at)
        : from_(from - (static_cast<uint32_t>(at) - span_lane() * 16) % sector_bytes / 16 * 16) {}

    __device__ __forceinline__ uint4 quad(int32_t offset) const { return load_shared(from_ + offset); }
    __device__ __forceinline__ E element(int32_t offset) const { return load_shared_element<E>(from_ + offset); }

private:
    const uint32_t from_; // of the sector in which the span begins
};

// `at`: span_address(). Short: below long_span_bytes.
template <class E, bool is_short, class Source>
__device__ __forceinline__ void store_span(uintptr_t at, int32_t length, const Source &source) {
    constexpr int32_t sector = sector_bytes;
    const int32_t own = span_lane() * 16;
    const int32_t past = static_cast<int32_t>((at - own) % sector), end = past + length, whole = end / sector * sector;
    unsigned char *const to = reinterpret_cast<unsigned char *>(at - past);
    if ((own >= sector || past == 0) && own < whole)
        store_global(to, source.quad(own));
    if constexpr (!is_short)
#pragma unroll 2
        for (int32_t further = span_warp_bytes; own + further < whole; further += span_warp_bytes)
            store_global(to + further, source.quad(own + further));
    // Half of the lanes have an element each of the first sector, half one of the last.
    const int32_t i = span_lane() % 16 * static_cast<int32_t>(sizeof(E)), offset = span_lane() < 16 ? i : whole + i;
    const bool is_end = span_lane() < 16 ? past > 0 || whole == 0 : whole > 0;
    if (i < sector && is_end && offset >= past && offset < end)
        *reinterpret_cast<E *>(to + (offset - own)) = source.element(offset);
}

} // namespace ct3d::cuda
