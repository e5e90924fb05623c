/* SPDX-License-Identifier: MIT */
/* After fork, the parent's plan and a new one both run in the child: no thread pool survives there. */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const kernels[] = {NULL, "direct", "phase", "onednn", "onednn_phase"};

enum { child_ok = 0, child_old_plan = 10, child_new_plan = 20, child_differs = 30, seconds_for_a_child = 60 };

typedef struct {
    ct3d_problem problem;
    const char *kernel;
    ct3d_buffers buffers;
    void *expected;
    size_t result_bytes;
} job;

/* Fits both results: the child's may differ in the order of sums, since it has one thread. */
static int close_to_expected(const job *j) {
    const float *got = j->problem.op == CT3D_FORWARD ? j->buffers.y : j->buffers.dw, *expected = j->expected;
    for (size_t i = 0; i < j->result_bytes / sizeof *got; ++i)
        if (!(got[i] - expected[i] < 1e-4f && expected[i] - got[i] < 1e-4f))
            return 0;
    return 1;
}

static void clear(const job *j) {
    memset(j->problem.op == CT3D_FORWARD ? j->buffers.y : j->buffers.dw, 0xff, j->result_bytes);
}

static int run_in_child(const job *j, const ct3d_plan *plan) {
    clear(j);
    if (ct3d_execute(plan, &j->buffers) != CT3D_SUCCESS)
        return child_old_plan;
    if (!close_to_expected(j))
        return child_old_plan + child_differs;

    ct3d_plan *fresh = NULL;
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.kernel = j->kernel;
    ct3d_buffers b = j->buffers;
    clear(j);
    if (ct3d_create_plan(&fresh, &j->problem, &options) != CT3D_SUCCESS ||
        ct3d_plan_workspace_size(fresh, &b.workspace_size) != CT3D_SUCCESS ||
        ct3d_alloc(CT3D_BACKEND_CPU, 0, b.workspace_size, &b.workspace) != CT3D_SUCCESS ||
        ct3d_execute(fresh, &b) != CT3D_SUCCESS)
        return child_new_plan;
    ct3d_destroy_plan(&fresh);
    return close_to_expected(j) ? child_ok : child_new_plan + child_differs;
}

static void expect_child_runs(const job *j, const ct3d_plan *plan) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(seconds_for_a_child); /* a hang ends in a signal, which the parent sees */
        _exit(run_in_child(j, plan));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("kernel %s: the child was ended by signal %d", j->kernel ? j->kernel : "(default)", WTERMSIG(status));
    if (WEXITSTATUS(status) != child_ok)
        fail_msg("kernel %s: the child says %d", j->kernel ? j->kernel : "(default)", WEXITSTATUS(status));
}

static job make_job(int32_t op, const char *kernel, const ct3d_plan *plan, ct3d_problem p) {
    uint64_t random = 7;
    job j;
    j.problem = p;
    j.kernel = kernel;
    ct3d_buffers_init(&j.buffers, sizeof j.buffers);
    j.buffers.x = new_random_tensor(CT3D_F32, x_count(&p), &random);
    j.buffers.w = new_random_tensor(CT3D_F32, w_count(&p), &random);
    j.buffers.bias = new_random_tensor(CT3D_F32, p.out_channels, &random);
    j.buffers.dy = new_random_tensor(CT3D_F32, y_count(&p), &random);
    j.buffers.y = new_tensor(CT3D_F32, y_count(&p));
    j.buffers.dw = new_tensor(CT3D_F32, w_count(&p));
    j.result_bytes = (size_t)(op == CT3D_FORWARD ? y_count(&p) : w_count(&p)) * sizeof(float);
    assert_ok(ct3d_plan_workspace_size(plan, &j.buffers.workspace_size));
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, j.buffers.workspace_size, &j.buffers.workspace));
    assert_ok(ct3d_execute(plan, &j.buffers));
    j.expected = malloc(j.result_bytes);
    assert_non_null(j.expected);
    memcpy(j.expected, op == CT3D_FORWARD ? j.buffers.y : j.buffers.dw, j.result_bytes);
    return j;
}

static void release(job *j) {
    free((void *)(uintptr_t)j->buffers.x);
    free((void *)(uintptr_t)j->buffers.w);
    free((void *)(uintptr_t)j->buffers.bias);
    free((void *)(uintptr_t)j->buffers.dy);
    free(j->buffers.y);
    free(j->buffers.dw);
    free(j->expected);
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, j->buffers.workspace));
}

static void plans_run_after_fork(void **state) {
    (void)state;
    static const int32_t ops[] = {CT3D_FORWARD, CT3D_BACKWARD_WEIGHTS};
    for (size_t o = 0; o < 2; ++o)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k) {
            ct3d_problem p = small_problem();
            p.op = ops[o];
            p.in_channels = p.out_channels = 16;
            for (int axis = 0; axis < 3; ++axis)
                p.in[axis] = 8;
            ct3d_plan *plan = new_plan(&p, kernels[k], 2);
            if (!plan)
                continue;
            job j = make_job(ops[o], kernels[k], plan, p);
            expect_child_runs(&j, plan);
            assert_ok(ct3d_execute(plan, &j.buffers)); /* and the parent goes on */
            assert_memory_equal(p.op == CT3D_FORWARD ? j.buffers.y : j.buffers.dw, j.expected, j.result_bytes);
            release(&j);
            ct3d_destroy_plan(&plan);
        }
}

typedef struct {
    int stop; /* atomic */
    ct3d_problem problem;
} planner;

static int make_a_plan(const ct3d_problem *p) {
    ct3d_plan *plan = NULL;
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.kernel = "direct"; /* oneDNN has locks of its own */
    const ct3d_status status = ct3d_create_plan(&plan, p, &options);
    ct3d_destroy_plan(&plan);
    return status == CT3D_SUCCESS;
}

static void *keep_planning(void *argument) {
    planner *p = argument;
    while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE))
        if (!make_a_plan(&p->problem))
            return p;
    return NULL;
}

/* A lock that the other thread holds at the fork would stay taken in the child. */
static void child_plans_after_a_fork_amid_planning(void **state) {
    (void)state;
    planner p;
    p.stop = 0;
    p.problem = small_problem();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, keep_planning, &p), 0);
    for (int i = 0; i < 1000; ++i) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(seconds_for_a_child);
            _exit(make_a_plan(&p.problem) ? child_ok : child_new_plan);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == child_ok);
    }
    __atomic_store_n(&p.stop, 1, __ATOMIC_RELEASE);
    void *failed = NULL;
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_run_after_fork),
        cmocka_unit_test(child_plans_after_a_fork_amid_planning),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
