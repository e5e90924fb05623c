// SPDX-License-Identifier: MIT
// The emulated matrix instructions of a wave against the element positions that AMD's documents give, as formulas:
// where A[i][k], B[k][j] and D[i][j] are.
#include "faults.hpp"
#include "mfma.hpp"
#include "warp.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>

using standin::tests::expect_fault;
using standin::tests::run_warps;

namespace {

constexpr uint32_t wave = 64, warps_of_wave = 2, size = 16, most_depth = 16;

struct Place {
    uint32_t lane, element;
};

// Of A[i][k]; B[k][j] is where A[j][k] is.
Place place_of_16_bits(uint32_t i, uint32_t k) { return {i + 16 * (k / 4), k % 4}; }
Place place_of_xf32(uint32_t i, uint32_t k) { return {i + 16 * (k / 2), k % 2}; }
Place place_of_one(uint32_t i, uint32_t k) { return {i + 16 * k, 0}; }

// Of D[i][j].
Place place_of_sum(uint32_t i, uint32_t j) { return {j + 16 * (i / 4), i % 4}; }

uint64_t half_bits(float v) { // of small integers
    const auto bits = std::bit_cast<uint32_t>(v);
    return v == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
}
uint64_t bfloat_bits(float v) { return std::bit_cast<uint32_t>(v) >> 16; }
uint64_t float_bits(float v) { return std::bit_cast<uint32_t>(v); }

struct Type {
    uint32_t depth, bits; // of an element
    Place (*place)(uint32_t, uint32_t);
    uint64_t (*encode)(float);
    void (*multiply)(float (&)[4], uint64_t, uint64_t);
};
constexpr Type f16{16, 16, place_of_16_bits, half_bits, standin::mfma_f32_16x16x16_f16};
constexpr Type bf16{16, 16, place_of_16_bits, bfloat_bits, standin::mfma_f32_16x16x16_bf16};
constexpr Type xf32{8, 32, place_of_xf32, float_bits, standin::mfma_f32_16x16x8_xf32};
constexpr Type f32{4, 32, place_of_one, float_bits, [](float (&d)[4], uint64_t a, uint64_t b) {
                       standin::mfma_f32_16x16x4_f32(d, std::bit_cast<float>(static_cast<uint32_t>(a)),
                                                     std::bit_cast<float>(static_cast<uint32_t>(b)));
                   }};

struct Matrices {
    float a[size][most_depth] = {}, b[most_depth][size] = {}, d[size][size] = {};
};

// What the lanes hold.
struct Registers {
    uint64_t a[wave] = {}, b[wave] = {};
    float d[wave][4];
};

Registers spread(const Type &t, const Matrices &m) {
    Registers r;
    for (uint32_t i = 0; i < size; ++i) {
        for (uint32_t k = 0; k < t.depth; ++k) {
            const Place p = t.place(i, k);
            r.a[p.lane] |= t.encode(m.a[i][k]) << (t.bits * p.element);
            r.b[p.lane] |= t.encode(m.b[k][i]) << (t.bits * p.element);
        }
        for (uint32_t j = 0; j < size; ++j)
            r.d[place_of_sum(i, j).lane][place_of_sum(i, j).element] = m.d[i][j];
    }
    return r;
}

void run(const Type &t, Registers &r) {
    run_warps(warps_of_wave, [&](uint32_t lane) { t.multiply(r.d[lane], r.a[lane], r.b[lane]); });
}

void check(const Type &t, const Matrices &m) {
    Registers r = spread(t, m);
    run(t, r);
    for (uint32_t i = 0; i < size; ++i)
        for (uint32_t j = 0; j < size; ++j) {
            float expected = m.d[i][j];
            for (uint32_t k = 0; k < t.depth; ++k)
                expected += m.a[i][k] * m.b[k][j];
            const float got = r.d[place_of_sum(i, j).lane][place_of_sum(i, j).element];
            if (got != expected)
                fail_msg("D[%u][%u] is %g, expected %g", i, j, static_cast<double>(got), static_cast<double>(expected));
        }
}

float small_integer(uint32_t i) { return static_cast<float>(static_cast<int>(i * 2654435761u >> 27) - 16); }

// Each element of an operand alone, against numbers that tell where they stand.
void check_type(const Type &t) {
    for (uint32_t i = 0; i < size; ++i)
        for (uint32_t k = 0; k < t.depth; ++k) {
            Matrices left, right;
            left.a[i][k] = right.b[k][i] = 1;
            for (uint32_t n = 0; n < size * t.depth; ++n)
                left.b[n / size][n % size] = right.a[n % size][n / size] = static_cast<float>(n);
            check(t, left);
            check(t, right);
        }
    uint32_t next = 0;
    for (int again = 0; again < 20; ++again) {
        Matrices m;
        for (uint32_t n = 0; n < size * size; ++n) {
            m.a[n / size][n % most_depth] = small_integer(++next);
            m.b[n % most_depth][n / size] = small_integer(++next);
            m.d[n / size][n % size] = small_integer(++next);
        }
        check(t, m);
    }
}

void use(const char *arch) { setenv("CT3D_STANDIN_HIP_ARCH", arch, 1); }

void elements_are_where_the_documents_say(void **) {
    for (const char *arch : {"gfx90a", "gfx942"}) {
        use(arch);
        check_type(f16);
        check_type(bf16);
        check_type(f32);
    }
    check_type(xf32);
}

// D[0][0] of a lone product of the bits, on top of a sum.
float product(const Type &t, uint64_t a, uint64_t b, float sum = 0) {
    Registers r = spread(t, {});
    r.a[0] = a;
    r.b[0] = b;
    r.d[0][0] = sum;
    run(t, r);
    return r.d[0][0];
}

void only_cdna2_flushes_subnormals(void **) {
    constexpr uint64_t half_subnormal = 0x03ff, half_normal = 0x0400, half_one = 0x3c00, half_ten = 0x4900;
    constexpr uint64_t bfloat_subnormal = 0x007f, bfloat_normal = 0x0080, bfloat_one = 0x3f80, bfloat_big = 0x7f00;
    for (const bool flushes : {true, false}) {
        use(flushes ? "gfx90a" : "gfx942");
        const float kept = flushes ? 0 : 1;
        assert_true(product(f16, half_subnormal, half_ten) == kept * 0x3ffp-24f * 10);
        assert_true(product(f16, half_ten, 0x8000 | half_subnormal) == -kept * 0x3ffp-24f * 10);
        assert_true(product(f16, half_normal, half_one) == 0x1p-14f);
        assert_true(product(bf16, bfloat_subnormal, bfloat_big) == kept * 0x7fp-133f * 0x1p127f);
        assert_true(product(bf16, bfloat_big, bfloat_subnormal) == kept * 0x7fp-133f * 0x1p127f);
        assert_true(product(bf16, bfloat_normal, bfloat_one) == 0x1p-126f);
        assert_true(product(f16, 0, 0, 0x1p-130f) == kept * 0x1p-130f);
        assert_true(product(f32, float_bits(0x1p-130f), float_bits(0x1p10f)) == 0x1p-120f);
        assert_true(product(f32, float_bits(0x1p-130f), float_bits(1)) == 0x1p-130f);
    }
}

// The low 13 bits do not count; a kernel that needs the nearest operand rounds it.
void xf32_operands_are_cut(void **) {
    use("gfx942");
    assert_true(product(xf32, float_bits(1 + 0x1p-10f), float_bits(1)) == 1 + 0x1p-10f);
    assert_true(product(xf32, float_bits(1 + 0x1p-10f + 0x1fffp-23f), float_bits(1)) == 1 + 0x1p-10f);
    assert_true(product(xf32, float_bits(1), float_bits(-1 - 0x1fffp-23f)) == -1);
}

void f32_steps_are_fused(void **) {
    use("gfx90a");
    const float almost_one = 1 - 0x1p-12f;
    assert_true(product(f32, float_bits(almost_one), float_bits(almost_one), -1) == -0x1p-11f + 0x1p-24f);
}

void two_waves_do_not_mix(void **) {
    use("gfx90a");
    float d[2 * wave][4] = {};
    run_warps(2 * warps_of_wave, [&](uint32_t thread) {
        standin::mfma_f32_16x16x4_f32(d[thread], static_cast<float>(thread / wave + 1), 1);
    });
    for (uint32_t thread = 0; thread < 2 * wave; ++thread)
        for (const float sum : d[thread])
            assert_true(sum == (thread < wave ? 4 : 8));
}

// Functions of 32 lanes, as sources for all vendors use them, in waves of 64 and of 32.
void groups_of_32_lanes_exchange_values(void **) {
    for (const char *arch : {"gfx90a", "gfx1100"}) {
        use(arch);
        run_warps(4, [](uint32_t thread) {
            const uint32_t lane = thread % 32, first = thread - lane, all = 0xffffffff;
            assert_int_equal(__shfl_sync(all, thread, 5), first + 5);
            assert_int_equal(__shfl_xor_sync(all, thread, 9), thread ^ 9);
            assert_int_equal(__shfl_up_sync(all, thread, 4), lane < 4 ? thread : thread - 4);
            assert_int_equal(__shfl_down_sync(all, thread, 4), lane < 28 ? thread + 4 : thread);
            assert_int_equal(__ballot_sync(all, lane % 3 == 0), 0x49249249);
            if (thread / 32 == 1) // by itself
                __syncwarp();
            if (lane < 16)
                assert_int_equal(__shfl_xor_sync(0xffff, thread, 1), thread ^ 1);
        });
    }
}

void faults_are_reported(void **) {
    const auto multiply = [](const Type &t) {
        float d[4] = {};
        t.multiply(d, 0, 0);
    };
    use("gfx90a");
    expect_fault("lanes 0xffffffffffffffef of a warp wait", [&] {
        run_warps(warps_of_wave, [&](uint32_t lane) {
            if (lane != 4)
                multiply(f16);
        });
    });
    expect_fault("lanes 0xffffffff of a warp wait", [&] { run_warps(1, [&](uint32_t) { multiply(f32); }); });
    expect_fault("different collectives",
                 [&] { run_warps(warps_of_wave, [&](uint32_t lane) { multiply(lane == 9 ? bf16 : f16); }); });
    expect_fault("gfx90a has no v_mfma_f32_16x16x8_xf32",
                 [&] { run_warps(warps_of_wave, [&](uint32_t) { multiply(xf32); }); });
    use("gfx1100");
    expect_fault("gfx1100 has no v_mfma_f32_16x16x16_f16",
                 [&] { run_warps(warps_of_wave, [&](uint32_t) { multiply(f16); }); });
    use("gfx803");
    expect_fault("gfx803 has no v_mfma_f32_16x16x4_f32",
                 [&] { run_warps(warps_of_wave, [&](uint32_t) { multiply(f32); }); });
    use("gfx942");
    expect_fault("of dynamic shared memory", [] {
        run_warps(
            1, [](uint32_t) {}, (64 << 10) + 1);
    });
    expect_fault("more than 65536 bytes of shared memory", [] {
        run_warps(
            1,
            [](uint32_t) {
                static int variable[4];
                standin::use_shared(variable, sizeof variable);
            },
            64 << 10);
    });
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_where_the_documents_say),
        cmocka_unit_test(only_cdna2_flushes_subnormals),
        cmocka_unit_test(xf32_operands_are_cut),
        cmocka_unit_test(f32_steps_are_fused),
        cmocka_unit_test(two_waves_do_not_mix),
        cmocka_unit_test(groups_of_32_lanes_exchange_values),
        cmocka_unit_test(faults_are_reported),
    };
    return cmocka_run_group_tests_name("standin_mfma", tests, nullptr, nullptr);
}
