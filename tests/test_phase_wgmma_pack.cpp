// SPDX-License-Identifier: MIT
// The packing for the phase GEMM for sm_90a, run on the host, against the layout that its parameters document.
#include "cuda/phase_wgmma_pack.hpp"
#include "standin/kernels.hpp"
#include "support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace ct3d::cuda;

namespace {

constexpr size_t guard_bytes = 64;
constexpr uint8_t untouched = 0xa5;

struct Case {
    GemmMath math;
    WgmmaResidues residues;
    int32_t slab_bytes, groups, in_channels, out_channels, batch;
    int32_t kernel[3], stride[3], dilation[3], padding[3], cells;
    bool channels_last, extra_row_tile;
    size_t x_offset; // elements from an address that is a multiple of 16

    int32_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

std::mt19937 random_numbers;
int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution(low, high)(random_numbers); }

Case draw_case(GemmMath math, WgmmaResidues residues, int32_t slab_bytes) {
    Case c{};
    c.math = math;
    c.residues = residues;
    c.slab_bytes = slab_bytes;
    c.groups = draw(1, 3);
    c.in_channels = draw(0, 1) ? draw(1, 12) * 8 : draw(1, 100);
    c.out_channels = draw(1, 150);
    c.batch = draw(1, 2);
    for (size_t a = 0; a < 3; ++a) {
        c.kernel[a] = draw(1, 4);
        c.stride[a] = draw(1, 3);
        c.dilation[a] = draw(1, 2);
        c.padding[a] = draw(0, 2);
    }
    c.cells = draw(0, 1) ? draw(1, 40) * 8 : draw(1, 600);
    c.channels_last = draw(0, 1);
    c.extra_row_tile = draw(0, 1);
    c.x_offset = draw(0, 2) ? 0 : 1;
    return c;
}

// ---- the parameters

WgmmaAxis make_axis(const Case &c, size_t a) {
    WgmmaAxis axis{};
    axis.stride = c.stride[a];
    axis.kernel = c.kernel[a];
    axis.tap_step = 0;
    for (int32_t r = 0; r < c.stride[a]; ++r) {
        WgmmaPhase &phase = axis.phase[r];
        int32_t last = -1;
        for (int32_t k = 0; k < c.kernel[a]; ++k)
            if ((k * c.dilation[a] - r - c.padding[a]) % c.stride[a] == 0) {
                if (last >= 0)
                    axis.tap_step = k - last;
                else
                    phase = {0, 0, axis.all_taps, k};
                last = k;
                ++phase.taps;
            }
        axis.all_taps += phase.taps;
    }
    return axis;
}

void add_passes(WgmmaOperands &o) {
    const WgmmaAxis &x = o.axis[2];
    for (int32_t r = 0; r < x.stride; ++r) {
        const int32_t taps = x.phase[r].taps;
        if (taps == 0)
            continue;
        const bool joins = o.residues != WgmmaResidues::one && o.passes > 0 && o.pass[o.passes - 1].residues == 1;
        WgmmaPass &pass = o.pass[joins ? o.passes - 1 : o.passes++];
        if (!joins)
            pass.earlier = o.pass_taps;
        pass.residue[pass.residues++] = r;
        pass.taps += taps;
        o.pass_taps += taps;
    }
}

int32_t divide_up(int32_t a, int32_t b) { return (a + b - 1) / b; }

WgmmaOperands make_operands(const Case &c) {
    WgmmaOperands o{};
    for (size_t a = 0; a < 3; ++a)
        o.axis[a] = make_axis(c, a);
    o.residues = c.residues;
    add_passes(o);
    o.groups = c.groups;
    o.in_channels = c.in_channels;
    o.out_channels = c.out_channels;
    o.warp_channels = c.out_channels <= 32 ? 8 : 16;
    o.row_tiles = divide_up(c.out_channels, 4 * o.warp_channels) + c.extra_row_tile;
    const int32_t bytes = wgmma_operand_bytes(c.math);
    o.slab_bytes = c.slab_bytes;
    o.slab_elements = c.slab_bytes / bytes;
    o.slabs = divide_up(c.in_channels, o.slab_elements);
    o.plane_elements = divide_up(c.in_channels, 32 / bytes) * (32 / bytes);
    o.stage_bytes = gemm_planes(c.math) * 64 * c.slab_bytes;
    return o;
}

// ---- what is expected

// To so many bits, ties to even or away from zero.
float round_to_bits(float v, int bits, bool away) {
    int exponent;
    if (v == 0)
        return v;
    std::frexp(v, &exponent);
    const double scaled = std::ldexp(static_cast<double>(v), bits - exponent);
    return static_cast<float>(std::ldexp(away ? std::round(scaled) : std::nearbyint(scaled), exponent - bits));
}

// The bytes of one element of the tensor as an operand.
void expect_element(GemmMath math, const uint8_t *element, int plane, uint8_t *operand) {
    if (math == GemmMath::f16 || math == GemmMath::bf16) {
        std::memcpy(operand, element, 2);
        return;
    }
    float v;
    std::memcpy(&v, element, 4);
    if (math == GemmMath::tf32) {
        v = round_to_bits(v, 11, true);
        std::memcpy(operand, &v, 4);
        return;
    }
    for (int i = 0; i < plane; ++i)
        v -= round_to_bits(v, 8, false);
    const uint32_t bits = std::bit_cast<uint32_t>(round_to_bits(v, 8, false)) >> 16;
    std::memcpy(operand, &bits, 2);
}

struct Tensors {
    const uint8_t *x, *w;
    size_t element;
};

const uint8_t *x_element(const Case &c, const Tensors &t, int64_t sample, int64_t channel, int64_t cell) {
    const int64_t all = c.groups * c.in_channels;
    const int64_t at =
        c.channels_last ? (sample * c.cells + cell) * all + channel : (sample * all + channel) * c.cells + cell;
    return t.x + static_cast<size_t>(at) * t.element;
}

const uint8_t *w_element(const Case &c, const Tensors &t, int64_t in, int64_t out, const int32_t (&k)[3]) {
    const int64_t tap = (k[0] * c.kernel[1] + k[1]) * c.kernel[2] + k[2];
    const int64_t at =
        c.channels_last ? (in * c.taps() + tap) * c.out_channels + out : (in * c.out_channels + out) * c.taps() + tap;
    return t.w + static_cast<size_t>(at) * t.element;
}

std::vector<uint8_t> expect_input(const Case &c, const WgmmaOperands &o, const Tensors &t) {
    const auto bytes = static_cast<size_t>(wgmma_operand_bytes(c.math));
    std::vector<uint8_t> packed;
    for (int32_t row = 0; row < c.batch * c.cells; ++row)
        for (int32_t group = 0; group < c.groups; ++group)
            for (int plane = 0; plane < gemm_planes(c.math); ++plane)
                for (int32_t i = 0; i < o.plane_elements; ++i) {
                    packed.resize(packed.size() + bytes);
                    if (i < c.in_channels)
                        expect_element(c.math, x_element(c, t, row / c.cells, group * c.in_channels + i, row % c.cells),
                                       plane, &packed[packed.size() - bytes]);
                }
    return packed;
}

// A stage, and its tap of each axis.
struct Stage {
    int32_t group, tile, slab, kz, ky, kx;
};

void expect_row(const Case &c, const WgmmaOperands &o, const Tensors &t, const Stage &s, int32_t row, int plane,
                uint8_t *at) {
    if (row % 16 >= o.warp_channels) { // without an output channel
        std::memset(at + row * c.slab_bytes, untouched, static_cast<size_t>(c.slab_bytes));
        return;
    }
    const int32_t out = (4 * s.tile + row / 16) * o.warp_channels + row % 16;
    if (out >= c.out_channels)
        return;
    const int32_t bytes = wgmma_operand_bytes(c.math);
    for (int32_t i = 0; i < o.slab_elements && s.slab * o.slab_elements + i < c.in_channels; ++i) {
        const int32_t chunks = c.slab_bytes / 16, rows = 8 / chunks; // that lie in 128 bytes
        const int32_t chunk = i * bytes / 16 ^ row / rows % chunks;
        const int32_t k[3] = {s.kz, s.ky, s.kx};
        expect_element(c.math, w_element(c, t, s.group * c.in_channels + s.slab * o.slab_elements + i, out, k), plane,
                       at + row * c.slab_bytes + chunk * 16 + i * bytes % 16);
    }
}

class ExpectedWeights {
public:
    ExpectedWeights(const Case &c, const WgmmaOperands &o, const Tensors &t) : c_(c), o_(o), t_(t) {
        for (Stage s{}; s.group < c.groups; ++s.group)
            for (s.tile = 0; s.tile < o.row_tiles; ++s.tile)
                for (int32_t z = 0; z < c.stride[0]; ++z)
                    for (int32_t y = 0; y < c.stride[1]; ++y)
                        for (int32_t pass = 0; pass < o.passes; ++pass)
                            add_pass(s, o.axis[0].phase[z], o.axis[1].phase[y], o.pass[pass]);
    }

    std::vector<uint8_t> packed;

private:
    void add_pass(Stage s, const WgmmaPhase &z, const WgmmaPhase &y, const WgmmaPass &pass) {
        for (s.slab = 0; s.slab < o_.slabs; ++s.slab)
            for (int32_t tz = 0; tz < z.taps; ++tz)
                for (int32_t ty = 0; ty < y.taps; ++ty) {
                    s.kz = z.kernel + tz * o_.axis[0].tap_step;
                    s.ky = y.kernel + ty * o_.axis[1].tap_step;
                    add_x_taps(s, pass);
                }
    }

    int32_t x_tap(int32_t residue, int32_t tap) const {
        return o_.axis[2].phase[residue].kernel + tap * o_.axis[2].tap_step;
    }

    void add_x_taps(Stage s, const WgmmaPass &pass) {
        for (int32_t i = 0; i < pass.residues; ++i)
            for (int32_t tap = 0; tap < o_.axis[2].phase[pass.residue[i]].taps; ++tap) {
                s.kx = x_tap(pass.residue[i], tap);
                add_stage(s);
            }
    }

    void add_stage(const Stage &s) {
        for (int plane = 0; plane < gemm_planes(c_.math); ++plane) {
            packed.resize(packed.size() + static_cast<size_t>(64 * c_.slab_bytes));
            uint8_t *const at = packed.data() + packed.size() - 64 * c_.slab_bytes;
            for (int32_t row = 0; row < 64; ++row)
                expect_row(c_, o_, t_, s, row, plane, at);
        }
    }

    const Case &c_;
    const WgmmaOperands &o_;
    const Tensors &t_;
};

// ---- running

class Buffer {
public:
    // `offset` bytes after a multiple of 16; ends where its memory ends.
    Buffer(size_t bytes, size_t offset) : memory_(bytes + offset), offset_(offset) {}
    uint8_t *data() { return memory_.data() + offset_; }
    size_t size() const { return memory_.size() - offset_; }

private:
    std::vector<uint8_t> memory_;
    size_t offset_;
};

// Any bits where they are only copied; else numbers of many sizes, so far from the least that all planes are normal.
void fill(Buffer &b, GemmMath math) {
    if (gemm_element_bytes(math) == 2) {
        std::generate_n(b.data(), b.size(), [] { return static_cast<uint8_t>(random_numbers()); });
        return;
    }
    for (size_t at = 0; at < b.size(); at += 4) {
        const float v = std::ldexp(static_cast<float>(draw(-(1 << 24), 1 << 24)), draw(-30, 30));
        std::memcpy(b.data() + at, &v, 4);
    }
}

void set_strides(WgmmaPackParams &p, const Case &c) {
    const int64_t all = c.groups * c.in_channels, taps = c.taps(), last = c.channels_last;
    p.w_in = c.out_channels * taps;
    p.w_out = last ? 1 : taps;
    p.w_step[2] = last ? c.out_channels : 1;
    p.w_step[1] = p.w_step[2] * c.kernel[2];
    p.w_step[0] = p.w_step[1] * c.kernel[1];
    p.x_sample = all * c.cells;
    p.x_channel = last ? 1 : c.cells;
    p.x_cell = last ? all : 1;
    p.cells = c.cells;
    p.batch = c.batch;
    p.channels_last = c.channels_last;
    p.weight_blocks = static_cast<uint32_t>(wgmma_weight_blocks(p.operands));
}

void expect_equal(const Case &c, const char *what, const std::vector<uint8_t> &got,
                  const std::vector<uint8_t> &expected) {
    const auto [wrong, unused] = std::ranges::mismatch(got, expected);
    if (wrong != got.end())
        fail_msg("%s, byte %td of %zu: math %d, residues %d, slab %d, groups %d, channels %d -> %d, kernel %dx%dx%d, "
                 "stride %dx%dx%d, %d cells, batch %d, offset %zu, channels %s",
                 what, wrong - got.begin(), expected.size() - guard_bytes, static_cast<int>(c.math),
                 static_cast<int>(c.residues), c.slab_bytes, c.groups, c.in_channels, c.out_channels, c.kernel[0],
                 c.kernel[1], c.kernel[2], c.stride[0], c.stride[1], c.stride[2], c.cells, c.batch, c.x_offset,
                 c.channels_last ? "last" : "first");
}

void run_case(const Case &c) {
    constexpr const char *names[] = {"f16", "bf16", "tf32", "f32"};
    WgmmaPackParams p{};
    p.operands = make_operands(c);
    set_strides(p, c);
    const auto element = static_cast<size_t>(gemm_element_bytes(c.math));
    Buffer x(static_cast<size_t>(p.x_sample * c.batch) * element, c.x_offset * element);
    Buffer w(static_cast<size_t>(p.w_in * c.groups * c.in_channels) * element, 0);
    fill(x, c.math);
    fill(w, c.math);
    const Tensors tensors{x.data(), w.data(), element};
    std::vector<uint8_t> input = expect_input(c, p.operands, tensors);
    std::vector<uint8_t> weights = ExpectedWeights(c, p.operands, tensors).packed;
    input.resize(input.size() + guard_bytes, untouched);
    weights.resize(weights.size() + guard_bytes, untouched);
    std::vector<uint8_t> packed_x(input.size(), untouched), packed_weights(weights.size(), untouched);
    p.x = x.data();
    p.w = w.data();
    p.packed_x = packed_x.data();
    p.packed_weights = packed_weights.data();

    const standin::Kernel *const kernel =
        standin::find_kernel(std::string("ct3d_phase_wgmma_pack_") + names[static_cast<size_t>(c.math)]);
    assert_non_null(kernel);
    assert_int_equal(kernel->params_bytes, sizeof p);
    const int64_t blocks = p.weight_blocks + wgmma_input_blocks(c.math, p);
    launch(*kernel, {static_cast<uint32_t>(blocks), 1, 1}, wgmma_pack_threads, 0, &p);
    expect_equal(c, "input", packed_x, input);
    expect_equal(c, "weights", packed_weights, weights);
}

template <GemmMath math> void test_math(void **) {
    for (const WgmmaResidues residues : {WgmmaResidues::one, WgmmaResidues::two})
        for (const int32_t slab_bytes : {32, 64, 128})
            for (int i = 0; i < 12; ++i)
                run_case(draw_case(math, residues, slab_bytes));
}

// So many weights that a thread packs several steps, and the last one fewer.
void test_many_weights(void **) {
    Case c{};
    c.math = GemmMath::f16;
    c.residues = WgmmaResidues::one;
    c.slab_bytes = 64;
    c.groups = 2;
    c.in_channels = 200;
    c.out_channels = 250;
    c.batch = c.cells = 1;
    for (size_t a = 0; a < 3; ++a) {
        c.kernel[a] = 4;
        c.stride[a] = 2;
        c.dilation[a] = 1;
    }
    const WgmmaOperands o = make_operands(c);
    assert_true(wgmma_steps_per_thread(o) > 1);
    assert_true(wgmma_pack_steps(o) % wgmma_steps_per_thread(o) != 0);
    run_case(c);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_math<GemmMath::f16>),  cmocka_unit_test(test_math<GemmMath::bf16>),
        cmocka_unit_test(test_math<GemmMath::tf32>), cmocka_unit_test(test_math<GemmMath::f32>),
        cmocka_unit_test(test_many_weights),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
