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

private:
    // Cycles for one lattice plane of a job: of the tensor cores, of loading, and of a warpgroup, which multiplies and
    // writes in turn.
    struct Work {
        double tensor, load, warpgroup;
    };

    double plane_taps() const; // of z, that a lattice plane reads, of all residues
    double row_taps(const WgmmaTiling &) const;
    double load_cycles(const WgmmaTiling &, double entries, double stages) const;
    double put_instructions(const WgmmaTiling &) const;
    double write_instructions(const WgmmaTiling &) const;
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
