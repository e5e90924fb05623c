// SPDX-License-Identifier: MIT
// Forward to one output channel with kernel 4 and stride 2, on tensor cores, see single_output_params.hpp.
#include "single_output_load.cuh"
#include "single_output_operand.cuh"
#include "single_output_write.cuh"

namespace ct3d::cuda {

namespace {

template <GemmMath math, bool channels_last, int tiles> class SingleOutput {
public:
    __device__ __forceinline__ SingleOutput(const SingleOutputParams &params, uint32_t shared)
        : p(params), weights_(shared), stages_(shared + p.weight_bytes), stage_(stages_) {}

    __device__ __forceinline__ void run() {
        // Taken from one lane, so that the compiler knows it to be the same for all of a warp.
        const int32_t warp = __shfl_sync(0xffffffff, static_cast<int32_t>(threadIdx.x) / 32, 0);
        const int32_t lane = static_cast<int32_t>(threadIdx.x) % 32;
        loads_ = warp / 4 % 2;
        const int32_t piece = warp / p.block_windows, window = warp - piece * p.block_windows;
        Loader loader(p, stages_);
        for (int32_t i = 1; i < p.stages; ++i)
            loader.load();
        const Inputs inputs((piece * static_cast<int32_t>(p.rows.value) + window + 1) * p.row_bytes, lane);
        SingleOutputWriter<math, tiles> writer(p, window, piece, lane);
        SingleOutputRuns run(p);
        int32_t group = -1;
        while (run.next()) {
            if (run.group != group) {
                if (group >= 0)
                    __syncthreads();
                group = run.group;
                pack_single_output_weights<math>(p, group, weights_);
            }
            writer.begin(run);
            const bool works = run.window_y + window < p.windows_y && run.piece + piece < p.pieces;
            walk(run, works, loader, inputs, writer, lane);
        }
    }

private:
    using Loader = SingleOutputLoader<math, channels_last, tiles>;
    using Inputs = SingleOutputInputs<math, channels_last, tiles>;
    using Row = SingleOutputRow<math, channels_last, tiles>;
    using Sums = SingleOutputSums<tiles>;

    // The plane before the first window is there for its second tap alone.
    __device__ __forceinline__ void walk(const SingleOutputRuns &run, bool works, Loader &loader, const Inputs &inputs,
                                         const SingleOutputWriter<math, tiles> &writer, int32_t lane) {
        Sums next{};
#pragma unroll 1
        for (int32_t window = run.first - 1; window < run.end; ++window) {
            Sums sums;
#pragma unroll
            for (int i = 0; i < 8 * tiles; ++i) {
                (&sums[0][0][0])[i] = (&next[0][0][0])[i];
                (&next[0][0][0])[i] = 0;
            }
            if (window >= 0 && window < p.axis[0].in)
#pragma unroll 1
                for (int32_t chunk = 0; chunk < p.chunks; ++chunk) {
                    const uint32_t stage = next_stage();
                    // Some warps load while others multiply.
#pragma unroll 1
                    for (int32_t turn = 0; turn < 2; ++turn)
                        if (turn == loads_)
                            loader.load();
                        else if (works)
                            multiply(sums, next, inputs.anew(), stage, chunk, lane);
                }
            if (works && window >= run.first)
                writer.write(sums, window);
        }
    }

    // The stage that has been copied, when all threads are done with the one before it, which may be filled anew.
    __device__ __forceinline__ uint32_t next_stage() {
        if (p.stages == 4)
            cp_async_wait<2>();
        else if (p.stages == 3)
            cp_async_wait<1>();
        else
            cp_async_wait<0>();
        __syncthreads();
        const uint32_t stage = stage_;
        stage_ += p.stage_bytes;
        if (stage_ == stages_ + p.stages * p.stage_bytes)
            stage_ = stages_;
        return stage;
    }

    __device__ __forceinline__ void multiply(Sums &sums, Sums &next, const Inputs &inputs, uint32_t stage,
                                             int32_t chunk, int32_t lane) const {
        const uint32_t weights = weights_ + chunk * single_output_chunk_weights + lane * 16;
        const int32_t channels = p.in_channels - chunk * Row::channels;
        if (channels > (single_output_steps - 1) * Row::depth) {
#pragma unroll
            for (int step = 0; step < single_output_steps; ++step)
                multiply_step(sums, next, inputs, stage, weights, step);
        } else {
#pragma unroll
            for (int step = 0; step + 1 < single_output_steps; ++step)
                if (step * Row::depth < channels)
                    multiply_step(sums, next, inputs, stage, weights, step);
        }
    }

    __device__ __forceinline__ void multiply_step(Sums &sums, Sums &next, const Inputs &inputs, uint32_t stage,
                                                  uint32_t weights, int step) const {
#pragma unroll
        for (int tap = 0; tap < 2; ++tap) { // of y
            const uint4 ends = load_shared(weights + (step * 4 + tap * 2) * 512);
            const uint4 begins = load_shared(weights + (step * 4 + tap * 2 + 1) * 512);
#pragma unroll
            for (int tile = 0; tile < tiles; ++tile) {
                uint32_t a[4];
                inputs.load(a, stage - tap * p.row_bytes, tile, step);
                multiply_fragment<math>(sums[tile][0], a, {ends.x, ends.y});
                multiply_fragment<math>(sums[tile][1], a, {ends.z, ends.w});
                multiply_fragment<math>(next[tile][0], a, {begins.x, begins.y});
                multiply_fragment<math>(next[tile][1], a, {begins.z, begins.w});
            }
        }
    }

    const SingleOutputParams &p;
    const uint32_t weights_, stages_;
    uint32_t stage_; // the next one to be multiplied
    int32_t loads_;  // the warp's turn to load: 0 before it multiplies, 1 after that
};

} // namespace

#define CT3D_SINGLE_OUTPUT_LAYOUT(math, tiles, layout, channels_last)                                                  \
    extern "C" __global__ void __launch_bounds__(32 * single_output_most_warps, 1)                                     \
        ct3d_single_output_##math##_##tiles##_##layout(const __grid_constant__ SingleOutputParams p) {                 \
        extern __shared__ uint4 shared[];                                                                              \
        SingleOutput<GemmMath::math, channels_last, tiles>(p, shared_address(shared)).run();                           \
    }
#define CT3D_SINGLE_OUTPUT(math, tiles)                                                                                \
    CT3D_SINGLE_OUTPUT_LAYOUT(math, tiles, ncdhw, false)                                                               \
    CT3D_SINGLE_OUTPUT_LAYOUT(math, tiles, ndhwc, true)
CT3D_SINGLE_OUTPUT(f16, 1)
CT3D_SINGLE_OUTPUT(f16, 2)
CT3D_SINGLE_OUTPUT(f16, 4)
CT3D_SINGLE_OUTPUT(bf16, 1)
CT3D_SINGLE_OUTPUT(bf16, 2)
CT3D_SINGLE_OUTPUT(bf16, 4)
CT3D_SINGLE_OUTPUT(tf32, 1)
CT3D_SINGLE_OUTPUT(tf32, 2)
CT3D_SINGLE_OUTPUT(tf32, 4)
#undef CT3D_SINGLE_OUTPUT
#undef CT3D_SINGLE_OUTPUT_LAYOUT

} // namespace ct3d::cuda
