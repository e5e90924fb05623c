/* SPDX-License-Identifier: MIT */
/* Plans: options, forced kernels, what a plan tells of itself, messages, the log, destruction. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static ct3d_plan_options default_options(void) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    return options;
}

static ct3d_status create(const ct3d_problem *problem, const ct3d_plan_options *options) {
    ct3d_plan *plan = (ct3d_plan *)1;
    const ct3d_status status = ct3d_create_plan(&plan, problem, options);
    assert_true((plan != NULL) == (status == CT3D_SUCCESS));
    ct3d_destroy_plan(&plan);
    assert_null(plan);
    return status;
}

static char *describe(const ct3d_plan *plan, int32_t format) {
    size_t needed = 0;
    assert_ok(ct3d_describe_plan(plan, format, NULL, 0, &needed));
    char *text = malloc(needed);
    assert_non_null(text);
    assert_ok(ct3d_describe_plan(plan, format, text, needed, NULL));
    assert_int_equal(strlen(text) + 1, needed);
    return text;
}

static void expect_description(const ct3d_plan *plan, int32_t format, const char *part) {
    char *text = describe(plan, format);
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in the description:\n%s", part, text);
    free(text);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan_options o = default_options();
    o.backend = 99;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    expect_message("backend", "99");
    o.backend = -1;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    o = default_options();
    o.device = 1;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    expect_message("device", "1");
    o.device = -1;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    o = default_options();
    o.threads = -3;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    expect_message("threads", "-3");
    o = default_options();
    o.reserved = 5;
    assert_status(create(&p, &o), CT3D_INVALID_ARGUMENT);
    expect_message("reserved", "5");
}

static void backends_without_devices_say_why(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan_options o = default_options();
    for (o.backend = CT3D_BACKEND_CUDA; o.backend <= CT3D_BACKEND_HIP; ++o.backend) {
        ct3d_backend_info info;
        ct3d_backend_info_init(&info, sizeof info);
        assert_ok(ct3d_get_backend_info(o.backend, &info));
        if (info.device_count > 0)
            continue;
        assert_status(create(&p, &o), CT3D_UNSUPPORTED);
        expect_message(info.name, info.reason);
    }
}

static void forced_kernel_is_obeyed(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan *plan = new_plan(&p, "direct", 1);
    assert_non_null(plan);
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"kernel\":\"direct\"");
    ct3d_destroy_plan(&plan);
}

static void forced_kernel_that_is_unknown_or_refuses_is_unsupported(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    ct3d_plan_options o = default_options();
    o.kernel = "no-such-kernel";
    assert_status(create(&p, &o), CT3D_UNSUPPORTED);
    expect_message("no-such-kernel", "kernel");

    p.dtype = CT3D_F64; /* oneDNN has none */
    o.kernel = "onednn";
    assert_status(create(&p, &o), CT3D_UNSUPPORTED);
    expect_message("onednn", NULL);

    p = small_problem();
    p.op = CT3D_BACKWARD_DATA;
    o.kernel = "phase"; /* forward only */
    assert_status(create(&p, &o), CT3D_UNSUPPORTED);
    expect_message("phase", NULL);
}

static void environment_forces_a_kernel_unless_the_option_does(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    assert_int_equal(setenv("CT3D_KERNEL", "no-such-kernel", 1), 0);
    assert_status(create(&p, NULL), CT3D_UNSUPPORTED);
    expect_message("no-such-kernel", NULL);
    ct3d_plan_options o = default_options();
    o.kernel = "direct";
    assert_ok(create(&p, &o));
    assert_int_equal(setenv("CT3D_KERNEL", "", 1), 0);
    assert_ok(create(&p, NULL));
    assert_int_equal(setenv("CT3D_KERNEL", "direct", 1), 0);
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"kernel\":\"direct\"");
    ct3d_destroy_plan(&plan);
    assert_int_equal(unsetenv("CT3D_KERNEL"), 0);
}

/* The backend is an argument and no environment variable, since it changes what a pointer means. */
static void environment_does_not_choose_the_backend(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    assert_int_equal(setenv("CT3D_BACKEND", "cuda", 1), 0);
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    int32_t backend = -1, device = -1;
    assert_ok(ct3d_plan_device(plan, &backend, &device));
    assert_int_equal(backend, CT3D_BACKEND_CPU);
    assert_int_equal(device, 0);
    assert_ok(ct3d_plan_device(plan, NULL, NULL));
    ct3d_destroy_plan(&plan);
    assert_int_equal(unsetenv("CT3D_BACKEND"), 0);
}

static void max_workspace_is_kept(void **state) {
    (void)state;
    static const char *const kernels[] = {NULL, "phase", "onednn", "onednn_phase"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        ct3d_problem p = small_problem();
        ct3d_plan *plan = new_plan(&p, kernels[i], 2);
        if (!plan)
            continue;
        uint64_t bytes = 0;
        assert_ok(ct3d_plan_workspace_size(plan, &bytes));
        ct3d_destroy_plan(&plan);
        ct3d_plan_options o = default_options();
        o.kernel = kernels[i];
        o.threads = 2;
        o.max_workspace = bytes;
        assert_ok(create(&p, &o));
        if (!bytes || !kernels[i])
            continue;
        o.max_workspace = bytes - 1;
        assert_status(create(&p, &o), CT3D_UNSUPPORTED);
        expect_message("workspace", kernels[i]);
    }
    const ct3d_problem p = small_problem();
    ct3d_plan_options o = default_options();
    o.max_workspace = 0;
    ct3d_plan *plan = NULL;
    assert_ok(ct3d_create_plan(&plan, &p, &o));
    uint64_t bytes = 1;
    assert_ok(ct3d_plan_workspace_size(plan, &bytes));
    assert_int_equal(bytes, 0);
    ct3d_destroy_plan(&plan);
}

/* All but the thread-dependent part of the bound: 2 x (tensors + weights, all as f32) + 1 MiB per thread. */
static void workspace_is_bounded(void **state) {
    (void)state;
    static const int64_t kernels[] = {1, 3, 9, 23};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i)
        for (int op = CT3D_FORWARD; op <= CT3D_BACKWARD_WEIGHTS; ++op)
            for (int dtype = CT3D_F32; dtype <= CT3D_F64; ++dtype) {
                ct3d_problem p = small_problem();
                p.op = op;
                p.dtype = dtype;
                p.in_channels = p.out_channels = 16;
                for (int axis = 0; axis < 3; ++axis) {
                    p.kernel[axis] = kernels[i];
                    p.pad_begin[axis] = p.pad_end[axis] = kernels[i] / 2;
                }
                ct3d_plan *plan = new_plan(&p, NULL, 2);
                uint64_t bytes = 0;
                assert_ok(ct3d_plan_workspace_size(plan, &bytes));
                const int64_t elements = x_count(&p) + y_count(&p) + w_count(&p);
                assert_in_range(bytes, 0, 2 * 4 * (uint64_t)elements + 2 * (1 << 20));
                ct3d_destroy_plan(&plan);
            }
}

static void description_tells_the_phases(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = 16;
        p.dilation[axis] = 2;
    }
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    expect_description(plan, CT3D_DESCRIBE_TEXT, "phases");
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"phases\":1,");
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"bias_only_share\":0.88602"); /* 1 - 16^3 / 33^3 */
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"backend\":\"cpu\"");
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"threads\":1,");
    ct3d_destroy_plan(&plan);
}

static void description_is_cut_to_the_capacity(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    char *whole = describe(plan, CT3D_DESCRIBE_TEXT);
    const size_t length = strlen(whole);
    for (size_t capacity = 1; capacity <= length + 3; ++capacity) {
        char *text = malloc(capacity + 1);
        assert_non_null(text);
        memset(text, '#', capacity + 1);
        size_t needed = 0;
        assert_ok(ct3d_describe_plan(plan, CT3D_DESCRIBE_TEXT, text, capacity, &needed));
        assert_int_equal(needed, length + 1);
        const size_t expected = capacity <= length ? capacity - 1 : length;
        assert_int_equal(strlen(text), expected);
        assert_memory_equal(text, whole, expected);
        assert_int_equal(text[capacity], '#');
        free(text);
    }
    free(whole);
    char byte = '#';
    assert_ok(ct3d_describe_plan(plan, CT3D_DESCRIBE_TEXT, &byte, 0, NULL));
    assert_int_equal(byte, '#');
    ct3d_destroy_plan(&plan);
}

static void null_arguments_are_refused(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan *plan = new_plan(&p, NULL, 1);
    ct3d_buffers buffers;
    ct3d_buffers_init(&buffers, sizeof buffers);
    uint64_t bytes;
    char text[8];
    assert_status(ct3d_plan_workspace_size(NULL, &bytes), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_plan_workspace_size(plan, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_plan_device(NULL, NULL, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_describe_plan(NULL, CT3D_DESCRIBE_TEXT, text, sizeof text, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_describe_plan(plan, CT3D_DESCRIBE_TEXT, NULL, 1, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_describe_plan(plan, 2, text, sizeof text, NULL), CT3D_INVALID_ARGUMENT);
    expect_message("format", "2");
    assert_status(ct3d_execute(NULL, &buffers), CT3D_INVALID_ARGUMENT);
    expect_message("plan", NULL);
    assert_status(ct3d_execute(plan, NULL), CT3D_INVALID_ARGUMENT);
    expect_message("buffers", NULL);
    ct3d_destroy_plan(&plan);
}

static void destroy_takes_null_and_nulls(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan *plan = NULL;
    ct3d_destroy_plan(NULL);
    ct3d_destroy_plan(&plan);
    assert_null(plan);
    plan = new_plan(&p, NULL, 1);
    ct3d_destroy_plan(&plan);
    assert_null(plan);
}

static void problem_and_options_are_not_kept(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    char kernel[] = "direct";
    ct3d_plan *plan = new_plan(&p, kernel, 1);
    memset(&p, 0xff, sizeof p);
    memset(kernel, 'x', sizeof kernel - 1);
    expect_description(plan, CT3D_DESCRIBE_JSON, "\"kernel\":\"direct\"");
    ct3d_destroy_plan(&plan);
}

static void *fail_with_stride(void *unused) {
    (void)unused;
    if (strcmp(ct3d_last_error(), "") != 0)
        return (void *)"a new thread has a message already";
    ct3d_problem p = small_problem();
    p.stride[2] = -123;
    int64_t shape[5];
    if (ct3d_output_shape(&p, shape) != CT3D_INVALID_ARGUMENT || !strstr(ct3d_last_error(), "-123"))
        return (void *)"no message in the failing thread";
    return NULL;
}

static void last_error_belongs_to_the_thread(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    p.kernel[0] = -77;
    int64_t shape[5];
    assert_status(ct3d_output_shape(&p, shape), CT3D_INVALID_ARGUMENT);
    pthread_t thread;
    void *complaint = NULL;
    assert_int_equal(pthread_create(&thread, NULL, fail_with_stride, NULL), 0);
    assert_int_equal(pthread_join(thread, &complaint), 0);
    if (complaint)
        fail_msg("%s", (const char *)complaint);
    expect_message("-77", "kernel[0]");
    p = small_problem();
    assert_ok(ct3d_output_shape(&p, shape));
    expect_message("-77", NULL); /* a success leaves the message alone */
}

typedef struct {
    int lines[3];
    char last[1024];
} log_record;

static void record(void *user, int32_t level, const char *message) {
    log_record *log = user;
    assert_in_range(level, 1, 2);
    assert_null(strchr(message, '\n'));
    ++log->lines[level];
    strncpy(log->last, message, sizeof log->last - 1);
}

/* CT3D_VERBOSE is not set here, so a callback gets a line per plan. */
static void log_callback_gets_a_line_per_plan(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    log_record log;
    memset(&log, 0, sizeof log);
    ct3d_set_log_callback(record, &log);
    ct3d_plan *plan = new_plan(&p, "direct", 1);
    assert_int_equal(log.lines[1], 1);
    assert_int_equal(log.lines[2], 0);
    assert_non_null(strstr(log.last, "direct"));
    ct3d_set_log_callback(NULL, NULL);
    ct3d_destroy_plan(&plan);
    plan = new_plan(&p, NULL, 1);
    assert_int_equal(log.lines[1], 1);
    ct3d_destroy_plan(&plan);
}

/* No process should be made to start a hundred thousand threads. */
static void threads_are_cut_to_the_processors(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan *plan = new_plan(&p, NULL, 200000);
    char text[4096];
    assert_ok(ct3d_describe_plan(plan, CT3D_DESCRIBE_JSON, text, sizeof text, NULL));
    const char *threads = strstr(text, "\"threads\":");
    assert_non_null(threads);
    assert_in_range(strtol(threads + strlen("\"threads\":"), NULL, 10), 1, 4096);
    ct3d_destroy_plan(&plan);
}

int main(void) {
    unsetenv("CT3D_KERNEL");
    unsetenv("CT3D_VERBOSE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(threads_are_cut_to_the_processors),
        cmocka_unit_test(backends_without_devices_say_why),
        cmocka_unit_test(forced_kernel_is_obeyed),
        cmocka_unit_test(forced_kernel_that_is_unknown_or_refuses_is_unsupported),
        cmocka_unit_test(environment_forces_a_kernel_unless_the_option_does),
        cmocka_unit_test(environment_does_not_choose_the_backend),
        cmocka_unit_test(max_workspace_is_kept),
        cmocka_unit_test(workspace_is_bounded),
        cmocka_unit_test(description_tells_the_phases),
        cmocka_unit_test(description_is_cut_to_the_capacity),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(destroy_takes_null_and_nulls),
        cmocka_unit_test(problem_and_options_are_not_kept),
        cmocka_unit_test(last_error_belongs_to_the_thread),
        cmocka_unit_test(log_callback_gets_a_line_per_plan),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
