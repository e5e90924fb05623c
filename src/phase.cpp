// SPDX-License-Identifier: MIT
#include "phase.hpp"

#include "arithmetic.hpp"
#include "status.hpp"

#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <utility>

namespace ct3d {

namespace {

// Far more than any real stride makes; a table of them all must stay small.
constexpr int64_t most_phases = 1 << 20;

__extension__ using Wide = unsigned __int128;

// a * b mod m without overflow.
int64_t mul_mod(int64_t a, int64_t b, int64_t m) {
    return static_cast<int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % static_cast<Wide>(m));
}

// Sum over j in [0, n) of floor((a*j + b) / m), by the Euclidean algorithm on (a, m).
Wide floor_sum(Wide n, Wide m, Wide a, Wide b) {
    Wide sum = 0;
    for (;;) {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        const Wide top = a % m * n + b % m;
        if (n == 0 || top < m)
            return sum;
        n = top / m;
        b = top % m;
        a %= m;
        std::swap(a, m);
    }
}

// Pairs of an input i in [0, in) and a tap k in [0, kernel) with i*stride + k*dilation < bound. In closed form, since
// a legal kernel may have more taps than a loop should count.
Wide pairs_below(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t bound) {
    if (bound <= 0)
        return 0;
    const int64_t taps = std::min(kernel, ceil_div(bound, dilation));
    const int64_t whole = std::clamp<int64_t>(ceil_div(bound - (in - 1) * stride, dilation), 0, taps);
    const auto wide = [](int64_t v) { return static_cast<Wide>(v); };
    // From the last tap down, so that all terms are positive.
    return wide(whole) * wide(in) + floor_sum(wide(taps - whole), wide(stride), wide(dilation),
                                              wide(bound - (taps - 1) * dilation + stride - 1));
}

// Pairs that land inside the output. Those that do not lie below its first element or above its last; counted from the
// last input and tap, the latter look like the former.
double landing_pairs(const Desc &d, size_t axis) {
    const auto below = [&](int64_t bound) {
        return pairs_below(d.in[axis], d.kernel[axis], d.stride[axis], d.dilation[axis], bound);
    };
    const Wide all = static_cast<Wide>(d.in[axis]) * static_cast<Wide>(d.kernel[axis]);
    return static_cast<double>(all - below(d.pad_begin[axis]) - below(d.pad_end[axis] - d.output_padding[axis]));
}

// Sums and products of these below never overflow; no memory holds what they would describe.
void check_magnitudes(const Desc &d) {
    constexpr int64_t most = int64_t{1} << 48;
    const struct {
        const char *field;
        const Extents &values;
    } fields[] = {{"in", d.in},
                  {"out", d.out},
                  {"kernel", d.kernel},
                  {"stride", d.stride},
                  {"dilation", d.dilation},
                  {"pad_begin", d.pad_begin},
                  {"pad_end", d.pad_end},
                  {"output_padding", d.output_padding}};
    for (const auto &f : fields)
        for (size_t axis = 0; axis < 3; ++axis)
            if (f.values[axis] > most)
                throw Error(CT3D_UNSUPPORTED, "%s[%zu] is %" PRId64 ", more than %" PRId64, f.field, axis,
                            f.values[axis], most);
}

AxisTable make_axis(const Desc &d, size_t axis) {
    const int64_t kernel = d.kernel[axis], stride = d.stride[axis], dilation = d.dilation[axis];
    const int64_t pad = d.pad_begin[axis], out = d.out[axis];
    const int64_t g = std::gcd(stride, dilation);

    AxisTable table{{}, stride, stride / g, dilation / g, 0};
    // Taps k and k + S/g share their residue, so the first S/g taps name all residues that have taps.
    const int64_t residues = std::min(kernel, stride / g);
    if (residues > most_phases)
        throw Error(CT3D_UNSUPPORTED,
                    "kernel[%zu] is %" PRId64 " and stride[%zu] is %" PRId64 ": more than %" PRId64
                    " phases on an axis",
                    axis, kernel, axis, stride, most_phases);
    for (int64_t first_tap = 0; first_tap < residues; ++first_tap) {
        const int64_t residue = mul_mod(first_tap, dilation, stride);
        const int64_t first_out = (residue + stride - pad % stride) % stride;
        if (first_out >= out)
            continue;
        table.phases.push_back({first_out, (out - 1 - first_out) / stride + 1, first_tap,
                                (kernel - 1 - first_tap) / (stride / g) + 1,
                                (first_out + pad - first_tap * dilation) / stride});
    }
    std::sort(table.phases.begin(), table.phases.end(),
              [](const AxisPhase &a, const AxisPhase &b) { return a.first_out < b.first_out; });
    table.pairs = landing_pairs(d, axis);
    return table;
}

} // namespace

int64_t AxisTable::covered() const {
    return std::accumulate(phases.begin(), phases.end(), int64_t{0},
                           [](int64_t sum, const AxisPhase &p) { return sum + p.count; });
}

const AxisPhase *AxisTable::phase_of(int64_t out) const {
    const int64_t residue = out % out_step;
    const auto phase = std::lower_bound(phases.begin(), phases.end(), residue,
                                        [](const AxisPhase &p, int64_t r) { return p.first_out < r; });
    return phase != phases.end() && phase->first_out == residue ? &*phase : nullptr;
}

int64_t AxisTable::most_taps() const {
    int64_t most = 0;
    for (const AxisPhase &p : phases)
        most = std::max(most, p.taps);
    return most;
}

int64_t AxisTable::last_in(const AxisPhase &phase) const { return phase.first_in - (phase.taps - 1) * in_step; }

Reach AxisTable::reach() const {
    if (phases.empty())
        return {0, 0};
    Reach reach{INT64_MAX, INT64_MIN};
    for (const AxisPhase &p : phases) {
        reach.low = std::min(reach.low, last_in(p));
        reach.high = std::max(reach.high, p.first_in);
    }
    return reach;
}

int64_t PhaseTable::phases() const {
    return static_cast<int64_t>(axis[0].phases.size() * axis[1].phases.size() * axis[2].phases.size());
}

double PhaseTable::multiplications() const {
    double product = scale;
    for (const AxisTable &a : axis)
        product *= a.pairs;
    return product;
}

double PhaseTable::bias_only_share() const {
    double covered = 1;
    for (size_t i = 0; i < 3; ++i)
        covered *= static_cast<double>(axis[i].covered()) / static_cast<double>(out[i]);
    return 1 - covered;
}

Range valid_outputs(const AxisTable &table, const AxisPhase &phase, int64_t tap, int64_t extent) {
    const int64_t first = phase.first_in - tap * table.in_step;
    const int64_t begin = std::clamp<int64_t>(-first, 0, phase.count);
    return {begin, std::clamp(extent - first, begin, phase.count)};
}

Range valid_taps(const AxisTable &table, const AxisPhase &phase, int64_t begin, int64_t end, int64_t extent) {
    // Tap t reads first_in + j - t*in_step, which falls as t grows: the first taps may lie past the end of the input
    // for every j, the last ones before its start.
    const int64_t lowest = phase.first_in + begin, highest = phase.first_in + end - 1;
    const int64_t first = std::clamp<int64_t>(ceil_div(lowest - (extent - 1), table.in_step), 0, phase.taps);
    return {first, std::clamp(floor_div(highest, table.in_step) + 1, first, phase.taps)};
}

Range landing_inputs(const Desc &d, size_t axis, int64_t tap) {
    const int64_t low = d.pad_begin[axis] - tap * d.dilation[axis]; // i * stride - low must be in [0, out)
    const int64_t begin = std::clamp<int64_t>(ceil_div(low, d.stride[axis]), 0, d.in[axis]);
    return {begin, std::clamp(ceil_div(low + d.out[axis], d.stride[axis]), begin, d.in[axis])};
}

PhaseTable make_phase_table(const Desc &d) {
    check_magnitudes(d);
    PhaseTable table{{make_axis(d, 0), make_axis(d, 1), make_axis(d, 2)}, 0, d.out};
    table.scale = static_cast<double>(d.batch) * static_cast<double>(d.in_channels) *
                  static_cast<double>(d.out_channels_per_group());
    return table;
}

} // namespace ct3d
