// SPDX-License-Identifier: MIT
// The phase table against the definition, by brute force: every (input, tap) pair lands exactly once, where it should.
#include "desc.hpp"
#include "phase.hpp"
#include "status.hpp"
#include "support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace {

using ct3d::AxisPhase;
using ct3d::AxisTable;
using ct3d::Desc;
using ct3d::PhaseTable;

constexpr int rounds = 20000;

struct Axis {
    int64_t in, kernel, stride, dilation, pad_begin, pad_end, output_padding;
    int64_t out() const {
        return (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pad_begin - pad_end;
    }
};

class Random {
public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    int64_t below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(engine_); }
    int64_t from(int64_t least, int64_t most) { return least + below(most - least + 1); }

    // Half of the axes have a common factor in stride and dilation; a third have a stride larger than the kernel.
    Axis axis() {
        for (;;) {
            Axis a{from(1, 8), from(1, 9), from(1, 9), from(1, 9), from(0, 12), from(0, 12), 0};
            if (below(2)) {
                const int64_t common = from(2, 4);
                a.stride = common * from(1, 4);
                a.dilation = common * from(1, 4);
            }
            if (below(3) == 0)
                a.stride = a.kernel + from(1, 8);
            a.output_padding = below(std::max(a.stride, a.dilation));
            if (a.out() >= 1)
                return a;
        }
    }

private:
    std::mt19937_64 engine_;
};

ct3d_problem problem_of(const std::array<Axis, 3> &axes) {
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    p.batch = 2;
    p.in_channels = 6;
    p.out_channels = 4;
    p.groups = 2;
    for (size_t i = 0; i < 3; ++i) {
        p.in[i] = axes[i].in;
        p.kernel[i] = axes[i].kernel;
        p.stride[i] = axes[i].stride;
        p.dilation[i] = axes[i].dilation;
        p.pad_begin[i] = axes[i].pad_begin;
        p.pad_end[i] = axes[i].pad_end;
        p.output_padding[i] = axes[i].output_padding;
    }
    return p;
}

// What the definition says of an axis: (input, tap) -> output.
using Pairs = std::map<std::pair<int64_t, int64_t>, int64_t>;

Pairs landing_pairs(const Axis &a) {
    Pairs pairs;
    for (int64_t i = 0; i < a.in; ++i)
        for (int64_t k = 0; k < a.kernel; ++k)
            if (const int64_t o = i * a.stride - a.pad_begin + k * a.dilation; o >= 0 && o < a.out())
                pairs[{i, k}] = o;
    return pairs;
}

std::set<int64_t> outputs_a_residue_of_some_tap_reaches(const Axis &a) {
    std::set<int64_t> outputs;
    for (int64_t o = 0; o < a.out(); ++o)
        for (int64_t k = 0; k < a.kernel; ++k)
            if ((o + a.pad_begin - k * a.dilation) % a.stride == 0)
                outputs.insert(o);
    return outputs;
}

void check_pairs(const AxisTable &table, const Axis &a) {
    Pairs expected = landing_pairs(a);
    assert_int_equal(table.pairs, expected.size());
    std::set<int64_t> seen;
    int64_t previous = -1;
    for (const AxisPhase &phase : table.phases) {
        assert_true(phase.first_out > previous);
        assert_true(phase.count >= 1 && phase.taps >= 1);
        previous = phase.first_out;
        for (int64_t j = 0; j < phase.count; ++j) {
            const int64_t o = phase.first_out + j * table.out_step;
            assert_true(o >= 0 && o < a.out());
            assert_true(seen.insert(o).second);
            for (int64_t t = 0; t < phase.taps; ++t) {
                const int64_t k = phase.first_tap + t * table.tap_step;
                const int64_t i = phase.first_in + j - t * table.in_step;
                assert_true(k >= 0 && k < a.kernel);
                if (i < 0 || i >= a.in)
                    continue;
                const auto pair = expected.find({i, k});
                assert_true(pair != expected.end()); // neither foreign nor landed before
                assert_int_equal(pair->second, o);
                expected.erase(pair);
            }
        }
    }
    assert_true(expected.empty());
    assert_true(seen == outputs_a_residue_of_some_tap_reaches(a));
    assert_int_equal(table.covered(), seen.size());
}

void check_valid_outputs(const AxisTable &table, const AxisPhase &phase, int64_t extent) {
    for (int64_t t = 0; t < phase.taps; ++t) {
        const ct3d::Range range = ct3d::valid_outputs(table, phase, t, extent);
        assert_true(range.begin >= 0 && range.begin <= range.end && range.end <= phase.count);
        for (int64_t j = 0; j < phase.count; ++j) {
            const int64_t i = phase.first_in + j - t * table.in_step;
            assert_int_equal(j >= range.begin && j < range.end, i >= 0 && i < extent);
        }
    }
}

void check_valid_taps(const AxisTable &table, const AxisPhase &phase, int64_t extent, Random &random) {
    const int64_t begin = random.below(phase.count);
    const int64_t end = random.from(begin + 1, phase.count);
    const ct3d::Range range = ct3d::valid_taps(table, phase, begin, end, extent);
    assert_true(range.begin >= 0 && range.begin <= range.end && range.end <= phase.taps);
    for (int64_t t = 0; t < phase.taps; ++t) {
        bool reads = false;
        for (int64_t j = begin; j < end; ++j) {
            const int64_t i = phase.first_in + j - t * table.in_step;
            reads |= i >= 0 && i < extent;
        }
        assert_int_equal(t >= range.begin && t < range.end, reads);
    }
}

void check_landing_inputs(const Desc &d, size_t axis, const Axis &a) {
    for (int64_t k = 0; k < a.kernel; ++k) {
        const ct3d::Range range = ct3d::landing_inputs(d, axis, k);
        assert_true(range.begin >= 0 && range.begin <= range.end && range.end <= a.in);
        for (int64_t i = 0; i < a.in; ++i) {
            const int64_t o = i * a.stride - a.pad_begin + k * a.dilation;
            assert_int_equal(i >= range.begin && i < range.end, o >= 0 && o < a.out());
        }
    }
}

void every_pair_lands_exactly_once(void **) {
    Random random(test_seed());
    int empty = 0, sparse = 0, common = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::array<Axis, 3> axes{random.axis(), random.axis(), random.axis()};
        const ct3d_problem p = problem_of(axes);
        const Desc desc = ct3d::make_desc(&p);
        const PhaseTable table = ct3d::make_phase_table(desc);
        double products = 2 * 6 * 4 / 2, covered = 1;
        int64_t phases = 1;
        for (size_t i = 0; i < 3; ++i) {
            const Axis &a = axes[i];
            check_pairs(table.axis[i], a);
            check_landing_inputs(desc, i, a);
            for (const AxisPhase &phase : table.axis[i].phases) {
                check_valid_outputs(table.axis[i], phase, a.in);
                check_valid_taps(table.axis[i], phase, a.in, random);
            }
            products *= static_cast<double>(landing_pairs(a).size());
            covered *=
                static_cast<double>(outputs_a_residue_of_some_tap_reaches(a).size()) / static_cast<double>(a.out());
            phases *= static_cast<int64_t>(table.axis[i].phases.size());
            empty += table.axis[i].phases.empty();
            sparse += a.stride > a.kernel;
            common += std::gcd(a.stride, a.dilation) > 1;
        }
        assert_int_equal(table.phases(), phases);
        assert_true(table.multiplications() == products);
        assert_true(std::abs(table.bias_only_share() - (1 - covered)) < 1e-12);
    }
    print_message("of %d axes: %d without any phase, %d with stride > kernel, %d with gcd > 1\n", 3 * rounds, empty,
                  sparse, common);
    assert_true(empty > 100 && sparse > rounds / 2 && common > rounds / 2);
}

PhaseTable table_of(const Axis &a) {
    const ct3d_problem p = problem_of({a, Axis{1, 1, 1, 1, 0, 0, 0}, Axis{1, 1, 1, 1, 0, 0, 0}});
    return ct3d::make_phase_table(ct3d::make_desc(&p));
}

// k3 s2 p1 d2: all taps of an axis fall on every second output, so that 1 phase of 8 is active.
void headline_case_has_one_phase_of_eight(void **) {
    const Axis a{16, 3, 2, 2, 1, 1, 0};
    const ct3d_problem p = problem_of({a, a, a});
    const PhaseTable table = ct3d::make_phase_table(ct3d::make_desc(&p));
    assert_int_equal(table.phases(), 1);
    assert_int_equal(table.axis[0].phases[0].taps, 3);
    assert_int_equal(table.axis[0].phases[0].first_out, 1);
    assert_int_equal(table.axis[0].phases[0].count, 16);
    assert_true(std::abs(table.bias_only_share() - (1 - 16.0 * 16 * 16 / (33.0 * 33 * 33))) < 1e-12);
}

void huge_stride_stays_small(void **) {
    const int64_t stride = 1000000000;
    const PhaseTable table = table_of({3, 5, stride, 1, 0, 0, stride - 1});
    assert_int_equal(table.axis[0].phases.size(), 5);
    assert_int_equal(table.axis[0].pairs, 15);
    assert_int_equal(table.axis[0].covered(), 15 + 4); // the output padding ends after a fourth start of four phases
    assert_true(table.bias_only_share() > 0.999999);

    const PhaseTable shifted = table_of({2, 2, stride, stride / 2, stride / 4, 0, 0});
    assert_int_equal(shifted.axis[0].phases.size(), 2);
    assert_int_equal(shifted.axis[0].phases[0].first_out, stride / 4);
    assert_int_equal(shifted.axis[0].pairs, 3);
}

// A kernel with more taps than can be counted one by one, cut to a single output.
void huge_kernel_is_not_walked(void **) {
    const int64_t kernel = int64_t{1} << 48;
    const PhaseTable dense = table_of({1, kernel, 1, 1, kernel - 1, 0, 0});
    assert_int_equal(dense.axis[0].phases.size(), 1);
    assert_true(dense.axis[0].pairs == 1);
    try {
        const PhaseTable strided = table_of({1, kernel, kernel, 1, kernel - 1, 0, 0});
        assert_int_equal(strided.axis[0].phases.size(), 1);
    } catch (const ct3d::Error &error) {
        assert_int_equal(error.status(), CT3D_UNSUPPORTED);
    }
}

// What no memory could hold is refused by name, so that no sum or product overflows.
void extents_past_2_to_48_are_refused(void **) {
    const int64_t stride = (int64_t{1} << 48) + 1;
    try {
        table_of({1, 1, stride, 1, 0, 0, 0});
        fail_msg("accepted");
    } catch (const ct3d::Error &error) {
        assert_int_equal(error.status(), CT3D_UNSUPPORTED);
        assert_non_null(std::strstr(error.message(), "stride[0] is 281474976710657"));
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_lands_exactly_once),    cmocka_unit_test(headline_case_has_one_phase_of_eight),
        cmocka_unit_test(huge_stride_stays_small),          cmocka_unit_test(huge_kernel_is_not_walked),
        cmocka_unit_test(extents_past_2_to_48_are_refused),
    };
    return cmocka_run_group_tests_name("phase", tests, nullptr, nullptr);
}
