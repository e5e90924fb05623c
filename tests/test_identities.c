/* SPDX-License-Identifier: MIT */
/* The three operations against each other: <A x, y> = <x, A^T y> = <w, dw(x, y)>, and <bias, dbias(y)> alike.
 *
 * Each side is a sum of the same products; the error bound of the library, applied to the same sum over absolute
 * values, says how far apart they may be. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *name;
    int64_t batch, cin, cout, groups, in[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3], out_pad[3];
} shape;

static const shape shapes[] = {
    {"dense", 2, 5, 7, 1, {4, 3, 5}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"headline", 2, 8, 16, 1, {4, 6, 5}, {3, 3, 3}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {"kernel-is-stride", 1, 16, 8, 1, {3, 4, 5}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
    {"groups", 3, 6, 9, 3, {5, 4, 3}, {4, 3, 2}, {2, 3, 1}, {1, 1, 2}, {1, 0, 1}, {0, 2, 0}, {1, 2, 0}},
    {"depthwise", 2, 7, 7, 7, {3, 4, 6}, {1, 3, 4}, {1, 2, 3}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}},
    {"sparse", 1, 3, 4, 1, {3, 3, 3}, {2, 1, 2}, {5, 4, 6}, {3, 1, 4}, {0, 2, 1}, {1, 0, 0}, {4, 3, 5}},
    {"common-factor", 2, 4, 3, 1, {4, 4, 4}, {3, 2, 4}, {6, 4, 9}, {4, 6, 6}, {3, 1, 0}, {2, 0, 5}, {0, 5, 8}},
};

static ct3d_problem problem_of(const shape *s, int32_t op, int32_t dtype, int32_t layout) {
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    p.op = op;
    p.dtype = dtype;
    p.layout = layout;
    p.weights_layout = layout;
    p.batch = s->batch;
    p.in_channels = s->cin;
    p.out_channels = s->cout;
    p.groups = s->groups;
    for (int i = 0; i < 3; ++i) {
        p.in[i] = s->in[i];
        p.kernel[i] = s->kernel[i];
        p.stride[i] = s->stride[i];
        p.dilation[i] = s->dilation[i];
        p.pad_begin[i] = s->pad_begin[i];
        p.pad_end[i] = s->pad_end[i];
        p.output_padding[i] = s->out_pad[i];
    }
    return p;
}

static long double dot(int32_t dtype, const void *a, const void *b, int64_t count) {
    long double sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += (long double)load(a, dtype, i) * (long double)load(b, dtype, i);
    return sum;
}

static void make_absolute(int32_t dtype, void *tensor, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        store(tensor, dtype, i, fabs(load(tensor, dtype, i)));
}

typedef struct {
    const shape *shape;
    int32_t dtype, layout;
    int64_t x_count, y_count, w_count;
    void *x, *w, *y; /* y is any vector of the output's shape */
} triple;

static long double through_forward(const triple *t) {
    const ct3d_problem p = problem_of(t->shape, CT3D_FORWARD, t->dtype, t->layout);
    ct3d_plan *plan = new_plan(&p, NULL, 2);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = t->x;
    b.w = t->w;
    b.y = new_tensor(t->dtype, t->y_count);
    assert_ok(run_plan(plan, b));
    const long double product = dot(t->dtype, b.y, t->y, t->y_count);
    free(b.y);
    ct3d_destroy_plan(&plan);
    return product;
}

static long double through_backward_data(const triple *t) {
    const ct3d_problem p = problem_of(t->shape, CT3D_BACKWARD_DATA, t->dtype, t->layout);
    ct3d_plan *plan = new_plan(&p, NULL, 2);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.dy = t->y;
    b.w = t->w;
    b.dx = new_tensor(t->dtype, t->x_count);
    assert_ok(run_plan(plan, b));
    const long double product = dot(t->dtype, b.dx, t->x, t->x_count);
    free(b.dx);
    ct3d_destroy_plan(&plan);
    return product;
}

static long double through_backward_weights(const triple *t, void *dbias) {
    const ct3d_problem p = problem_of(t->shape, CT3D_BACKWARD_WEIGHTS, t->dtype, t->layout);
    ct3d_plan *plan = new_plan(&p, NULL, 2);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = t->x;
    b.dy = t->y;
    b.dw = new_tensor(t->dtype, t->w_count);
    b.dbias = dbias;
    assert_ok(run_plan(plan, b));
    const long double product = dot(t->dtype, b.dw, t->w, t->w_count);
    free(b.dw);
    ct3d_destroy_plan(&plan);
    return product;
}

static triple make_triple(const shape *s, int32_t dtype, int32_t layout, uint64_t *random) {
    const ct3d_problem p = problem_of(s, CT3D_FORWARD, dtype, layout);
    triple t = {s, dtype, layout, x_count(&p), y_count(&p), w_count(&p), NULL, NULL, NULL};
    t.x = new_random_tensor(dtype, t.x_count, random);
    t.w = new_random_tensor(dtype, t.w_count, random);
    t.y = new_random_tensor(dtype, t.y_count, random);
    return t;
}

static void release(triple *t) {
    free(t->x);
    free(t->w);
    free(t->y);
}

static int64_t volume(const int64_t extents[3]) { return extents[0] * extents[1] * extents[2]; }

/* (n+2) u of the longest sum that any of the three operations makes. */
static long double relative_bound(const shape *s, int32_t dtype) {
    const int64_t forward = s->cin / s->groups * volume(s->kernel);
    const int64_t backward = s->cout / s->groups * volume(s->kernel);
    const int64_t weights = s->batch * volume(s->in);
    const int64_t longest = forward > backward ? forward : backward;
    const int64_t n = longest > weights ? longest : weights;
    return (long double)(n + 2) * (dtype == CT3D_F64 ? 0x1p-53L : 0x1p-24L);
}

static void check_identities(const shape *s, int32_t dtype, int32_t layout, uint64_t *random) {
    triple t = make_triple(s, dtype, layout, random);
    const long double forward = through_forward(&t), backward = through_backward_data(&t);
    const long double weights = through_backward_weights(&t, NULL);
    make_absolute(dtype, t.x, t.x_count);
    make_absolute(dtype, t.w, t.w_count);
    make_absolute(dtype, t.y, t.y_count);
    /* Two sides err by their bound each; the magnitude itself is only known within its own error. */
    const long double magnitude = through_forward(&t), tolerance = 2.01L * relative_bound(s, dtype) * magnitude;
    print_message("%s: %.12Lg, apart by %.3Lg and %.3Lg, tolerance %.3Lg\n", s->name, forward,
                  fabsl(forward - backward), fabsl(forward - weights), tolerance);
    assert_true(tolerance > 0 && tolerance < 1e-3L * magnitude);
    assert_true(fabsl(forward - backward) <= tolerance);
    assert_true(fabsl(forward - weights) <= tolerance);
    release(&t);
}

static void adjoint_and_weight_gradient_identities(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int32_t layout = CT3D_NCDHW; layout <= CT3D_NDHWC; ++layout) {
            check_identities(&shapes[s], CT3D_F64, layout, &random);
            check_identities(&shapes[s], CT3D_F32, layout, &random);
        }
}

/* dbias[c] is the sum of dy over all else, here of known small integers. */
static void bias_gradient_sums_the_channels(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (int32_t layout = CT3D_NCDHW; layout <= CT3D_NDHWC; ++layout) {
            triple t = make_triple(&shapes[s], CT3D_F32, layout, &random);
            const int64_t channels = shapes[s].cout, points = t.y_count / shapes[s].batch / channels;
            double expected[16] = {0};
            for (int64_t i = 0; i < t.y_count; ++i) {
                const double value = (double)(i % 7 - 3);
                store(t.y, CT3D_F32, i, value);
                expected[layout == CT3D_NCDHW ? i / points % channels : i % channels] += value;
            }
            float dbias[16];
            through_backward_weights(&t, dbias);
            for (int64_t c = 0; c < channels; ++c)
                assert_true((double)dbias[c] == expected[c]);
            release(&t);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adjoint_and_weight_gradient_identities),
        cmocka_unit_test(bias_gradient_sums_the_channels),
    };
    return cmocka_run_group_tests_name("identities", tests, NULL, NULL);
}
