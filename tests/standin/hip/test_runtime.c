/* SPDX-License-Identifier: MIT */
/* The HIP backend on the stand-in for its runtime: each call failing in turn, runtimes that are absent, old or without
 * a device, and what execute may call. */
#include "driver_test.h"
#include "hip/hip_api.h"

#include <string.h>
#include <unistd.h>

/* Older runtimes lack the function for the newer properties; nobody is told that the caller's device is not put back.
 */
static const char *const dispensable[] = {"hipGetErrorName", "hipGetDevicePropertiesR0600", "hipSetDevice", NULL};

static hipError_t (*get_device)(int *), (*set_device)(int);
static hipError_t (*create_stream)(hipStream_t *, unsigned), (*destroy_stream)(hipStream_t);

static int last_error(void) {
    hipError_t (*get)(void);
    *(void **)&get = symbol("hipGetLastError");
    return (int)get();
}

static void find_functions(void) {
    open_standin();
    *(void **)&get_device = symbol("hipGetDevice");
    *(void **)&set_device = symbol("hipSetDevice");
    *(void **)&create_stream = symbol("hipStreamCreateWithFlags");
    *(void **)&destroy_stream = symbol("hipStreamDestroy");
}

/* Nothing but enqueuing, also the first time; on the stream of the caller, whose device stays current. */
static int execute_enqueues(void) {
    static const char *const allowed[] = {"hipGetDevice",   "hipSetDevice",    "hipModuleLaunchKernel",
                                          "hipMemsetAsync", "hipGetLastError", NULL};
    find_functions();
    job j = new_job(kind.backend, 0, NULL);
    assert_ok(plan(&j));
    assert_ok(upload(&j));
    hipStream_t stream = NULL;
    assert_int_equal(set_device(0), hipSuccess);
    assert_int_equal(create_stream(&stream, hipStreamNonBlocking), hipSuccess);
    assert_int_equal(set_device(1), hipSuccess);

    fail_calls(0, 0, 0);
    assert_ok(execute(&j, stream));
    const standin_state state = observe();
    assert_true(state.launches >= 1 && state.launches <= 2); /* the kernel, and at most a packing of weights */
    assert_int_equal(state.waits, 0);
    assert_ptr_equal(state.stream, stream);
    expect_calls_among(allowed);
    assert_ok(release(&j));
    int now = -1;
    assert_int_equal(get_device(&now), hipSuccess);
    assert_int_equal(now, 1);
    assert_int_equal(destroy_stream(stream), hipSuccess);
    return child_passed;
}

/* The first use is recorded; the graph does the work, after the plan has ended. */
static int first_use_is_captured(void) {
    find_functions();
    hipError_t (*begin)(hipStream_t, hipStreamCaptureMode), (*end)(hipStream_t, hipGraph_t *);
    hipError_t (*instantiate)(hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t);
    hipError_t (*launch)(hipGraphExec_t, hipStream_t), (*destroy)(hipGraph_t), (*destroy_executable)(hipGraphExec_t);
    *(void **)&begin = symbol("hipStreamBeginCapture");
    *(void **)&end = symbol("hipStreamEndCapture");
    *(void **)&instantiate = symbol("hipGraphInstantiate");
    *(void **)&launch = symbol("hipGraphLaunch");
    *(void **)&destroy = symbol("hipGraphDestroy");
    *(void **)&destroy_executable = symbol("hipGraphExecDestroy");
    job j = new_job(kind.backend, 0, NULL);
    assert_ok(plan(&j));
    assert_ok(upload(&j));
    hipStream_t stream = NULL;
    hipGraph_t graph = NULL;
    hipGraphExec_t executable = NULL;
    assert_int_equal(create_stream(&stream, hipStreamNonBlocking), hipSuccess);
    assert_int_equal(begin(stream, hipStreamCaptureModeGlobal), hipSuccess);
    assert_ok(execute(&j, stream));
    assert_int_equal(end(stream, &graph), hipSuccess);
    assert_int_equal(instantiate(&executable, graph, NULL, NULL, 0), hipSuccess);
    ct3d_destroy_plan(&j.plan);
    assert_int_equal(launch(executable, stream), hipSuccess);
    assert_ok(download(&j));
    expect_right(&j);
    assert_int_equal(destroy_executable(executable), hipSuccess);
    assert_int_equal(destroy(graph), hipSuccess);
    assert_int_equal(destroy_stream(stream), hipSuccess);
    assert_ok(release(&j));
    expect_nothing_left();
    return child_passed;
}

/* All of them, as the runtime has written them. */
static int properties_are_read(void) {
    static const struct {
        const char *arch;
        int32_t compute_units;
        uint64_t last_level_cache;
    } chips[] = {{"gfx90a", 104, 8 << 20}, {"gfx942", 304, 4 << 20}, {"gfx1100", 48, 6 << 20}};
    ct3d_device_info info;
    ct3d_device_info_init(&info, sizeof info);
    assert_ok(ct3d_get_device_info(kind.backend, 0, &info));
    assert_string_equal(info.name, "stand-in on the host");
    assert_int_equal(info.memory, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    for (size_t i = 0; i < sizeof chips / sizeof *chips; ++i)
        if (strcmp(info.arch, chips[i].arch) == 0) {
            assert_int_equal(info.compute_units, chips[i].compute_units);
            assert_int_equal(info.last_level_cache, chips[i].last_level_cache);
            return child_passed;
        }
    fail_msg("the architecture is \"%s\"", info.arch);
    return child_failed;
}

/* The caller's device stays the thread's own. */
static int device_cannot_be_set(void) {
    find_functions();
    fail_function("hipSetDevice", 999);
    job j = new_job(kind.backend, 1, NULL);
    assert_status(plan(&j), CT3D_DEVICE_ERROR);
    expect_message("hipSetDevice", "failed");
    fail_function(NULL, 0);
    expect_no_error_left();
    int now = -1;
    assert_int_equal(get_device(&now), hipSuccess);
    assert_int_equal(now, 0);
    assert_ok(run(&j));
    expect_right(&j);
    return child_passed;
}

static int more(const char *what) {
    if (strcmp(what, "properties") == 0)
        return properties_are_read();
    if (strcmp(what, "set device") == 0)
        return device_cannot_be_set();
    assert_string_equal(what, "capture");
    return first_use_is_captured();
}

const driver_kind kind = {
    .program = "test_runtime",
    .library = "libamdhip64.so",
    .stem = "libamdhip64.so",
    .prefix = "hip",
    .backend = CT3D_BACKEND_HIP,
    .name = "hip",
    .arch = HIP_ARCH,
    .least_calls = 20,
    .least_functions = 9,
    .dispensable = dispensable,
    .loads_code = "hipModuleLoadData",
    .last_error = last_error,
    .enqueues = execute_enqueues,
    .more = more,
};

static void useless_runtimes_have_no_device(void **state) {
    (void)state;
    expect_child("CT3D_STANDIN_DEVICES=0", (const char *const[]){"no device", "hipErrorNoDevice", NULL});
    expect_child("CT3D_STANDIN_HIP_ARCH=gfx803", (const char *const[]){"no device", "gfx803", NULL});
    expect_child("CT3D_STANDIN_HIP_VERSION=40421401", (const char *const[]){"no device", "too old", NULL});
}

/* Where the build has code for them. */
static void other_devices_work(void **state) {
    (void)state;
    if (strstr(HIP_ARCHS, "gfx942"))
        expect_child("CT3D_STANDIN_HIP_ARCH=gfx942", (const char *const[]){"device", "gfx942", "0", NULL});
    if (strstr(HIP_ARCHS, "gfx1100"))
        expect_child("CT3D_STANDIN_HIP_ARCH=gfx1100", (const char *const[]){"device", "gfx1100", "0", NULL});
    expect_child("CT3D_STANDIN_DEVICES=3", (const char *const[]){"device", HIP_ARCH, "2", NULL});
}

/* The older one is from before ROCm 6. */
static void properties_have_either_layout(void **state) {
    (void)state;
    expect_child("CT3D_STANDIN_HIP_PROPERTIES=6", (const char *const[]){"properties", NULL});
    expect_child("CT3D_STANDIN_HIP_PROPERTIES=5", (const char *const[]){"properties", NULL});
    expect_child("CT3D_STANDIN_HIP_PROPERTIES=5", (const char *const[]){"device", HIP_ARCH, "0", NULL});
}

static void device_that_cannot_be_set_is_told(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"set device", NULL});
}

static void graphs_hold_the_first_use(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"capture", NULL});
}

int main(int argc, char **argv) {
    if (argc > 1)
        return run_scenario(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_may_fail_once),
        cmocka_unit_test(memory_may_run_out_in_each_call),
        cmocka_unit_test(each_call_may_be_the_last_that_works),
        cmocka_unit_test(each_function_may_be_missing),
        cmocka_unit_test(no_driver_is_no_device),
        cmocka_unit_test(useless_runtimes_have_no_device),
        cmocka_unit_test(other_devices_work),
        cmocka_unit_test(properties_have_either_layout),
        cmocka_unit_test(device_that_cannot_be_set_is_told),
        cmocka_unit_test(image_without_code_is_unsupported),
        cmocka_unit_test(execute_only_enqueues),
        cmocka_unit_test(graphs_hold_the_first_use),
        cmocka_unit_test(forked_child_gets_a_status),
    };
    return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
