/* SPDX-License-Identifier: MIT */
/* Results are the same bit for bit: from run to run, from thread to thread, whatever else is in the batch. */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {NULL, "direct", "phase", "onednn", "onednn_phase"};
static const int32_t dtypes[] = {CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64};
enum { repeats = 5, callers = 8 };

/* A problem with its inputs and memory for one result. The inputs are shared, the result belongs to one run. */
typedef struct {
    ct3d_problem problem;
    ct3d_plan *plan;
    ct3d_buffers buffers;
    size_t result_bytes;
} fixture;

static ct3d_problem medium_problem(int32_t op, int32_t dtype, int32_t layout) {
    ct3d_problem p = small_problem();
    p.op = op;
    p.dtype = dtype;
    p.layout = layout;
    p.batch = 3;
    p.in_channels = 19;
    p.out_channels = 21;
    for (int axis = 0; axis < 3; ++axis)
        p.in[axis] = 5 + axis;
    return p;
}

static void **result_slot(const ct3d_problem *p, ct3d_buffers *b) {
    if (p->op == CT3D_FORWARD)
        return &b->y;
    return p->op == CT3D_BACKWARD_DATA ? &b->dx : &b->dw;
}

static int64_t result_count(const ct3d_problem *p) {
    if (p->op == CT3D_FORWARD)
        return y_count(p);
    return p->op == CT3D_BACKWARD_DATA ? x_count(p) : w_count(p);
}

/* 0 where the kernel does not take the problem. */
static int make(fixture *f, ct3d_problem p, const char *kernel) {
    uint64_t random = 42;
    f->problem = p;
    f->plan = new_plan(&p, kernel, 2);
    if (!f->plan)
        return 0;
    ct3d_buffers_init(&f->buffers, sizeof f->buffers);
    f->buffers.x = new_random_tensor(p.dtype, x_count(&p), &random);
    f->buffers.w = new_random_tensor(p.dtype, w_count(&p), &random);
    f->buffers.bias = new_random_tensor(p.dtype, p.out_channels, &random);
    f->buffers.dy = new_random_tensor(p.dtype, y_count(&p), &random);
    f->buffers.dbias = NULL;
    f->result_bytes = (size_t)result_count(&p) * element_size(p.dtype);
    return 1;
}

static void release(fixture *f) {
    free((void *)(uintptr_t)f->buffers.x);
    free((void *)(uintptr_t)f->buffers.w);
    free((void *)(uintptr_t)f->buffers.bias);
    free((void *)(uintptr_t)f->buffers.dy);
    ct3d_destroy_plan(&f->plan);
}

static void *run(const fixture *f) {
    ct3d_buffers b = f->buffers;
    void *result = malloc(f->result_bytes);
    assert_non_null(result);
    memset(result, 0xff, f->result_bytes);
    *result_slot(&f->problem, &b) = result;
    assert_ok(run_plan(f->plan, b));
    return result;
}

static void repeated_runs_are_bit_equal(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (int op = CT3D_FORWARD; op <= CT3D_BACKWARD_WEIGHTS; ++op)
            for (size_t d = 0; d < 4; ++d)
                for (int layout = CT3D_NCDHW; layout <= CT3D_NDHWC; ++layout) {
                    fixture f;
                    if (!make(&f, medium_problem(op, dtypes[d], layout), kernels[k]))
                        continue;
                    void *first = run(&f);
                    for (int i = 1; i < repeats; ++i) {
                        void *again = run(&f);
                        assert_memory_equal(first, again, f.result_bytes);
                        free(again);
                    }
                    free(first);
                    release(&f);
                }
}

/* What a thread needs to run a plan that others run at the same time; no assertion there, cmocka is not for threads. */
typedef struct {
    const fixture *fixture;
    ct3d_buffers buffers;
    ct3d_status status;
} call;

static void *execute_repeatedly(void *argument) {
    call *c = argument;
    c->status = CT3D_SUCCESS;
    for (int i = 0; i < repeats && c->status == CT3D_SUCCESS; ++i)
        c->status = ct3d_execute(c->fixture->plan, &c->buffers);
    return NULL;
}

static void expect_concurrent_runs_equal(const fixture *f) {
    void *serial = run(f);
    pthread_t threads[callers];
    call calls[callers];
    for (int i = 0; i < callers; ++i) {
        calls[i].fixture = f;
        calls[i].buffers = f->buffers;
        assert_ok(ct3d_plan_workspace_size(f->plan, &calls[i].buffers.workspace_size));
        assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, calls[i].buffers.workspace_size, &calls[i].buffers.workspace));
        *result_slot(&f->problem, &calls[i].buffers) = calloc(1, f->result_bytes);
    }
    for (int i = 0; i < callers; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, execute_repeatedly, &calls[i]), 0);
    for (int i = 0; i < callers; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < callers; ++i) {
        void *result = *result_slot(&f->problem, &calls[i].buffers);
        assert_int_equal(calls[i].status, CT3D_SUCCESS);
        assert_memory_equal(serial, result, f->result_bytes);
        free(result);
        assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, calls[i].buffers.workspace));
    }
    free(serial);
}

static void one_plan_in_eight_threads_equals_the_serial_result(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (int op = CT3D_FORWARD; op <= CT3D_BACKWARD_WEIGHTS; ++op)
            for (size_t d = 0; d < 4; ++d) {
                fixture f;
                if (!make(&f, medium_problem(op, dtypes[d], CT3D_NCDHW), kernels[k]))
                    continue;
                expect_concurrent_runs_equal(&f);
                release(&f);
            }
}

/* The middle sample of three, with ordinary neighbours and between samples that are not even finite. */
static void samples_do_not_depend_on_each_other(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (int op = CT3D_FORWARD; op <= CT3D_BACKWARD_DATA; ++op)
            for (size_t d = 0; d < 4; ++d)
                for (int layout = CT3D_NCDHW; layout <= CT3D_NDHWC; ++layout) {
                    fixture f;
                    const ct3d_problem p = medium_problem(op, dtypes[d], layout);
                    if (!make(&f, p, kernels[k]))
                        continue;
                    void *source = (void *)(uintptr_t)(op == CT3D_FORWARD ? f.buffers.x : f.buffers.dy);
                    const int64_t sample = (op == CT3D_FORWARD ? x_count(&p) : y_count(&p)) / 3;
                    void *before = run(&f);
                    for (int64_t i = 0; i < sample; ++i) {
                        store(source, p.dtype, i, (double)INFINITY);
                        store(source, p.dtype, 2 * sample + i, i % 2 ? (double)NAN : 100.0);
                    }
                    void *after = run(&f);
                    const size_t third = f.result_bytes / 3;
                    assert_memory_equal((char *)before + third, (char *)after + third, third);
                    free(before);
                    free(after);
                    release(&f);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_runs_are_bit_equal),
        cmocka_unit_test(one_plan_in_eight_threads_equals_the_serial_result),
        cmocka_unit_test(samples_do_not_depend_on_each_other),
    };
    return cmocka_run_group_tests_name("determinism", tests, NULL, NULL);
}
