/* SPDX-License-Identifier: MIT */
#include "driver_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void (*fail_calls)(long, long, int);
void (*fail_function)(const char *, int);
const char *(*call)(long);
standin_state (*observe)(void);

void *symbol(const char *name) {
    void *driver = dlopen(kind.library, RTLD_NOW);
    assert_non_null(driver);
    return dlsym(driver, name);
}

void open_standin(void) {
    *(void **)&fail_calls = symbol("standin_fail");
    *(void **)&fail_function = symbol("standin_fail_function");
    *(void **)&call = symbol("standin_call");
    *(void **)&observe = symbol("standin_observe");
    assert_non_null(observe);
}

void expect_nothing_left(void) {
    const standin_state state = observe();
    assert_int_equal(state.allocations, 0);
    assert_int_equal(state.contexts, 0);
}

void expect_no_error_left(void) {
    if (kind.last_error)
        assert_int_equal(kind.last_error(), 0);
}

static int is_among(const char *name, const char *const *names) {
    for (; *names; ++names)
        if (strcmp(name, *names) == 0)
            return 1;
    return 0;
}

void expect_calls_among(const char *const *allowed) {
    for (long n = 0; call(n); ++n)
        if (!is_among(call(n), allowed))
            fail_msg("execute calls %s", call(n));
}

static int can_be_done_without(const char *function) { return is_among(function, kind.dispensable); }

enum { second = 1 }; /* a device that is not a thread's own from the start */

/* Calls of the driver fail from the `first`-th on; then the driver is well again. */
int fail_and_recover(long first, long count, int result, const char *kernel) {
    open_standin();
    job j = new_job(kind.backend, second, kernel);
    fail_calls(first, count, result);
    const ct3d_status status = run(&j);
    const char *failed = observe().failed;
    if (!failed) {
        assert_ok(status);
        return child_came_to_the_end;
    }
    const char *const named = count > 1 ? "failed" : failed; /* the first of many may be one that does not matter */
    if (status == CT3D_SUCCESS) {
        if (!can_be_done_without(failed))
            fail_msg("%s failed, and nobody said so", failed);
        expect_right(&j);
    } else if (j.reason[0]) { /* there was no device */
        assert_int_equal(status, CT3D_UNSUPPORTED);
        assert_non_null(strstr(j.reason, named));
    } else if (status == CT3D_UNSUPPORTED) { /* there was none any more when the plan asked */
        expect_message(named, "no device");
    } else {
        assert_int_equal(status, result == out_of_memory ? CT3D_OUT_OF_MEMORY : CT3D_DEVICE_ERROR);
        expect_message(named, "failed");
    }
    printf("%s: %s %s\n", failed, ct3d_status_string(status), j.reason[0] ? j.reason : ct3d_last_error());

    fail_calls(0, 0, 0);
    expect_no_error_left();
    assert_ok(release(&j));
    assert_ok(run(&j));
    expect_right(&j);
    expect_nothing_left();
    return child_passed;
}

/* The driver has no function of that name. */
int miss(const char *function) {
    open_standin();
    job j = new_job(kind.backend, second, NULL);
    const ct3d_status status = run(&j);
    if (status == CT3D_SUCCESS) {
        if (!can_be_done_without(function))
            fail_msg("nobody misses %s", function);
        expect_right(&j);
        return child_passed;
    }
    assert_int_equal(status, CT3D_UNSUPPORTED);
    const char *message = j.reason[0] ? j.reason : ct3d_last_error();
    assert_non_null(strstr(message, "too old"));
    assert_non_null(strstr(message, function));
    ct3d_destroy_plan(&j.plan);
    return child_passed;
}

static int called_before(long n) {
    for (long i = 0; i < n; ++i)
        if (strcmp(call(i), call(n)) == 0)
            return 1;
    return 0;
}

/* The functions that a run calls, a line each. */
int list_calls(void) {
    open_standin();
    job j = new_job(kind.backend, second, NULL);
    fail_calls(0, 0, 0);
    assert_ok(run(&j));
    for (long n = 0; call(n); ++n)
        if (!called_before(n))
            puts(call(n));
    return child_passed;
}

/* There is no device, for a reason that holds the text; all else says so too. */
int expect_no_device(const char *text) {
    job j = new_job(kind.backend, 0, NULL);
    assert_int_equal(find_device(&j), CT3D_UNSUPPORTED);
    if (!strstr(j.reason, text))
        fail_msg("\"%s\" is not in \"%s\"", text, j.reason);
    assert_status(plan(&j), CT3D_UNSUPPORTED);
    expect_message(text, kind.name);
    assert_status(ct3d_alloc(kind.backend, 0, 16, &j.memory[0]), CT3D_UNSUPPORTED);
    job cpu = new_job(CT3D_BACKEND_CPU, 0, NULL);
    assert_ok(run(&cpu));
    return child_passed;
}

/* Without the stand-in. The machine may have a driver: one that works, or one that finds no device and says why. */
int expect_no_library(const char *text) {
    job j = new_job(kind.backend, 0, NULL);
    if (find_device(&j) == CT3D_SUCCESS)
        return child_came_to_the_end;
    assert_true(j.reason[0] != 0);
    return expect_no_device(strstr(j.reason, text) ? text : "Init failed");
}

int expect_device(const char *arch, int32_t device) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    assert_ok(ct3d_get_device_info(kind.backend, device, &info));
    assert_string_equal(info.arch, arch);
    open_standin();
    job j = new_job(kind.backend, device, NULL);
    assert_ok(run(&j));
    expect_right(&j);
    expect_nothing_left();
    return child_passed;
}

int image_has_no_code(void) {
    open_standin();
    fail_function(kind.loads_code, no_binary_for_gpu);
    job j = new_job(kind.backend, 0, NULL);
    assert_status(plan(&j), CT3D_UNSUPPORTED);
    expect_message("has no code", kind.arch);
    fail_function(NULL, 0);
    expect_no_error_left();
    assert_ok(run(&j));
    expect_right(&j);
    return child_passed;
}

int forked_child_is_told(void) {
    job j = new_job(kind.backend, 0, NULL);
    assert_ok(plan(&j));
    assert_ok(upload(&j));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        assert_status(execute(&j, NULL), CT3D_UNSUPPORTED);
        expect_message("forked", NULL);
        job fresh = new_job(kind.backend, 0, NULL);
        assert_status(plan(&fresh), CT3D_UNSUPPORTED);
        expect_message("forked", NULL);
        job cpu = new_job(CT3D_BACKEND_CPU, 0, NULL);
        assert_ok(run(&cpu));
        _exit(child_passed);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == child_passed);
    assert_ok(execute(&j, NULL));
    assert_ok(release(&j));
    return child_passed;
}
