// SPDX-License-Identifier: MIT
// The operands of the kernel for one output channel: inputs as they are staged, weights brought into order.
#pragma once

#include "single_output_job.cuh"

#include <limits>

namespace ct3d::cuda {

// 16 positions by the channels of one matrix product, of the rows that a warp multiplies.
template <GemmMath math, bool channels_last, int tiles> class SingleOutputInputs {
public:
    // `row`: in bytes from the stage, of the window's first tap.
    __device__ __forceinline__ SingleOutputInputs(int32_t row, int32_t lane) : offset_(row + offset(lane)) {}

    // The same, so that what is computed from it is not kept in registers around a loop.
    __device__ __forceinline__ SingleOutputInputs anew() const { return SingleOutputInputs(opaque(offset_)); }

    // `from`: the stage, for the second tap less a row.
    __device__ __forceinline__ void load(uint32_t (&a)[4], uint32_t from, int tile, int step) const {
        if constexpr (channels_last)
            ldmatrix_x4(a, from + pair(step) + tile * 16 * Row::line);
        else if constexpr (words)
            load_words(a, from + step * Row::depth * Row::line, tile);
        else
            ldmatrix_x4_transposed(a, from + pair(tile) + step * Row::depth * Row::line);
        if constexpr (math == GemmMath::tf32)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                a[i] = rounded(a[i]);
    }

private:
    using Row = SingleOutputRow<math, channels_last, tiles>;
    static constexpr bool words = !channels_last && Row::element == 4; // a matrix is loaded word by word

    __device__ __forceinline__ explicit SingleOutputInputs(int32_t offset) : offset_(offset) {}

    // The lane's row of the first matrix that an instruction loads, or its word.
    static __device__ __forceinline__ int32_t offset(int32_t lane) {
        const int32_t in_matrix = lane % 8, low = lane / 8 % 2, high = lane / 16;
        if constexpr (channels_last)
            return Row::at(low * 8 + in_matrix, high);
        else if constexpr (words)
            return Row::element_at(lane % 4, lane / 4);
        else
            return Row::at(high * 8 + in_matrix, low);
    }

    // The same place in a line's pair of 16 bytes of that number.
    __device__ __forceinline__ uint32_t pair(int number) const { return static_cast<uint32_t>(offset_ ^ number * 32); }

    __device__ __forceinline__ void load_words(uint32_t (&a)[4], uint32_t from, int tile) const {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            a[i] = load_shared_word(from + pair(2 * tile + i % 2) + i / 2 * 4 * Row::line);
    }

    // As round_to_tf32() does, but for the low bits, which products ignore.
    static __device__ __forceinline__ uint32_t rounded(uint32_t bits) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        return fabsf(__uint_as_float(bits)) < infinity ? bits + 0x1000 : bits;
    }

    int32_t offset_;
};

// The taps of x in the order of columns: of an output of even and of odd place the tap that reads its own position,
// then the one that reads a neighbour.
__device__ __forceinline__ int32_t single_output_tap_x(int32_t padding, int32_t column) {
    return (padding % 2 ? 0x0231 : 0x3120) >> 4 * column & 3;
}

// [chunk][step][tap of y][tap of z][lane][16 bytes]: the lane's words of two matrices. A column of both is a residue of
// z and y; the first matrix has the taps of x of even outputs, the second those of odd ones.
template <GemmMath math>
__device__ __forceinline__ void pack_single_output_weights(const SingleOutputParams &p, int32_t group, uint32_t to) {
    using Element = typename Operands<math>::Element;
    constexpr int packing = gemm_packing(math);
    const Element *const of_group = static_cast<const Element *>(p.w) + int64_t{group} * p.in_channels * p.w_ci;
    const int32_t threads = p.block_windows * p.block_pieces * 32;
#pragma unroll 1
    for (int32_t i = threadIdx.x; i < p.chunks * single_output_chunk_weights / 16; i += threads) {
        const int32_t column = i % 32 / 4, tap_z = i / 32 % 2, tap_y = i / 64 % 2, step = i / 128;
        const Element *const from = of_group + (column / 4 + 2 * tap_z) * p.w_z + (column / 2 % 2 + 2 * tap_y) * p.w_y;
        uint32_t words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int32_t channel = (step * 8 + j % 2 * 4 + i % 4) * packing;
            const int64_t tap_x = single_output_tap_x(p.axis[2].padding, j / 2 * 2 + column % 2) * p.w_x;
            Element v[packing];
#pragma unroll
            for (int k = 0; k < packing; ++k)
                v[k] = channel + k < p.in_channels ? from[(channel + k) * p.w_ci + tap_x] : Element{};
            uint32_t word[1];
            Operands<math>::word(v, word);
            words[j] = word[0];
        }
        store_shared(to + i * 16, make_uint4(words[0], words[1], words[2], words[3]));
    }
}

} // namespace ct3d::cuda
