// SPDX-License-Identifier: MIT
// The emulated instructions of a warp against the element positions that the PTX ISA documents.
#include "kernels.hpp"
#include "tensor_core.hpp"
#include "warp.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

using standin::tests::run_warps;

namespace {

// Values that f16, bf16 and tf32 hold exactly, with exact products and sums.
float value(uint32_t i) { return static_cast<float>(static_cast<int>(i * 2654435761u >> 27) - 16) / 4; }

struct Problem {
    float a[16][16], b[16][8], c[16][8];

    explicit Problem(uint32_t seed) {
        uint32_t next = seed * 1000;
        for (auto *row : {&a[0][0], &b[0][0], &c[0][0]})
            for (uint32_t i = 0; i < (row == &a[0][0] ? 256u : 128u); ++i)
                row[i] = value(++next);
    }

    float expected(uint32_t row, uint32_t column, uint32_t depth) const {
        float sum = c[row][column];
        for (uint32_t k = 0; k < depth; ++k)
            sum += a[row][k] * b[k][column];
        return sum;
    }
};

using Encode = uint16_t (*)(float);
uint16_t to_bfloat(float v) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(v) >> 16); }

uint32_t pair(Encode encode, float low, float high) { return encode(low) | static_cast<uint32_t>(encode(high)) << 16; }

// Positions of the accumulators c0 .. c3, as documented for every m16n8 shape.
uint32_t c_row(uint32_t lane, uint32_t i) { return i < 2 ? lane >> 2 : (lane >> 2) + 8; }
uint32_t c_column(uint32_t lane, uint32_t i) { return (lane % 4) * 2 + (i & 1); }

void fill_c(const Problem &p, uint32_t lane, float (&c)[4]) {
    for (uint32_t i = 0; i < 4; ++i)
        c[i] = p.c[c_row(lane, i)][c_column(lane, i)];
}

void check_c(const Problem &p, uint32_t lane, const float (&c)[4], uint32_t depth) {
    for (uint32_t i = 0; i < 4; ++i)
        assert_true(c[i] == p.expected(c_row(lane, i), c_column(lane, i), depth));
}

using Mma = void (*)(float (&)[4], const uint32_t (&)[4], const uint32_t (&)[2]);

// m16n8k16: elements a0 .. a7 and b0 .. b3 of a lane, two to a register.
void check_k16(Mma mma, Encode encode) {
    const Problem p(1);
    run_warps(2, [&](uint32_t thread) {
        const uint32_t lane = thread % 32;
        float elements[8], weights[4], c[4];
        for (uint32_t i = 0; i < 8; ++i) {
            const uint32_t row = i < 2 || (i >= 4 && i < 6) ? lane >> 2 : (lane >> 2) + 8;
            const uint32_t column = (lane % 4) * 2 + (i & 1) + (i < 4 ? 0 : 8);
            elements[i] = p.a[row][column];
        }
        for (uint32_t i = 0; i < 4; ++i)
            weights[i] = p.b[(lane % 4) * 2 + (i & 1) + (i < 2 ? 0 : 8)][lane >> 2];
        uint32_t a[4], b[2];
        for (uint32_t i = 0; i < 4; ++i)
            a[i] = pair(encode, elements[2 * i], elements[2 * i + 1]);
        for (uint32_t i = 0; i < 2; ++i)
            b[i] = pair(encode, weights[2 * i], weights[2 * i + 1]);
        fill_c(p, lane, c);
        mma(c, a, b);
        check_c(p, lane, c, 16);
    });
}

void f16_fragments(void **) { check_k16(standin::mma_m16n8k16_f16, standin::float_to_half); }
void bf16_fragments(void **) { check_k16(standin::mma_m16n8k16_bf16, to_bfloat); }

// m16n8k8: the elements a0 .. a3 and b0, b1 of that.
void check_k8(void (*mma)(float (&)[4], const uint32_t (&)[2], uint32_t), Encode encode) {
    const Problem p(3);
    run_warps(2, [&](uint32_t thread) {
        const uint32_t lane = thread % 32, column = (lane % 4) * 2, row = lane >> 2;
        const uint32_t a[] = {pair(encode, p.a[row][column], p.a[row][column + 1]),
                              pair(encode, p.a[row + 8][column], p.a[row + 8][column + 1])};
        float c[4];
        fill_c(p, lane, c);
        mma(c, a, pair(encode, p.b[column][row], p.b[column + 1][row]));
        check_c(p, lane, c, 8);
    });
}

void f16_short_fragments(void **) { check_k8(standin::mma_m16n8k8_f16, standin::float_to_half); }
void bf16_short_fragments(void **) { check_k8(standin::mma_m16n8k8_bf16, to_bfloat); }

// m16n8k8: the low 13 bits of an operand do not count.
void tf32_fragments(void **) {
    const Problem p(2);
    run_warps(1, [&](uint32_t lane) {
        uint32_t a[4], b[2];
        float c[4];
        for (uint32_t i = 0; i < 4; ++i)
            a[i] = std::bit_cast<uint32_t>(p.a[(lane >> 2) + (i % 2 ? 8 : 0)][lane % 4 + (i < 2 ? 0 : 4)]) | 0x1fff;
        for (uint32_t i = 0; i < 2; ++i)
            b[i] = std::bit_cast<uint32_t>(p.b[lane % 4 + (i == 0 ? 0 : 4)][lane >> 2]) | 0x1000;
        fill_c(p, lane, c);
        standin::mma_m16n8k8_tf32(c, a, b);
        check_c(p, lane, c, 8);
    });
}

// Row r of matrix m begins at lane 8*m + r's address; each lane gets two neighbours of row lane/4, or of column lane/4.
void check_ldmatrix(bool transposed) {
    run_warps(1, [&](uint32_t lane) {
        auto *const shared = static_cast<uint16_t *>(standin::dynamic_shared());
        const uint32_t row_of_lane = (lane * 5 + 3) % 32; // anywhere
        for (uint32_t i = 0; i < 8; ++i)
            shared[row_of_lane * 8 + i] = static_cast<uint16_t>(lane * 8 + i);
        standin::barrier(0, 0);
        uint32_t r[4];
        standin::ldmatrix_x4(r, standin::shared_address(shared + row_of_lane * 8), transposed);
        for (uint32_t m = 0; m < 4; ++m)
            for (uint32_t e = 0; e < 2; ++e) {
                const uint32_t group = lane / 4, member = 2 * (lane % 4) + e;
                const uint32_t row = transposed ? member : group, column = transposed ? group : member;
                assert_int_equal(r[m] >> (16 * e) & 0xffff, (8 * m + row) * 8 + column);
            }
    });
}

void ldmatrix_positions(void **) {
    check_ldmatrix(false);
    check_ldmatrix(true);
}

// A row-major 16x16 tile loaded by ldmatrix is an A fragment; a column-major 16x16 one is two B fragments.
void ldmatrix_feeds_mma(void **) {
    const Problem p(3), q(3);
    run_warps(1, [&](uint32_t lane) {
        auto *const shared = static_cast<uint16_t *>(standin::dynamic_shared());
        uint16_t *const a_tile = shared, *const b_tile = shared + 256;
        for (uint32_t i = lane; i < 256; i += 32) {
            a_tile[i] = standin::float_to_half(p.a[i / 16][i % 16]);
            b_tile[i] = standin::float_to_half(i / 16 < 8 ? p.b[i % 16][i / 16] : 0);
        }
        standin::barrier(0, 0);
        uint32_t a[4], b[4];
        standin::ldmatrix_x4(a, standin::shared_address(a_tile + lane % 16 * 16 + lane / 16 * 8), false);
        standin::ldmatrix_x4(b, standin::shared_address(b_tile + lane % 8 * 16 + lane / 8 % 2 * 8 + lane / 16 * 128),
                             false);
        float c[4];
        fill_c(p, lane, c);
        standin::mma_m16n8k16_f16(c, a, {b[0], b[1]});
        check_c(p, lane, c, 16);
    });
}

// A lane's two neighbours of column lane/4 of each matrix, or of row lane/4, go to where ldmatrix takes them from.
void stmatrix_undoes_ldmatrix(void **) {
    for (const bool transposed : {false, true})
        run_warps(1, [&](uint32_t lane) {
            auto *const shared = static_cast<uint16_t *>(standin::dynamic_shared());
            const uint32_t own = standin::shared_address(shared + (lane * 5 + 3) % 32 * 8);
            const uint32_t given[] = {lane, lane << 16 | 7, ~lane, lane * 0x10001 + 5};
            standin::stmatrix_x4(own, given, transposed);
            uint32_t r[4];
            standin::ldmatrix_x4(r, own, transposed);
            for (uint32_t m = 0; m < 4; ++m)
                assert_int_equal(r[m], given[m]);
        });
}

void halves_are_converted(void **) {
    for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
        const uint32_t exponent = bits >> 10, fraction = bits & 0x3ff;
        const double exact =
            exponent ? std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25) : std::ldexp(fraction, -24);
        const double next = exact + std::ldexp(1, exponent ? static_cast<int>(exponent) - 25 : -24);
        const auto middle = static_cast<float>((exact + next) / 2);
        assert_true(static_cast<double>(standin::half_to_float(static_cast<uint16_t>(bits))) == exact);
        assert_true(static_cast<double>(standin::half_to_float(static_cast<uint16_t>(bits | 0x8000))) == -exact);
        assert_int_equal(standin::float_to_half(static_cast<float>(exact)), bits);
        assert_int_equal(standin::float_to_half(static_cast<float>(-exact)), bits | 0x8000);
        assert_int_equal(standin::float_to_half(middle), bits + (bits & 1));
        assert_int_equal(standin::float_to_half(std::nextafter(middle, 0.0f)), bits);
        assert_int_equal(standin::float_to_half(std::nextafter(middle, HUGE_VALF)), bits + 1);
    }
    assert_int_equal(standin::float_to_half(HUGE_VALF), 0x7c00);
    assert_true(std::isinf(standin::half_to_float(0x7c00)) && std::isnan(standin::half_to_float(0x7e00)));
    assert_true(std::isnan(standin::half_to_float(standin::float_to_half(NAN))));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(f16_fragments),        cmocka_unit_test(bf16_fragments),
        cmocka_unit_test(tf32_fragments),       cmocka_unit_test(ldmatrix_positions),
        cmocka_unit_test(f16_short_fragments),  cmocka_unit_test(bf16_short_fragments),
        cmocka_unit_test(ldmatrix_feeds_mma),   cmocka_unit_test(stmatrix_undoes_ldmatrix),
        cmocka_unit_test(halves_are_converted),
    };
    return cmocka_run_group_tests_name("standin_instructions", tests, nullptr, nullptr);
}
