// SPDX-License-Identifier: MIT
// The phase table: a transposed convolution split into correlations of stride 1.
//
// Per axis with stride S, dilation L, padding P and g = gcd(S, L), the outputs o = first_out + j*S of one residue
// (o+P) mod S share their taps k = first_tap + t*(S/g), t = 0 .. taps-1, and tap t of output j reads the input index
// first_in + j - t*(L/g), which is out of range at borders. Residues that no tap reaches are not listed: their
// outputs are only bias. A phase of the 3-D problem is a residue per axis.
#pragma once

#include "desc.hpp"

#include <vector>

namespace ct3d {

struct AxisPhase {
    int64_t first_out; // smallest output coordinate
    int64_t count;     // how many outputs, at least 1
    int64_t first_tap;
    int64_t taps;     // how many, at least 1
    int64_t first_in; // input index that tap 0 of output first_out reads; may be negative or past the end
};

// Input indices that an axis reads for the outputs j = 0 of its phases.
struct Reach {
    int64_t low, high;
};

struct AxisTable {
    std::vector<AxisPhase> phases; // in order of first_out
    int64_t out_step;              // S: from one output of a phase to the next
    int64_t tap_step;              // S/g: from one tap of a phase to the next
    int64_t in_step;               // L/g: from the input of one tap down to the next tap's
    double pairs;                  // (input, tap) pairs that land inside the output

    int64_t covered() const;                      // outputs that belong to a phase
    const AxisPhase *phase_of(int64_t out) const; // null where no tap reaches
    int64_t most_taps() const;                    // of a phase; 0 where there is none
    int64_t last_in(const AxisPhase &) const;     // input index that the last tap of output first_out reads
    Reach reach() const;                          // of all phases; 0 to 0 where there is none
};

struct PhaseTable {
    std::array<AxisTable, 3> axis;

    int64_t phases() const;         // phases with taps
    double multiplications() const; // of the whole problem, taps inside the input only
    double bias_only_share() const; // of the outputs, those that belong to no phase

    double scale; // batch * in_channels * out_channels / groups
    Extents out;
};

// The half-open range of j in [0, phase.count) for which tap t reads an input in [0, extent).
struct Range {
    int64_t begin, end;
};
Range valid_outputs(const AxisTable &, const AxisPhase &, int64_t tap, int64_t extent);

// The half-open range of taps that read an input in [0, extent) for at least one output j of [begin, end).
Range valid_taps(const AxisTable &, const AxisPhase &, int64_t begin, int64_t end, int64_t extent);

// The half-open range of inputs of an axis whose product with the tap lands inside the output; it may be empty.
Range landing_inputs(const Desc &, size_t axis, int64_t tap);

PhaseTable make_phase_table(const Desc &);

} // namespace ct3d
