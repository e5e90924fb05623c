/* SPDX-License-Identifier: MIT */
/* What makes a problem legal, and what the library says of one that is not. */
#include "support.h"

#include <stdio.h>
#include <string.h>

static ct3d_status create(const ct3d_problem *problem) {
    ct3d_plan *plan = (ct3d_plan *)1;
    const ct3d_status status = ct3d_create_plan(&plan, problem, NULL);
    assert_true((plan != NULL) == (status == CT3D_SUCCESS));
    ct3d_destroy_plan(&plan);
    return status;
}

/* Both calls that take a problem refuse it, with the field and the value, and leave the shape alone. */
static void expect_refusal(const ct3d_problem *p, ct3d_status status, const char *field, const char *value) {
    int64_t shape[5] = {-7, -7, -7, -7, -7};
    assert_status(ct3d_output_shape(p, shape), status);
    expect_message(field, value);
    for (int i = 0; i < 5; ++i)
        assert_int_equal(shape[i], -7);
    assert_status(create(p), status);
    expect_message(field, value);
}

#define SCALAR(field, value)                                                                                           \
    { #field, offsetof(ct3d_problem, field), sizeof(((ct3d_problem *)0)->field), (value) }
#define AXIS(field, i, value)                                                                                          \
    { #field "[" #i "]", offsetof(ct3d_problem, field) + (i) * sizeof(int64_t), sizeof(int64_t), (value) }
#define AXES(field, value) AXIS(field, 0, value), AXIS(field, 1, value), AXIS(field, 2, value)

typedef struct {
    const char *field;
    size_t offset, size;
    int64_t value;
} rule;

static ct3d_problem broken(const rule *r) {
    ct3d_problem p = small_problem();
    const int32_t narrow = (int32_t)r->value;
    memcpy((char *)&p + r->offset, r->size == 4 ? (const void *)&narrow : (const void *)&r->value, r->size);
    return p;
}

static void every_rule_names_field_and_value(void **state) {
    (void)state;
    static const rule rules[] = {
        SCALAR(op, -1),
        SCALAR(op, 3),
        SCALAR(dtype, -1),
        SCALAR(dtype, 5),
        SCALAR(math, -1),
        SCALAR(math, 2),
        SCALAR(layout, -1),
        SCALAR(layout, 2),
        SCALAR(weights_layout, -1),
        SCALAR(weights_layout, 2),
        SCALAR(has_bias, -1),
        SCALAR(has_bias, 2),
        SCALAR(batch, -1),
        SCALAR(batch, INT64_MIN),
        SCALAR(in_channels, 0),
        SCALAR(in_channels, -5),
        SCALAR(out_channels, 0),
        SCALAR(out_channels, -6),
        SCALAR(groups, 0),
        SCALAR(groups, -1),
        SCALAR(groups, 2),
        SCALAR(groups, 3),
        SCALAR(groups, INT64_MAX),
        AXES(in, 0),
        AXES(in, -3),
        AXES(kernel, 0),
        AXES(kernel, -3),
        AXES(stride, 0),
        AXES(stride, -2),
        AXES(dilation, 0),
        AXES(dilation, -2),
        AXES(pad_begin, -1),
        AXES(pad_end, -1),
        AXES(output_padding, -1),
        AXES(output_padding, 2),
        AXES(output_padding, INT64_MAX),
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        const ct3d_problem p = broken(&rules[i]);
        char value[24];
        snprintf(value, sizeof value, "%lld", (long long)rules[i].value);
        print_message("%s = %s\n", rules[i].field, value);
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, rules[i].field, value);
    }
}

static void reserved_fields_are_refused(void **state) {
    (void)state;
    static const rule rules[] = {
        SCALAR(w_dtype, 2),        SCALAR(y_dtype, 2),         SCALAR(bias_dtype, 3),
        SCALAR(y_layout, 1),       SCALAR(y_batch_stride, 77), SCALAR(y_channel_stride, -77),
        SCALAR(packed_weights, 1), SCALAR(epilogue, 1),
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        const ct3d_problem p = broken(&rules[i]);
        expect_refusal(&p, CT3D_UNSUPPORTED, rules[i].field, NULL);
    }
    ct3d_problem p = small_problem();
    p.beta = 0.5;
    expect_refusal(&p, CT3D_UNSUPPORTED, "beta", NULL);
}

static void padding_larger_than_the_output_is_refused(void **state) {
    (void)state;
    for (int axis = 0; axis < 3; ++axis) {
        ct3d_problem p = small_problem();
        const int64_t whole = (p.in[axis] - 1) * p.stride[axis] + p.kernel[axis];
        p.pad_begin[axis] = whole - 1;
        p.pad_end[axis] = 0;
        int64_t shape[5];
        assert_ok(ct3d_output_shape(&p, shape));
        assert_int_equal(shape[2 + axis], 1);
        p.pad_end[axis] = 1;
        char field[24];
        snprintf(field, sizeof field, "[%d]", axis);
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, field, "0");
        p.pad_end[axis] = 5;
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, field, "-4");
    }
}

/* output_padding may reach max(stride, dilation) - 1. */
static void output_padding_bound_is_exact(void **state) {
    (void)state;
    static const int64_t stride_dilation[][2] = {{1, 1}, {1, 3}, {3, 1}, {2, 5}, {4, 4}};
    for (size_t i = 0; i < sizeof stride_dilation / sizeof *stride_dilation; ++i) {
        ct3d_problem p = small_problem();
        p.stride[1] = stride_dilation[i][0];
        p.dilation[1] = stride_dilation[i][1];
        const int64_t limit = p.stride[1] > p.dilation[1] ? p.stride[1] : p.dilation[1];
        p.output_padding[1] = limit - 1;
        assert_ok(create(&p));
        p.output_padding[1] = limit;
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, "output_padding[1]", NULL);
    }
}

static void set_all(ct3d_problem *p, int64_t n, int64_t cin, int64_t cout, int64_t in, int64_t kernel) {
    p->batch = n;
    p->in_channels = cin;
    p->out_channels = cout;
    for (int axis = 0; axis < 3; ++axis) {
        p->in[axis] = in;
        p->kernel[axis] = kernel;
    }
}

static void products_that_overflow_are_refused(void **state) {
    (void)state;
    static const int64_t extents[][5] = {
        {INT64_MAX, INT64_MAX, 1, 1, 3},         {1, 1, 1, INT64_C(1) << 30, 3},  {INT64_C(1) << 62, 1, 1, 2, 2},
        {1, 1, 1, 1, INT64_C(1) << 21},          {1, INT64_MAX, INT64_MAX, 1, 1}, {1, 1, INT64_MAX, 3, 3},
        {INT64_C(1) << 32, 1 << 30, 1, 2, 2},    {1, 1, 1, INT64_MAX, 3},         {1, 1, 1, 3, INT64_MAX},
        {0, INT64_MAX, 1, INT64_MAX, INT64_MAX}, {INT64_C(1) << 61, 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; ++i) {
        ct3d_problem p = small_problem();
        const int64_t *e = extents[i];
        set_all(&p, e[0], e[1], e[2], e[3], e[4]);
        print_message("%lld %lld %lld %lld %lld\n", (long long)e[0], (long long)e[1], (long long)e[2], (long long)e[3],
                      (long long)e[4]);
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, NULL, NULL);
        assert_true(strlen(ct3d_last_error()) > 10);
    }
    static const rule rules[] = {AXES(stride, INT64_MAX), AXES(dilation, INT64_MAX), AXES(pad_begin, INT64_MAX),
                                 AXES(pad_end, INT64_MAX)};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        const ct3d_problem p = broken(&rules[i]);
        expect_refusal(&p, CT3D_INVALID_ARGUMENT, NULL, NULL);
    }
}

static void shape_follows_the_formula(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (int round = 0; round < 2000; ++round) {
        ct3d_problem p = small_problem();
        p.batch = (int64_t)(next_random(&random) % 4);
        p.layout = round % 2;
        p.op = round % 3;
        int64_t expected[5] = {p.batch, p.out_channels, 0, 0, 0};
        int legal = 1;
        for (int axis = 0; axis < 3; ++axis) {
            p.in[axis] = 1 + (int64_t)(next_random(&random) % 6);
            p.kernel[axis] = 1 + (int64_t)(next_random(&random) % 5);
            p.stride[axis] = 1 + (int64_t)(next_random(&random) % 4);
            p.dilation[axis] = 1 + (int64_t)(next_random(&random) % 4);
            p.pad_begin[axis] = (int64_t)(next_random(&random) % 4);
            p.pad_end[axis] = (int64_t)(next_random(&random) % 4);
            p.output_padding[axis] = (int64_t)(next_random(&random) % 3);
            /* Far end of the last input's last tap, counted rather than computed. */
            int64_t extent = 1 + p.output_padding[axis] - p.pad_begin[axis] - p.pad_end[axis];
            for (int64_t i = 1; i < p.in[axis]; ++i)
                extent += p.stride[axis];
            for (int64_t k = 1; k < p.kernel[axis]; ++k)
                extent += p.dilation[axis];
            expected[2 + axis] = extent;
            legal &=
                extent >= 1 && (p.output_padding[axis] < p.stride[axis] || p.output_padding[axis] < p.dilation[axis]);
        }
        int64_t shape[5];
        assert_status(ct3d_output_shape(&p, shape), legal ? CT3D_SUCCESS : CT3D_INVALID_ARGUMENT);
        if (legal)
            assert_memory_equal(shape, expected, sizeof shape);
    }
}

static void null_arguments_are_refused(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    int64_t shape[5];
    ct3d_plan *plan = (ct3d_plan *)1;
    assert_status(ct3d_output_shape(NULL, shape), CT3D_INVALID_ARGUMENT);
    expect_message("problem", NULL);
    assert_status(ct3d_output_shape(&p, NULL), CT3D_INVALID_ARGUMENT);
    expect_message("shape", NULL);
    assert_status(ct3d_create_plan(NULL, &p, NULL), CT3D_INVALID_ARGUMENT);
    expect_message("plan", NULL);
    assert_status(ct3d_create_plan(&plan, NULL, NULL), CT3D_INVALID_ARGUMENT);
    expect_message("problem", NULL);
    assert_null(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_names_field_and_value),
        cmocka_unit_test(reserved_fields_are_refused),
        cmocka_unit_test(padding_larger_than_the_output_is_refused),
        cmocka_unit_test(output_padding_bound_is_exact),
        cmocka_unit_test(products_that_overflow_are_refused),
        cmocka_unit_test(shape_follows_the_formula),
        cmocka_unit_test(null_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
