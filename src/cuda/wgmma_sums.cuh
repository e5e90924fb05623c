// SPDX-License-Identifier: MIT
// The sums of a warpgroup: 64 rows by N columns, of which a thread has d[4 * j + 2 * h + i] for row
// 16 * (warp of the warpgroup) + 8 * h + lane / 4 and column 8 * j + 2 * (lane % 4) + i.
#pragma once

#include "../gpu/phase_gemm_params.hpp"
#include "gpu.hpp"
#include "wgmma.cuh"

namespace ct3d::cuda {

// A wgmma_operand(), of whose halves only the lower one holds the address.
struct WgmmaOperand {
    uint32_t low, high;

    __device__ __forceinline__ WgmmaOperand(uint32_t address, int32_t slab_bytes) {
        const uint64_t operand = wgmma_operand(address, slab_bytes);
        low = static_cast<uint32_t>(operand);
        high = static_cast<uint32_t>(operand >> 32);
    }
    // So many times 16 bytes further on.
    __device__ __forceinline__ WgmmaOperand moved(int32_t units) const {
        WgmmaOperand result = *this;
        result.low += units;
        return result;
    }
    __device__ __forceinline__ uint64_t after(int32_t units) const {
        return static_cast<uint64_t>(high) << 32 | (low + units);
    }
};

template <GemmMath math, int N> class WgmmaSums {
public:
    __device__ __forceinline__ void start() { begun_ = 0; }

    // `steps` matrix instructions; rows(step, plane) and columns(step, plane) are their operands.
    template <int steps, class Rows, class Columns>
    __device__ __forceinline__ void add(const Rows &rows, const Columns &columns) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            wgmma_fence();
            wgmma<math, N>(d, rows(step, 0), columns(step, 0), begun_);
            begun_ = 1;
        }
    }

    // After which d are the sums; something has been added.
    __device__ __forceinline__ void finish() { wgmma_keep(d); }

    float d[N / 2];

private:
    int32_t begun_;
};

// Of each factor's three bfloat16 the products are summed whose planes add up to at most 2: the product of the first
// planes on its own, the small ones on theirs. Tensor cores truncate, so both are moved to an f32 sum now and then.
template <int N> class WgmmaSums<GemmMath::f32, N> {
public:
    __device__ __forceinline__ void start() {
        since_ = 0;
#pragma unroll
        for (float &sum : d)
            sum = 0;
    }

    template <int steps, class Rows, class Columns>
    __device__ __forceinline__ void add(const Rows &rows, const Columns &columns) {
        if (since_ + steps > most)
            move();
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            wgmma_fence();
            wgmma<GemmMath::f32, N>(small_, rows(step, 0), columns(step, 2), since_);
            wgmma<GemmMath::f32, N>(small_, rows(step, 1), columns(step, 1), 1);
            wgmma<GemmMath::f32, N>(small_, rows(step, 2), columns(step, 0), 1);
            wgmma<GemmMath::f32, N>(small_, rows(step, 0), columns(step, 1), 1);
            wgmma<GemmMath::f32, N>(small_, rows(step, 1), columns(step, 0), 1);
            wgmma<GemmMath::f32, N>(large_, rows(step, 0), columns(step, 0), since_);
            ++since_;
        }
    }

    __device__ __forceinline__ void finish() {
        if (since_ > 0)
            move();
    }

    float d[N / 2];

private:
    static constexpr int32_t most = 128 / 16; // instructions of 16 products each

    __device__ __forceinline__ void move() {
        wgmma_commit(); // with what came before in the caller's group
        wgmma_wait<0>();
        wgmma_keep(large_);
        wgmma_keep(small_);
#pragma unroll
        for (int i = 0; i < N / 2; ++i)
            d[i] += large_[i] + small_[i];
        since_ = 0;
    }

    float large_[N / 2], small_[N / 2];
    int32_t since_;
};

} // namespace ct3d::cuda
