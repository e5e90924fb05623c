// SPDX-License-Identifier: MIT
#include "phase_wgmma_operands.hpp"

#include "../arithmetic.hpp"
#include "../gpu/phase_gemm_tile.hpp"
#include "gpu.hpp"
#include "phase_wgmma_pack.hpp"

#include <algorithm>

namespace ct3d::cuda {

namespace {

WgmmaAxis make_axis(const PlanContext &c, size_t a) {
    const AxisTable &table = c.phases.axis[a];
    const Reach reach = table.reach();
    WgmmaAxis axis{};
    axis.in = narrow(c.desc.in[a]);
    axis.out = narrow(c.desc.out[a]);
    axis.stride = narrow(c.desc.stride[a]);
    axis.lattice = narrow(ceil_div(c.desc.out[a], c.desc.stride[a]));
    axis.in_step = make_wide_divisor(table.in_step);
    axis.tap_step = narrow(table.tap_step);
    axis.low = narrow(reach.low);
    axis.reach = narrow(reach.high - reach.low);
    axis.kernel = narrow(c.desc.kernel[a]);
    for (const AxisPhase &f : table.phases) {
        axis.phase[f.first_out] = {narrow(f.taps), narrow(f.first_in - reach.low), axis.all_taps, narrow(f.first_tap)};
        axis.all_taps += narrow(f.taps);
    }
    return axis;
}

void set_passes(WgmmaOperands &o) {
    const WgmmaAxis &x = o.axis[2];
    for (int32_t residue = 0; residue < x.stride; ++residue) {
        const int32_t taps = x.phase[residue].taps;
        if (taps == 0)
            continue;
        const bool joins = o.residues == WgmmaResidues::two && o.passes > 0 && o.pass[o.passes - 1].residues == 1;
        if (!joins)
            o.pass[o.passes++].earlier = o.pass_taps;
        WgmmaPass &pass = o.pass[o.passes - 1];
        pass.residue[pass.residues++] = residue;
        pass.taps += taps;
        o.pass_taps += taps;
    }
}

// Bytes of a cell's operands of one group and plane.
int64_t row_bytes(const Desc &d) {
    return round_up(d.in_channels_per_group() * wgmma_operand_bytes(gemm_math(d)), wgmma_step_bytes);
}

void set_channels(WgmmaOperands &o, const Desc &d, int32_t slab) {
    const int64_t bytes = wgmma_operand_bytes(gemm_math(d)), row = row_bytes(d);
    o.groups = narrow(d.groups);
    o.in_channels = narrow(d.in_channels_per_group());
    o.out_channels = narrow(d.out_channels_per_group());
    o.warp_channels = o.out_channels <= wgmma_rows / 2 ? 8 : 16;
    o.row_tiles = narrow(ceil_div(o.out_channels, wgmma_tile_channels(o)));
    o.slabs = narrow(ceil_div(row, slab));
    o.slab_bytes = slab;
    o.slab_elements = narrow(slab / bytes);
    o.plane_elements = narrow(row / bytes);
    o.last_steps = narrow((row - int64_t{o.slabs - 1} * slab) / wgmma_step_bytes);
    o.stage_bytes = narrow(gemm_planes(gemm_math(d)) * wgmma_rows * slab);
}

} // namespace

bool wgmma_has_residues(const PlanContext &c, WgmmaResidues residues) {
    return residues == WgmmaResidues::one || c.phases.axis[2].phases.size() >= 2;
}

std::array<int32_t, 2> wgmma_slabs(const Desc &d) {
    const int64_t row = row_bytes(d);
    std::array<int32_t, 2> slabs{};
    size_t count = 0;
    for (const int32_t slab : {128, 64, 32})
        if (count < slabs.size() && 2 * round_up(row, slab) <= 3 * row)
            slabs[count++] = slab;
    return slabs;
}

WgmmaOperands make_wgmma_operands(const PlanContext &c, WgmmaResidues residues, int32_t slab_bytes) {
    WgmmaOperands o{};
    o.residues = residues;
    for (size_t a = 0; a < 3; ++a)
        o.axis[a] = make_axis(c, a);
    set_passes(o);
    set_channels(o, c.desc, slab_bytes);
    return o;
}

int64_t wgmma_steps(const WgmmaOperands &o) {
    return int64_t{o.slabs - 1} * (o.slab_bytes / wgmma_step_bytes) + o.last_steps;
}

int64_t wgmma_packed_cell(const Desc &d, const WgmmaOperands &o) {
    return d.groups * gemm_planes(gemm_math(d)) * o.plane_elements * wgmma_operand_bytes(gemm_math(d));
}

// A matrix instruction multiplies 32 bytes of a cell, which must not be another group's; past the last channel the copy
// engine brings zeros.
bool wgmma_takes_input(const Desc &d) {
    const int64_t bytes = static_cast<int64_t>(element_size(d.dtype)), group = d.in_channels_per_group() * bytes;
    return bytes == 2 && d.layout == Layout::ndhwc && group % (d.groups == 1 ? 16 : wgmma_step_bytes) == 0;
}

} // namespace ct3d::cuda
