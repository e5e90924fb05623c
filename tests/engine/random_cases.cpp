// SPDX-License-Identifier: MIT
#include "random_cases.hpp"

#include "dtype.hpp"
#include "geometry.hpp"
#include "random.hpp"
#include "values.hpp"

#include <algorithm>
#include <initializer_list>

namespace ct3d::engine {
namespace {

constexpr double most_products = 2e6;

struct Generator {
    uint64_t state;

    uint64_t next() { return state = mix(state); }
    int64_t between(int64_t low, int64_t high) {
        return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
    }
    bool one_in(int64_t n) { return between(1, n) == 1; }
    int64_t one_of(std::initializer_list<int64_t> values) {
        return values.begin()[between(0, static_cast<int64_t>(values.size()) - 1)];
    }
};

// Small counts, whole vectors, and one beside a whole vector.
int64_t channels(Generator &g) {
    const int64_t vector = g.one_of({4, 8, 16, 32});
    return std::max<int64_t>(1, g.one_of({g.between(1, 9), vector, vector - 1, vector + 1, g.between(10, 70)}));
}

void draw_channels(Generator &g, ct3d_problem &p) {
    p.in_channels = channels(g);
    p.out_channels = channels(g);
    if (g.one_in(3)) {
        p.groups = g.between(2, 6);
        p.in_channels = p.groups * g.one_of({1, 1, 2, 3, 8, 17, 64});
        p.out_channels = p.groups * g.one_of({1, 1, 2, 5, 8, 16});
    }
}

// Strides above the kernel, common factors of stride and dilation, padding past the kernel's half: all of them often.
void draw_axis(Generator &g, ct3d_problem &p, int axis) {
    p.in[axis] = g.one_of({1, g.between(1, 6), g.between(3, 12), g.between(1, 20)});
    p.kernel[axis] = g.one_of({1, 2, 3, 3, 4, g.between(1, 7)});
    p.stride[axis] = g.one_of({1, 1, 2, 2, 3, g.between(1, 6)});
    p.dilation[axis] = g.one_of({1, 1, 1, 2, 3, 4, p.stride[axis]});
    const int64_t reach = p.dilation[axis] * (p.kernel[axis] - 1);
    p.pad_begin[axis] = g.one_of({0, 0, 1, g.between(0, reach + 1)});
    p.pad_end[axis] = g.one_in(3) ? g.between(0, reach + 1) : p.pad_begin[axis];
    p.output_padding[axis] = g.one_in(3) ? g.between(0, std::max(p.stride[axis], p.dilation[axis]) - 1) : 0;
    if (output_extent(p, axis) < 1)
        p.pad_begin[axis] = p.pad_end[axis] = 0;
}

// Kernel and stride are alike, outputs are patches of one input each: what decoders upsample by.
void draw_patch_axis(Generator &g, ct3d_problem &p, int axis) {
    p.in[axis] = g.one_of({1, g.between(1, 6), g.between(3, 12), g.between(1, 40)});
    p.kernel[axis] = p.stride[axis] = axis == 2 ? g.one_of({2, 2, 2, 2, 4}) : g.one_of({1, 2, 2, 2, 3, 4});
    // Padding that output padding gives back leaves the extent alike, but not the outputs' places.
    if (p.stride[axis] > 1 && g.one_in(12)) {
        p.output_padding[axis] = 1;
        p.pad_begin[axis] = g.between(0, 1);
        p.pad_end[axis] = g.one_of({0, 0, 1 - p.pad_begin[axis]});
    }
}

// One output channel of a group, kernel 4 and stride 2: the last layer of a decoder, with any padding.
void draw_single_channels(Generator &g, ct3d_problem &p) {
    p.groups = g.one_of({1, 1, 1, 2, 3});
    p.in_channels = p.groups * channels(g);
    p.out_channels = p.groups;
}

void draw_single_axis(Generator &g, ct3d_problem &p, int axis) {
    p.in[axis] = g.one_of({g.between(1, 6), g.between(3, 12), g.between(1, axis == 2 ? 100 : 20)});
    p.kernel[axis] = 4;
    p.stride[axis] = 2;
    p.pad_begin[axis] = g.one_of({1, 1, g.between(0, 4)});
    p.pad_end[axis] = g.one_in(3) ? g.between(0, 4) : p.pad_begin[axis];
    p.output_padding[axis] = g.one_in(3) ? 1 : 0;
    if (output_extent(p, axis) < 1)
        p.pad_begin[axis] = p.pad_end[axis] = 0;
}

void draw_values(Generator &g, Case &c) {
    for (const Key &key : keys()) {
        const auto last = static_cast<int64_t>(key.values.size()) - 1;
        set_key(c, key.name, key.values[static_cast<size_t>(g.between(0, last))].name);
    }
    if (c.problem.dtype != CT3D_F32)
        c.problem.math = CT3D_MATH_FP32;
    if (c.problem.op == CT3D_BACKWARD_DATA)
        c.problem.has_bias = 1;
    if (c.problem.op == CT3D_BACKWARD_WEIGHTS && c.fill == Fill::identity)
        c.fill = Fill::exact;
    c.offset = g.one_in(2) ? 0 : static_cast<uint64_t>(g.between(1, 63)) * element_size(c.problem.dtype);
}

// Takes the longest extents down until the reference is quick.
void shrink(ct3d_problem &p) {
    while (products(p) > most_products) {
        int64_t *const longest = std::max_element(p.in, p.in + 3);
        if (p.batch > 1)
            p.batch = 1;
        else if (*longest > 1) {
            const auto axis = static_cast<int>(longest - p.in);
            *longest = (*longest + 1) / 2;
            if (output_extent(p, axis) < 1)
                p.pad_begin[axis] = p.pad_end[axis] = 0;
        } else {
            *std::max_element(p.kernel, p.kernel + 3) = 1;
            std::fill_n(p.pad_begin, 3, 0);
            std::fill_n(p.pad_end, 3, 0);
        }
    }
}

} // namespace

Case random_case(uint64_t seed, uint64_t index) {
    Generator g{mix(mix(seed) + index)};
    Case c;
    c.name = "random-" + std::to_string(index);
    ct3d_problem &p = c.problem;
    ct3d_problem_init(&p, sizeof p);
    p.batch = g.one_in(40) ? 0 : g.one_of({1, 1, 2, 3});
    draw_channels(g, p);
    const int64_t kind = g.between(1, 12);
    const auto axis_of_kind = kind <= 2 ? draw_patch_axis : kind == 3 ? draw_single_axis : draw_axis;
    if (kind == 3)
        draw_single_channels(g, p);
    for (int axis = 0; axis < 3; ++axis)
        axis_of_kind(g, p, axis);
    draw_values(g, c);
    shrink(p);
    return c;
}

} // namespace ct3d::engine
