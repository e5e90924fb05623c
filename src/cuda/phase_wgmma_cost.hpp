// SPDX-License-Identifier: MIT
// What a tiling of the phase GEMM for sm_90a is estimated to take.
#pragma once

#include "phase_wgmma_tile.hpp"

namespace ct3d::cuda {

class WgmmaCost {
public:
    WgmmaCost(const PlanContext &, const Device &);

    static double jobs(const WgmmaCuts &); // no product of the counts overflows

    double seconds(const WgmmaTiling &) const;
    bool hands_over(const WgmmaTiling &) const; // whether spans are written by a warp of their own

private:
    // Cycles for one lattice plane of a job: of the tensor cores, of loading, of a warpgroup, which multiplies and puts
    // outputs together in turn, and of copying spans by the same; of a warp of its own for the same spans, and for row
    // spans of bias.
    struct Work {
        double tensor, load, warpgroup, copy, writer, bias;
    };

    double plane_taps() const; // of z, that a lattice plane reads, of all residues
    double row_taps(const WgmmaTiling &) const;
    double load_cycles(const WgmmaTiling &, double entries, double stages) const;
    double put_instructions(const WgmmaTiling &) const;
    double fill_instructions(const WgmmaTiling &) const;
    double copy_instructions(const WgmmaTiling &) const;
    static double warp_spans(const WgmmaTiling &);
    double bias_instructions(const WgmmaTiling &) const;
    Work work(const WgmmaTiling &) const;
    double job_cycles(const WgmmaTiling &) const;
    double packing(const WgmmaTiling &) const;

    const PlanContext &c_;
    const Desc &d_;
    const Device &device_;
    const double z_taps_;
};

} // namespace ct3d::cuda
