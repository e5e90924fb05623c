/* SPDX-License-Identifier: MIT */
/* The CUDA backend on the stand-in driver: each driver call failing in turn, drivers that are absent, old or without a
 * device, and what execute may call. */
#include "driver_test.h"

static const char *const dispensable[] = {"cuCtxPopCurrent_v2", "cuGetErrorName", "cuFuncLoad", NULL};

/* Nothing but enqueuing, also the first time; on the stream of the caller, whose context stays current. */
static int execute_enqueues(void) {
    static const char *const allowed[] = {"cuCtxPushCurrent_v2",
                                          "cuLaunchKernel",
                                          "cuLaunchKernelEx",
                                          "cuCtxPopCurrent_v2",
                                          "cuMemsetD8Async",
                                          "cuTensorMapEncodeTiled",
                                          NULL};
    open_standin();
    int (*retain)(void **, int), (*push)(void *), (*current)(void **), (*create)(void **, unsigned), (*destroy)(void *);
    *(void **)&retain = symbol("cuDevicePrimaryCtxRetain");
    *(void **)&push = symbol("cuCtxPushCurrent_v2");
    *(void **)&current = symbol("cuCtxGetCurrent");
    *(void **)&create = symbol("cuStreamCreate");
    *(void **)&destroy = symbol("cuStreamDestroy_v2");
    job j = new_job(kind.backend, 0, NULL);
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
    expect_calls_among(allowed);
    assert_int_equal(current(&now), 0);
    assert_ptr_equal(now, other);
    assert_int_equal(observe().contexts, 2);
    assert_ok(release(&j));
    assert_int_equal(destroy(stream), 0);
    return child_passed;
}

const driver_kind kind = {
    .program = "test_driver",
    .library = "libcuda.so.1",
    .stem = "libcuda.so",
    .prefix = "cu",
    .backend = CT3D_BACKEND_CUDA,
    .name = "cuda",
    .arch = "sm_90",
    .least_calls = 40,
    .least_functions = 15,
    .dispensable = dispensable,
    .loads_code = "cuModuleLoadData",
    .enqueues = execute_enqueues,
};

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

int main(int argc, char **argv) {
    if (argc > 1)
        return run_scenario(argc, argv);
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
