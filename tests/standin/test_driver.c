/* SPDX-License-Identifier: MIT */
/* The CUDA backend on the stand-in driver: each driver call failing in turn, drivers that are absent, old or without a
 * device, and what execute may call.
 *
 * A process opens one driver once, so each scenario is a process: this program, called again with what to do. */
#define _GNU_SOURCE /* dladdr */
#include "control.h"
#include "support.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { unknown_error = 999, out_of_memory = 2, no_binary_for_gpu = 209 };
enum { child_passed = 0, child_came_to_the_end = 40, child_failed = 50 };

static const char library[] = "libcuda.so.1";

static void (*fail_calls)(long, long, int);
static void (*fail_function)(const char *, int);
static const char *(*call)(long);
static standin_state (*observe)(void);

static void *symbol(const char *name) {
    void *driver = dlopen(library, RTLD_NOW);
    assert_non_null(driver);
    return dlsym(driver, name);
}

static void open_standin(void) {
    *(void **)&fail_calls = symbol("standin_fail");
    *(void **)&fail_function = symbol("standin_fail_function");
    *(void **)&call = symbol("standin_call");
    *(void **)&observe = symbol("standin_observe");
    assert_non_null(observe);
}

/* ---- a problem, from the first question for devices to the result */

typedef struct {
    ct3d_problem problem;
    int32_t backend, device;
    const char *kernel;
    ct3d_plan *plan;
    void *memory[5]; /* x, w, bias, y, workspace */
    void *host[4];
    char reason[512]; /* why there is no device */
} job;

/* Kept until the process ends. */
static void *keep(void *memory) {
    static void *kept[64];
    static size_t count;
    assert_true(count < sizeof kept / sizeof *kept);
    return kept[count++] = memory;
}

static job new_job(int32_t backend, int32_t device, const char *kernel) {
    job j;
    memset(&j, 0, sizeof j);
    j.problem = small_problem();
    j.backend = backend;
    j.device = device;
    j.kernel = kernel;
    uint64_t random = 5;
    j.host[0] = keep(new_random_tensor(CT3D_F32, x_count(&j.problem), &random));
    j.host[1] = keep(new_random_tensor(CT3D_F32, w_count(&j.problem), &random));
    j.host[2] = keep(new_random_tensor(CT3D_F32, j.problem.out_channels, &random));
    j.host[3] = keep(new_tensor(CT3D_F32, y_count(&j.problem)));
    return j;
}

static uint64_t bytes_of(const job *j, int tensor) {
    const int64_t counts[] = {x_count(&j->problem), w_count(&j->problem), j->problem.out_channels,
                              y_count(&j->problem)};
    return (uint64_t)counts[tensor] * sizeof(float);
}

#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        const ct3d_status try_status = (step);                                                                         \
        if (try_status != CT3D_SUCCESS)                                                                                \
            return try_status;                                                                                         \
    } while (0)

static ct3d_status find_device(job *j) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    TRY(ct3d_get_backend_info(j->backend, &info));
    snprintf(j->reason, sizeof j->reason, "%s", info.reason);
    if ((info.device_count == 0) != (info.reason[0] != '\0'))
        fail_msg("%d devices, reason \"%s\"", (int)info.device_count, info.reason);
    return info.device_count > j->device ? CT3D_SUCCESS : CT3D_UNSUPPORTED;
}

static ct3d_status plan(job *j) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.backend = j->backend;
    options.device = j->device;
    options.kernel = j->kernel;
    return ct3d_create_plan(&j->plan, &j->problem, &options);
}

static ct3d_status upload(job *j) {
    for (int i = 0; i < 4; ++i) {
        TRY(ct3d_alloc(j->backend, j->device, bytes_of(j, i), &j->memory[i]));
        TRY(ct3d_copy(j->backend, j->device, j->memory[i], j->host[i], bytes_of(j, i)));
    }
    uint64_t workspace = 0;
    TRY(ct3d_plan_workspace_size(j->plan, &workspace));
    return ct3d_alloc(j->backend, j->device, workspace, &j->memory[4]);
}

static ct3d_status execute(const job *j, void *stream) {
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = j->memory[0];
    b.w = j->memory[1];
    b.bias = j->memory[2];
    b.y = j->memory[3];
    b.workspace = j->memory[4];
    TRY(ct3d_plan_workspace_size(j->plan, &b.workspace_size));
    b.stream = stream;
    return ct3d_execute(j->plan, &b);
}

static ct3d_status release(job *j) {
    ct3d_destroy_plan(&j->plan);
    for (int i = 0; i < 5; ++i) {
        TRY(ct3d_free(j->backend, j->device, j->memory[i]));
        j->memory[i] = NULL;
    }
    return CT3D_SUCCESS;
}

static ct3d_status run(job *j) {
    memset(j->host[3], 0xff, bytes_of(j, 3));
    TRY(find_device(j));
    TRY(plan(j));
    TRY(upload(j));
    TRY(execute(j, NULL));
    TRY(ct3d_synchronize(j->backend, j->device));
    TRY(ct3d_copy(j->backend, j->device, j->host[3], j->memory[3], bytes_of(j, 3)));
    return release(j);
}

static void expect_right(const job *j) {
    job cpu = new_job(CT3D_BACKEND_CPU, 0, NULL);
    assert_ok(run(&cpu));
    const float *got = j->host[3], *expected = cpu.host[3];
    for (size_t i = 0; i < bytes_of(j, 3) / sizeof *got; ++i)
        if (!(fabsf(got[i] - expected[i]) < 1e-5f))
            fail_msg("y[%zu] is %g, expected %g", i, (double)got[i], (double)expected[i]);
}

static void expect_nothing_left(void) {
    const standin_state state = observe();
    assert_int_equal(state.allocations, 0);
    assert_int_equal(state.contexts, 0);
}

/* ---- scenarios: each runs in a process of its own */

/* Whether the library goes on without this function. */
static int can_be_done_without(const char *function) {
    static const char *const names[] = {"cuCtxPopCurrent_v2", "cuGetErrorName", "cuFuncLoad"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(function, names[i]) == 0)
            return 1;
    return 0;
}

/* Calls of the driver fail from the `first`-th on; then the driver is well again. */
static int fail_and_recover(long first, long count, int result, const char *kernel) {
    open_standin();
    job j = new_job(CT3D_BACKEND_CUDA, 0, kernel);
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
    assert_ok(release(&j));
    assert_ok(run(&j));
    expect_right(&j);
    expect_nothing_left();
    return child_passed;
}

/* The driver has no function of that name. */
static int miss(const char *function) {
    open_standin();
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
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
static int list_calls(void) {
    open_standin();
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
    fail_calls(0, 0, 0);
    assert_ok(run(&j));
    for (long n = 0; call(n); ++n)
        if (!called_before(n))
            puts(call(n));
    return child_passed;
}

/* There is no device, for a reason that holds the text; all else says so too. */
static int expect_no_device(const char *text) {
    if (strcmp(text, library) == 0 && dlopen(library, RTLD_NOW))
        return child_came_to_the_end; /* this machine has a driver */
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
    assert_int_equal(find_device(&j), CT3D_UNSUPPORTED);
    if (!strstr(j.reason, text))
        fail_msg("\"%s\" is not in \"%s\"", text, j.reason);
    assert_status(plan(&j), CT3D_UNSUPPORTED);
    expect_message(text, "cuda");
    assert_status(ct3d_alloc(CT3D_BACKEND_CUDA, 0, 16, &j.memory[0]), CT3D_UNSUPPORTED);
    job cpu = new_job(CT3D_BACKEND_CPU, 0, NULL);
    assert_ok(run(&cpu));
    return child_passed;
}

static int expect_device(const char *arch, int32_t device) {
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    assert_ok(ct3d_get_device_info(CT3D_BACKEND_CUDA, device, &info));
    assert_string_equal(info.arch, arch);
    open_standin();
    job j = new_job(CT3D_BACKEND_CUDA, device, NULL);
    assert_ok(run(&j));
    expect_right(&j);
    expect_nothing_left();
    return child_passed;
}

static int image_has_no_code(void) {
    open_standin();
    fail_function("cuModuleLoadData", no_binary_for_gpu);
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
    assert_status(plan(&j), CT3D_UNSUPPORTED);
    expect_message("has no code", "sm_90");
    fail_function(NULL, 0);
    assert_ok(run(&j));
    expect_right(&j);
    return child_passed;
}

/* Nothing but enqueuing, also the first time; on the stream of the caller, whose context stays current. */
static int execute_enqueues(void) {
    static const char *const allowed[] = {"cuCtxPushCurrent_v2", "cuLaunchKernel",  "cuLaunchKernelEx",
                                          "cuCtxPopCurrent_v2",  "cuMemsetD8Async", "cuTensorMapEncodeTiled"};
    open_standin();
    int (*retain)(void **, int), (*push)(void *), (*current)(void **), (*create)(void **, unsigned), (*destroy)(void *);
    *(void **)&retain = symbol("cuDevicePrimaryCtxRetain");
    *(void **)&push = symbol("cuCtxPushCurrent_v2");
    *(void **)&current = symbol("cuCtxGetCurrent");
    *(void **)&create = symbol("cuStreamCreate");
    *(void **)&destroy = symbol("cuStreamDestroy_v2");
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
    assert_ok(plan(&j));
    assert_ok(upload(&j));
    void *own = NULL, *other = NULL, *stream = NULL, *now = NULL;
    assert_int_equal(retain(&own, 0), 0);
    assert_int_equal(push(own), 0);
    assert_int_equal(create(&stream, 0), 0);
    assert_int_equal(retain(&other, 1), 0);
    assert_int_equal(push(other), 0);

    fail_calls(0, 0, 0);
    assert_ok(execute(&j, stream));
    const standin_state state = observe();
    assert_true(state.launches >= 1 && state.launches <= 2); /* the kernel, and at most a packing of weights */
    assert_int_equal(state.waits, 0);
    assert_ptr_equal(state.stream, stream);
    for (long n = 0; call(n); ++n) {
        int found = 0;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; ++i)
            found |= strcmp(call(n), allowed[i]) == 0;
        if (!found)
            fail_msg("execute calls %s", call(n));
    }
    assert_int_equal(current(&now), 0);
    assert_ptr_equal(now, other);
    assert_int_equal(observe().contexts, 2);
    assert_ok(release(&j));
    assert_int_equal(destroy(stream), 0);
    return child_passed;
}

static int forked_child_is_told(void) {
    job j = new_job(CT3D_BACKEND_CUDA, 0, NULL);
    assert_ok(plan(&j));
    assert_ok(upload(&j));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        assert_status(execute(&j, NULL), CT3D_UNSUPPORTED);
        expect_message("forked", NULL);
        job fresh = new_job(CT3D_BACKEND_CUDA, 0, NULL);
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

static int argument_count;
static char **arguments;
static int outcome = child_failed;

static int scenario(void) {
    const char *what = arguments[1];
    const char *text = argument_count > 2 ? arguments[2] : "";
    if (strcmp(what, "fail") == 0)
        return fail_and_recover(atol(text), atol(arguments[3]), atoi(arguments[4]),
                                argument_count > 5 ? arguments[5] : NULL);
    if (strcmp(what, "miss") == 0)
        return miss(text);
    if (strcmp(what, "list") == 0)
        return list_calls();
    if (strcmp(what, "no device") == 0)
        return expect_no_device(text);
    if (strcmp(what, "device") == 0)
        return expect_device(text, atoi(arguments[3]));
    if (strcmp(what, "no code") == 0)
        return image_has_no_code();
    if (strcmp(what, "execute") == 0)
        return execute_enqueues();
    return forked_child_is_told();
}

static void run_scenario(void **state) {
    (void)state;
    outcome = scenario();
}

static int child(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_scenario)};
    return cmocka_run_group_tests_name("child", tests, NULL, NULL) ? child_failed : outcome;
}

/* ---- the parent */

/* Runs this program again and reads its output. `setting` is NAME=VALUE for its environment, or NULL. */
static int run_child(const char *setting, char *output, size_t capacity, const char *const *given) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (setting)
            putenv((char *)(uintptr_t)setting);
        alarm(60);
        char *argv[8] = {(char *)(uintptr_t) "test_driver"};
        for (int i = 0; given[i]; ++i)
            argv[i + 1] = (char *)(uintptr_t)given[i];
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], output + length, capacity - 1 - length)) > 0;)
        length += (size_t)got;
    output[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char output[1 << 16];

static void expect_child(const char *setting, const char *const *given) {
    const int got = run_child(setting, output, sizeof output, given);
    if (got != child_passed)
        fail_msg("%s: the child says %d: %s", given[0], got, output);
}

static void each_call(const char *count, const char *result, const char *kernel) {
    for (long n = 1;; ++n) {
        char number[24];
        snprintf(number, sizeof number, "%ld", n);
        const char *const given[] = {"fail", number, count, result, kernel, NULL};
        const int got = run_child(NULL, output, sizeof output, given);
        if (got == child_came_to_the_end) {
            assert_true(n > 40);
            return;
        }
        if (got != child_passed)
            fail_msg("call %ld, kernel %s: the child says %d: %s", n, kernel ? kernel : "(any)", got, output);
    }
}

static void each_call_may_fail_once(void **state) {
    (void)state;
    each_call("1", "999", NULL);
    each_call("1", "999", "portable");
}

static void memory_may_run_out_in_each_call(void **state) {
    (void)state;
    each_call("1", "2", NULL);
}

static void each_call_may_be_the_last_that_works(void **state) {
    (void)state;
    each_call("1000000", "999", NULL);
}

/* A copy of the stand-in in which the function has another name. */
static void write_without(const char *function, const char *folder) {
    Dl_info info;
    assert_true(dladdr(symbol("standin_observe"), &info) != 0);
    FILE *file = fopen(info.dli_fname, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file), length = strlen(function) + 1;
    rewind(file);
    char *image = malloc(bytes);
    assert_non_null(image);
    assert_int_equal(fread(image, 1, bytes, file), bytes);
    fclose(file);
    for (size_t i = 1; i + length < bytes; ++i)
        if (image[i - 1] == '\0' && memcmp(image + i, function, length) == 0)
            image[i] = 'x';
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image, 1, bytes, file), bytes);
    fclose(file);
    free(image);
}

static void each_function_may_be_missing(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"list", NULL});
    char *names = keep(strdup(output)), folder[] = "/tmp/ct3d-driver-XXXXXX", setting[64], path[64];
    assert_non_null(names);
    assert_non_null(mkdtemp(folder));
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", folder);
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    int functions = 0;
    for (char *rest = names, *name; (name = strtok_r(rest, "\n", &rest));) {
        if (strncmp(name, "cu", 2) != 0)
            continue;
        ++functions;
        write_without(name, folder);
        expect_child(setting, (const char *const[]){"miss", name, NULL});
    }
    print_message("%d functions\n", functions);
    assert_true(functions > 15);
    remove(path);
    rmdir(folder);
}

static void no_driver_is_no_device(void **state) {
    (void)state;
    static const char *const given[] = {"no device", library, NULL};
    const int got = run_child("LD_LIBRARY_PATH=", output, sizeof output, given);
    if (got == child_came_to_the_end)
        skip();
    assert_int_equal(got, child_passed);
}

static void useless_drivers_have_no_device(void **state) {
    (void)state;
    expect_child("CT3D_STANDIN_DEVICES=0", (const char *const[]){"no device", "CUDA_ERROR_NO_DEVICE", NULL});
    expect_child("CT3D_STANDIN_VERSION=10010", (const char *const[]){"no device", "too old", NULL});
    expect_child("CT3D_STANDIN_ARCH=75", (const char *const[]){"no device", "sm_75", NULL});
}

static void other_devices_work(void **state) {
    (void)state;
    expect_child("CT3D_STANDIN_ARCH=80", (const char *const[]){"device", "sm_80", "0", NULL});
    expect_child("CT3D_STANDIN_ARCH=121", (const char *const[]){"device", "sm_121", "0", NULL});
    expect_child("CT3D_STANDIN_DEVICES=3", (const char *const[]){"device", "sm_90", "2", NULL});
}

static void image_without_code_is_unsupported(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"no code", NULL});
}

static void execute_only_enqueues(void **state) {
    (void)state;
    expect_child("CT3D_STANDIN_DEVICES=2", (const char *const[]){"execute", NULL});
}

static void forked_child_gets_a_status(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"fork", NULL});
}

int main(int argc, char **argv) {
    argument_count = argc;
    arguments = argv;
    if (argc > 1)
        return child();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_may_fail_once),
        cmocka_unit_test(memory_may_run_out_in_each_call),
        cmocka_unit_test(each_call_may_be_the_last_that_works),
        cmocka_unit_test(each_function_may_be_missing),
        cmocka_unit_test(no_driver_is_no_device),
        cmocka_unit_test(useless_drivers_have_no_device),
        cmocka_unit_test(other_devices_work),
        cmocka_unit_test(image_without_code_is_unsupported),
        cmocka_unit_test(execute_only_enqueues),
        cmocka_unit_test(forked_child_gets_a_status),
    };
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
