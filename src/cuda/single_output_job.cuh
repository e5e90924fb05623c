// SPDX-License-Identifier: MIT
// The order of work of the kernel for one output channel, and where things stand in its shared memory.
#pragma once

#include "../gpu/divisor.cuh"
#include "../gpu/phase_gemm_operand.cuh"
#include "gpu.hpp"
#include "phase_gemm_fragment.cuh"
#include "ptx.cuh"
#include "single_output_params.hpp"

namespace ct3d::cuda {

// A block's part of the list of windows, as runs along z that lie in one column.
class SingleOutputRuns {
public:
    __device__ __forceinline__ explicit SingleOutputRuns(const SingleOutputParams &params) : p(params) {
        const int32_t block = static_cast<int32_t>(blockIdx.x);
        at_ = block * p.block_list + min(block, p.longer_blocks);
        end_ = at_ + p.block_list + (block < p.longer_blocks);
    }

    __device__ __forceinline__ bool next() {
        if (at_ == end_)
            return false;
        uint32_t rest = at_;
        const int32_t past = static_cast<int32_t>(take_remainder(rest, p.windows_z));
        const int32_t windows = min(end_ - at_, static_cast<int32_t>(p.windows_z.value) - past);
        at_ += windows;
        first = p.axis[0].padding / 2 + past;
        end = first + windows;
        piece = static_cast<int32_t>(take_remainder(rest, p.x_blocks)) * p.block_pieces;
        window_y = static_cast<int32_t>(take_remainder(rest, p.y_blocks)) * p.block_windows;
        sample = static_cast<int32_t>(take_remainder(rest, p.samples));
        group = static_cast<int32_t>(rest);
        return true;
    }

    // Input planes that the run's windows read.
    __device__ __forceinline__ int32_t first_in() const { return max(first - 1, 0); }
    __device__ __forceinline__ int32_t end_in() const { return min(end, p.axis[0].in); }

    int32_t group, sample;
    int32_t window_y, piece; // the first ones of the block; windows of y are counted from 0
    int32_t first, end;      // windows of z

private:
    const SingleOutputParams &p;
    int32_t at_, end_;
};

// Where a channel's element of a position is in a staged row, such that neither copies of 16 bytes nor the loads of
// operands meet in a bank.
template <GemmMath math, bool channels_last, int tiles> struct SingleOutputRow {
    static constexpr int element = gemm_element_bytes(math), vector = 16 / element; // bytes, elements
    static constexpr int channels = single_output_cell_bytes / element, positions = 16 * tiles;
    static constexpr int depth = channels / single_output_steps; // of a matrix product
    static constexpr int line = channels_last ? single_output_cell_bytes : positions * element;
    static constexpr int vectors = line / 16; // of a line: a position's channels, or a channel's positions
    static constexpr int lines = channels_last ? positions : channels;

    // The 16 bytes `index` of a line.
    static __device__ __forceinline__ int32_t at(int32_t of_line, int32_t index) {
        return of_line * line + (index ^ swizzle(of_line)) * 16;
    }
    static __device__ __forceinline__ int32_t element_at(int32_t channel, int32_t position) {
        const int32_t of_line = channels_last ? position : channel, in_line = channels_last ? channel : position;
        return at(of_line, in_line / vector) + in_line % vector * element;
    }

private:
    static __device__ __forceinline__ int32_t swizzle(int32_t of_line) {
        if constexpr (element == 4 && !channels_last) // words of two vectors in four channels
            return vectors == 4 ? of_line & 2 : (of_line & 3) * 2;
        else // eight vectors of as many lines
            return vectors >= 8 ? of_line & 7 : vectors == 4 ? of_line >> 1 & 3 : of_line >> 2 & 1;
    }
};

} // namespace ct3d::cuda
