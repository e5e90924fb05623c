// SPDX-License-Identifier: MIT
// The grouped GEMM on tensor cores, see group_gemm_params.hpp.
#include "group_gemm_write.cuh"

namespace ct3d::cuda {

namespace {

template <class Math, int residues, class Writer> class GroupBlock {
public:
    using E = typename Math::Element;

    __device__ __forceinline__ GroupBlock(const GroupGemmParams &p, const void *shared)
        : p_(p), tile_(locate_group_tile(p)), shared_(shared_address(shared)) {}

    __device__ __forceinline__ void run() const {
        stage_group_weights<Math>(p_, tile_.group, shared_);
        stage_group_box<Math>(p_, tile_, shared_ + p_.box_at);
        __syncthreads();
        const int32_t warp = threadIdx.x / 32;
        Writer writer(p_, shared_ + p_.rows_at + warp * p_.row_bytes);
#pragma unroll 1
        for (int32_t unit = warp; unit < p_.units; unit += group_threads / 32)
            run_unit(unit, writer);
    }

private:
    // A row, a residue of z and of y, and a tile of channels or, after the other, all of them.
    __device__ __forceinline__ void run_unit(uint32_t rest, Writer &writer) const {
        const GroupAxis &az = p_.axis[0], &ay = p_.axis[1];
        uint32_t z = take_remainder(rest, p_.tile_rows);
        const int32_t y = static_cast<int32_t>(take_remainder(z, p_.tile_y));
        const int32_t ry = take_remainder(rest, ay.stride), rz = take_remainder(rest, az.stride);
        const int32_t out_z = (tile_.z + static_cast<int32_t>(z)) * az.stride + rz;
        const int32_t out_y = (tile_.y + y) * ay.stride + ry;
        if (out_z >= az.out || out_y >= ay.out)
            return;
        const int32_t first_channel = static_cast<int32_t>(rest) * group_channels;
        const int32_t channel = tile_.group * p_.out_channels + first_channel;
        const GroupRow<E> row{static_cast<E *>(p_.y) + tile_.sample * p_.y_sample + int64_t{channel} * p_.y_channel +
                                  out_z * p_.y_z + out_y * p_.y_y + tile_.x * residues * p_.y_x,
                              channel, min(p_.out_channels - first_channel, group_channels),
                              min(p_.axis[2].tile * residues, p_.axis[2].out - tile_.x * residues)};
        const GroupResidue &fz = az.residue[rz], &fy = ay.residue[ry];
        const int32_t cell = (static_cast<int32_t>(z) * ay.box + y) * p_.axis[2].box;
        const int32_t tap = first_group_tap(p_.axis, fz, fy);
        int32_t taps[residues];
#pragma unroll
        for (int r = 0; r < residues; ++r)
            taps[r] = opaque(group_taps(fz, fy, p_.axis[2].residue[r]));
        const uint32_t lane = threadIdx.x % 32;
        uint32_t box = opaque(shared_ + p_.box_at + cell * 16 + Math::cell_offset(lane, p_.plane_bytes));
        const uint32_t cells = opaque(shared_ + p_.cells_at + tap * 4);
        const uint32_t weights = opaque(shared_ + static_cast<int32_t>(rest) * p_.steps * p_.taps * tap_bytes +
                                        tap * tap_bytes + lane * Math::fragment_bytes);
        writer.begin(row);
        if constexpr (Writer::all_channels)
            run_channels(row, taps, box, cells, weights, writer);
        else
            run_tile(row, taps, box, cells, weights, writer);
        writer.end(row);
    }

    __device__ __forceinline__ void run_tile(const GroupRow<E> &row, const int32_t (&taps)[residues], uint32_t box,
                                             uint32_t cells, uint32_t weights, const Writer &writer) const {
        float bias[2];
        load_bias(row.channel, row.channels, bias);
#pragma unroll 1
        for (int32_t first = 0; first * residues < row.outputs; first += group_positions) {
            GroupSums<residues> sums = {};
            multiply(taps, box, cells, weights, sums);
            writer.put(first, sums, bias);
            box += group_positions * 16;
        }
    }

    __device__ __forceinline__ void run_channels(const GroupRow<E> &row, const int32_t (&taps)[residues], uint32_t box,
                                                 uint32_t cells, uint32_t weights, const Writer &writer) const {
#pragma unroll 1
        for (int32_t first = 0; first * residues < row.outputs; first += group_positions) {
#pragma unroll 1
            for (int32_t tile = 0; tile < p_.joined * p_.channel_tiles; ++tile) {
                const int32_t group = tile / p_.channel_tiles, channel = tile * group_channels;
                const int32_t channels = min(p_.joined * p_.out_channels - channel, group_channels);
                GroupSums<residues> sums = {};
                multiply(taps, box + group * p_.steps * Math::planes * p_.plane_bytes, cells,
                         weights + tile * p_.steps * p_.taps * tap_bytes, sums);
                float bias[2];
                load_bias(row.channel + channel, channels, bias);
                writer.put(row, first, channel, channels, sums, bias);
            }
            writer.end_positions(row, first);
            box += group_positions * 16;
        }
    }

    // Of the lane's two channels of a tile.
    __device__ __forceinline__ void load_bias(int32_t channel, int32_t channels, float (&bias)[2]) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int32_t own = static_cast<int32_t>(threadIdx.x) % 4 * 2 + i;
            bias[i] = p_.bias && own < channels ? to_float(static_cast<const E *>(p_.bias)[channel + own]) : 0.0f;
        }
    }

    // Of so many taps of each residue of x; the cells that they read are in a table.
    __device__ __forceinline__ void multiply(const int32_t (&taps)[residues], uint32_t box, uint32_t cells,
                                             uint32_t weights, GroupSums<residues> &sums) const {
#pragma unroll 1
        for (int32_t step = 0; step < p_.steps; ++step) {
            uint32_t cell = cells, tap = weights;
#pragma unroll
            for (int r = 0; r < residues; ++r)
#pragma unroll 2
                for (int32_t t = taps[r]; t > 0; --t) {
                    typename Math::Cells operands;
                    Math::load(operands, box + load_shared_word(cell));
                    Math::add(sums[r], operands, Math::load(tap));
                    cell += 4;
                    tap += tap_bytes;
                }
            box += Math::planes * p_.plane_bytes;
            weights += p_.taps * tap_bytes;
        }
    }

    static constexpr uint32_t tap_bytes = 32 * Math::fragment_bytes;

    const GroupGemmParams &p_;
    const GroupTile tile_;
    const uint32_t shared_;
};

} // namespace

#define CT3D_GROUP_GEMM(math, Math, residues, layout, Writer)                                                          \
    extern "C" __global__ void __launch_bounds__(group_threads, group_blocks)                                          \
        ct3d_group_gemm_##math##_##residues##_##layout(const __grid_constant__ GroupGemmParams p) {                    \
        extern __shared__ uint4 shared_memory[];                                                                       \
        GroupBlock<Math, residues, Writer<Math::Element, residues>>(p, shared_memory).run();                           \
    }
#define CT3D_GROUP_GEMM_LAYOUTS(math, Math, residues)                                                                  \
    CT3D_GROUP_GEMM(math, Math, residues, ncdhw, GroupSpans)                                                           \
    CT3D_GROUP_GEMM(math, Math, residues, ndhwc, GroupCells)
#define CT3D_GROUP_GEMM_RESIDUES(math, Math)                                                                           \
    CT3D_GROUP_GEMM_LAYOUTS(math, Math, 1)                                                                             \
    CT3D_GROUP_GEMM_LAYOUTS(math, Math, 2)
CT3D_GROUP_GEMM_RESIDUES(f16, GroupF16)
CT3D_GROUP_GEMM_RESIDUES(bf16, GroupBf16)
CT3D_GROUP_GEMM_RESIDUES(tf32, GroupTf32)
#undef CT3D_GROUP_GEMM_RESIDUES
#undef CT3D_GROUP_GEMM_LAYOUTS
#undef CT3D_GROUP_GEMM

} // namespace ct3d::cuda
