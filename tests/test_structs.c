/* SPDX-License-Identifier: MIT */
/* The ABI that a compiled program relies on: values, struct layouts, and what _init and struct_size do. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void statuses_keep_their_values(void **state) {
    (void)state;
    static const struct {
        ct3d_status status;
        int32_t value;
        const char *name;
    } pinned[] = {
        {CT3D_SUCCESS, 0, "CT3D_SUCCESS"},           {CT3D_INVALID_ARGUMENT, 1, "CT3D_INVALID_ARGUMENT"},
        {CT3D_UNSUPPORTED, 2, "CT3D_UNSUPPORTED"},   {CT3D_OUT_OF_MEMORY, 3, "CT3D_OUT_OF_MEMORY"},
        {CT3D_DEVICE_ERROR, 4, "CT3D_DEVICE_ERROR"}, {CT3D_INTERNAL, 5, "CT3D_INTERNAL"},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; ++i) {
        assert_int_equal(pinned[i].status, pinned[i].value);
        assert_string_equal(ct3d_status_string(pinned[i].status), pinned[i].name);
    }
    assert_non_null(ct3d_status_string(-1));
    assert_non_null(ct3d_status_string(6));
    assert_int_equal(sizeof(ct3d_status), 4);
}

static void enums_keep_their_values(void **state) {
    (void)state;
    static const int32_t pinned[][2] = {
        {CT3D_FORWARD, 0},       {CT3D_BACKWARD_DATA, 1}, {CT3D_BACKWARD_WEIGHTS, 2},
        {CT3D_DTYPE_DEFAULT, 0}, {CT3D_F32, 1},           {CT3D_F16, 2},
        {CT3D_BF16, 3},          {CT3D_F64, 4},           {CT3D_MATH_FP32, 0},
        {CT3D_MATH_TF32, 1},     {CT3D_NCDHW, 0},         {CT3D_NDHWC, 1},
        {CT3D_IODHW, 0},         {CT3D_IDHWO, 1},         {CT3D_BACKEND_AUTO, 0},
        {CT3D_BACKEND_CPU, 1},   {CT3D_BACKEND_CUDA, 2},  {CT3D_BACKEND_HIP, 3},
        {CT3D_DESCRIBE_TEXT, 0}, {CT3D_DESCRIBE_JSON, 1},
    };
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; ++i)
        assert_int_equal(pinned[i][0], pinned[i][1]);
}

static void structs_keep_their_layout(void **state) {
    (void)state;
    if (sizeof(void *) != 8)
        skip();
    assert_int_equal(offsetof(ct3d_problem, op), 8);
    assert_int_equal(offsetof(ct3d_problem, has_bias), 28);
    assert_int_equal(offsetof(ct3d_problem, batch), 32);
    assert_int_equal(offsetof(ct3d_problem, in), 64);
    assert_int_equal(offsetof(ct3d_problem, output_padding), 208);
    assert_int_equal(offsetof(ct3d_problem, w_dtype), 232);
    assert_int_equal(offsetof(ct3d_problem, y_batch_stride), 248);
    assert_int_equal(offsetof(ct3d_problem, packed_weights), 264);
    assert_int_equal(offsetof(ct3d_problem, beta), 272);
    assert_int_equal(offsetof(ct3d_plan_options, max_workspace), 24);
    assert_int_equal(offsetof(ct3d_plan_options, kernel), 32);
    assert_int_equal(offsetof(ct3d_buffers, y), 32);
    assert_int_equal(offsetof(ct3d_buffers, workspace), 72);
    assert_int_equal(offsetof(ct3d_buffers, stream), 88);
    assert_int_equal(offsetof(ct3d_backend_info, name), 16);
    assert_int_equal(offsetof(ct3d_backend_info, reason), 112);
    assert_int_equal(offsetof(ct3d_device_info, name), 16);
    assert_int_equal(offsetof(ct3d_device_info, memory), 216);
}

static void version_is_that_of_the_header(void **state) {
    (void)state;
    assert_int_equal(ct3d_version(), CT3D_VERSION);
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", CT3D_VERSION_MAJOR, CT3D_VERSION_MINOR, CT3D_VERSION_PATCH);
    assert_string_equal(ct3d_version_string(), expected);
}

static void init_sets_the_documented_defaults(void **state) {
    (void)state;
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    const ct3d_problem zero = {0};
    ct3d_problem expected = zero;
    expected.struct_size = sizeof p;
    expected.batch = expected.groups = 1;
    for (int axis = 0; axis < 3; ++axis)
        expected.stride[axis] = expected.dilation[axis] = 1;
    expected.dtype = p.dtype; /* f32 may be spelt as 0 or as CT3D_F32 */
    assert_in_range(p.dtype, CT3D_DTYPE_DEFAULT, CT3D_F32);
    assert_memory_equal(&p, &expected, sizeof p);

    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    assert_int_equal(options.struct_size, sizeof options);
    assert_int_equal(options.backend, CT3D_BACKEND_AUTO);
    assert_int_equal(options.device, 0);
    assert_int_equal(options.threads, 0);
    assert_int_equal(options.reserved, 0);
    assert_true(options.max_workspace == UINT64_MAX);
    assert_null(options.kernel);

    ct3d_buffers buffers;
    ct3d_buffers_init(&buffers, sizeof buffers);
    ct3d_buffers empty;
    memset(&empty, 0, sizeof empty);
    empty.struct_size = sizeof empty;
    assert_memory_equal(&buffers, &empty, sizeof empty);
}

typedef void (*init_fn)(void *, size_t);
static void init_problem(void *s, size_t size) { ct3d_problem_init(s, size); }
static void init_options(void *s, size_t size) { ct3d_plan_options_init(s, size); }
static void init_buffers(void *s, size_t size) { ct3d_buffers_init(s, size); }
static void init_backend_info(void *s, size_t size) { ct3d_backend_info_init(s, size); }
static void init_device_info(void *s, size_t size) { ct3d_device_info_init(s, size); }

static const struct {
    init_fn init;
    size_t size;
} structs[] = {
    {init_problem, sizeof(ct3d_problem)},         {init_options, sizeof(ct3d_plan_options)},
    {init_buffers, sizeof(ct3d_buffers)},         {init_backend_info, sizeof(ct3d_backend_info)},
    {init_device_info, sizeof(ct3d_device_info)},
};

/* Smaller sizes are those of older programs, larger ones those of newer programs, whose new fields must be 0. */
static void init_writes_the_given_size_and_no_more(void **state) {
    (void)state;
    enum { tail = 64 };
    for (size_t s = 0; s < sizeof structs / sizeof *structs; ++s) {
        const size_t largest = structs[s].size + tail;
        unsigned char *memory = malloc(largest + tail);
        assert_non_null(memory);
        for (size_t size = 0; size <= largest; ++size) {
            memset(memory, 0xa5, largest + tail);
            structs[s].init(memory, size);
            for (size_t i = size; i < largest + tail; ++i)
                assert_int_equal(memory[i], 0xa5);
            for (size_t i = structs[s].size; i < size; ++i)
                assert_int_equal(memory[i], 0);
            size_t written = 0;
            memcpy(&written, memory, sizeof written);
            if (size >= sizeof written)
                assert_int_equal(written, size);
        }
        free(memory);
        structs[s].init(NULL, structs[s].size);
    }
}

/* A struct followed by what a newer header might add to it. */
typedef struct {
    ct3d_problem known;
    unsigned char added[16];
} newer_problem;
typedef struct {
    ct3d_plan_options known;
    unsigned char added[16];
} newer_options;
typedef struct {
    ct3d_buffers known;
    unsigned char added[16];
} newer_buffers;
typedef struct {
    ct3d_backend_info known;
    unsigned char added[16];
} newer_info;

static ct3d_status create(const ct3d_problem *problem, const ct3d_plan_options *options) {
    ct3d_plan *plan = NULL;
    const ct3d_status status = ct3d_create_plan(&plan, problem, options);
    assert_true((plan != NULL) == (status == CT3D_SUCCESS));
    ct3d_destroy_plan(&plan);
    return status;
}

static void older_problem_takes_defaults(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    memset(&p.w_dtype, 0xff, sizeof p - offsetof(ct3d_problem, w_dtype)); /* not part of the older struct */
    p.struct_size = offsetof(ct3d_problem, w_dtype);
    int64_t shape[5];
    assert_ok(ct3d_output_shape(&p, shape));
    assert_int_equal(shape[4], 9);
    assert_ok(create(&p, NULL));
    for (size_t size = 0; size < offsetof(ct3d_problem, w_dtype); ++size) {
        p.struct_size = size;
        assert_status(ct3d_output_shape(&p, shape), CT3D_INVALID_ARGUMENT);
        expect_message("struct_size", NULL);
    }
}

static void newer_problem_must_be_zero_where_unknown(void **state) {
    (void)state;
    newer_problem p;
    ct3d_problem_init(&p.known, sizeof p);
    const ct3d_problem small = small_problem();
    memcpy((char *)&p + sizeof(size_t), (const char *)&small + sizeof(size_t), sizeof small - sizeof(size_t));
    assert_ok(create(&p.known, NULL));
    for (size_t i = 0; i < sizeof p.added; ++i) {
        p.added[i] = 1;
        assert_status(create(&p.known, NULL), CT3D_INVALID_ARGUMENT);
        int64_t shape[5];
        assert_status(ct3d_output_shape(&p.known, shape), CT3D_INVALID_ARGUMENT);
        p.added[i] = 0;
    }
}

static void options_may_be_older_or_newer(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    newer_options o;
    ct3d_plan_options_init(&o.known, sizeof o);
    assert_ok(create(&p, &o.known));
    o.added[15] = 1;
    assert_status(create(&p, &o.known), CT3D_INVALID_ARGUMENT);
    o.known.struct_size = offsetof(ct3d_plan_options, kernel);
    memset(&o.known.kernel, 0xff, sizeof o.known.kernel);
    assert_ok(create(&p, &o.known));
    o.known.struct_size = 0;
    assert_status(create(&p, &o.known), CT3D_INVALID_ARGUMENT);
    expect_message("struct_size", NULL);
}

static void buffers_may_be_older_or_newer(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    p.batch = 0;
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    newer_buffers b;
    ct3d_buffers_init(&b.known, sizeof b);
    float weights[4 * 3 * 27] = {0}, bias[4] = {0};
    b.known.w = weights;
    b.known.bias = bias;
    assert_ok(ct3d_plan_workspace_size(plan, &b.known.workspace_size));
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, b.known.workspace_size, &b.known.workspace));
    assert_ok(ct3d_execute(plan, &b.known));
    b.added[0] = 1;
    assert_status(ct3d_execute(plan, &b.known), CT3D_INVALID_ARGUMENT);
    b.known.struct_size = offsetof(ct3d_buffers, stream);
    memset(&b.known.stream, 0xff, sizeof b.known.stream);
    assert_ok(ct3d_execute(plan, &b.known));
    b.known.struct_size = 8;
    assert_status(ct3d_execute(plan, &b.known), CT3D_INVALID_ARGUMENT);
    expect_message("struct_size", NULL);
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, b.known.workspace));
    ct3d_destroy_plan(&plan);
}

static void newer_info_structs_are_filled(void **state) {
    (void)state;
    newer_info info;
    memset(&info, 0xa5, sizeof info);
    ct3d_backend_info_init(&info.known, sizeof info);
    assert_ok(ct3d_get_backend_info(CT3D_BACKEND_CPU, &info.known));
    assert_string_equal(info.known.name, "cpu");
    assert_int_equal(info.known.struct_size, sizeof info);
    info.known.struct_size = 0;
    assert_status(ct3d_get_backend_info(CT3D_BACKEND_CPU, &info.known), CT3D_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_keep_their_values),        cmocka_unit_test(enums_keep_their_values),
        cmocka_unit_test(structs_keep_their_layout),         cmocka_unit_test(version_is_that_of_the_header),
        cmocka_unit_test(init_sets_the_documented_defaults), cmocka_unit_test(init_writes_the_given_size_and_no_more),
        cmocka_unit_test(older_problem_takes_defaults),      cmocka_unit_test(newer_problem_must_be_zero_where_unknown),
        cmocka_unit_test(options_may_be_older_or_newer),     cmocka_unit_test(buffers_may_be_older_or_newer),
        cmocka_unit_test(newer_info_structs_are_filled),
    };
    return cmocka_run_group_tests_name("structs", tests, NULL, NULL);
}
