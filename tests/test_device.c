/* SPDX-License-Identifier: MIT */
/* Backends, devices, and memory on them. */
#include "support.h"

#include <string.h>

static ct3d_backend_info backend_info(int32_t backend) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    assert_ok(ct3d_get_backend_info(backend, &info));
    return info;
}

static void cpu_is_there(void **state) {
    (void)state;
    const ct3d_backend_info info = backend_info(CT3D_BACKEND_CPU);
    assert_int_equal(info.backend, CT3D_BACKEND_CPU);
    assert_int_equal(info.device_count, 1);
    assert_string_equal(info.name, "cpu");
    assert_string_equal(info.reason, "");

    const ct3d_backend_info automatic = backend_info(CT3D_BACKEND_AUTO);
    assert_memory_equal(&automatic, &info, sizeof info);

    ct3d_device_info device;
    ct3d_device_info_init(&device, sizeof device);
    assert_ok(ct3d_get_device_info(CT3D_BACKEND_CPU, 0, &device));
    assert_int_equal(device.backend, CT3D_BACKEND_CPU);
    assert_int_equal(device.device, 0);
    assert_in_range(strlen(device.name), 1, sizeof device.name - 1);
    assert_in_range(strlen(device.arch), 1, sizeof device.arch - 1);
    assert_in_range(device.compute_units, 1, 4096);
    assert_true(device.memory > 64u << 20);
}

static void absent_gpu_backends_have_no_device_and_a_reason(void **state) {
    (void)state;
    static const char *const names[] = {"cuda", "hip"};
    for (int32_t backend = CT3D_BACKEND_CUDA; backend <= CT3D_BACKEND_HIP; ++backend) {
        const ct3d_backend_info info = backend_info(backend);
        assert_int_equal(info.backend, backend);
        assert_string_equal(info.name, names[backend - CT3D_BACKEND_CUDA]);
        assert_true((info.device_count == 0) == (info.reason[0] != '\0'));
        if (info.device_count > 0)
            continue;
        ct3d_device_info device;
        ct3d_device_info_init(&device, sizeof device);
        const ct3d_status status = ct3d_get_device_info(backend, 0, &device);
        assert_true(status == CT3D_INVALID_ARGUMENT || status == CT3D_UNSUPPORTED);
        expect_message(info.name, NULL);
        void *memory = &device;
        assert_status(ct3d_alloc(backend, 0, 64, &memory), CT3D_UNSUPPORTED);
        assert_null(memory);
    }
}

static void unknown_backends_and_devices_are_refused(void **state) {
    (void)state;
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    assert_status(ct3d_get_backend_info(4, &info), CT3D_INVALID_ARGUMENT);
    expect_message("backend", "4");
    assert_status(ct3d_get_backend_info(-1, &info), CT3D_INVALID_ARGUMENT);
    ct3d_device_info device;
    ct3d_device_info_init(&device, sizeof device);
    assert_status(ct3d_get_device_info(CT3D_BACKEND_CPU, 1, &device), CT3D_INVALID_ARGUMENT);
    expect_message("device", "1");
    assert_status(ct3d_get_device_info(CT3D_BACKEND_CPU, -1, &device), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_get_device_info(17, 0, &device), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_synchronize(CT3D_BACKEND_CPU, 3), CT3D_INVALID_ARGUMENT);
    assert_ok(ct3d_synchronize(CT3D_BACKEND_CPU, 0));
}

static void null_arguments_are_refused(void **state) {
    (void)state;
    char byte = 0;
    assert_status(ct3d_get_backend_info(CT3D_BACKEND_CPU, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_get_device_info(CT3D_BACKEND_CPU, 0, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_alloc(CT3D_BACKEND_CPU, 0, 8, NULL), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_copy(CT3D_BACKEND_CPU, 0, NULL, &byte, 1), CT3D_INVALID_ARGUMENT);
    assert_status(ct3d_copy(CT3D_BACKEND_CPU, 0, &byte, NULL, 1), CT3D_INVALID_ARGUMENT);
    assert_ok(ct3d_copy(CT3D_BACKEND_CPU, 0, NULL, NULL, 0));
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, NULL));
}

static void memory_is_aligned_and_copied(void **state) {
    (void)state;
    for (uint64_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1) {
        void *a = NULL, *b = NULL;
        assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, bytes, &a));
        assert_ok(ct3d_alloc(CT3D_BACKEND_AUTO, 0, bytes, &b));
        assert_int_equal((uintptr_t)a % 256, 0);
        assert_int_equal((uintptr_t)b % 256, 0);
        for (uint64_t i = 0; i < bytes; ++i)
            ((unsigned char *)a)[i] = (unsigned char)(i * 7 + 1);
        memset(b, 0, (size_t)bytes);
        assert_ok(ct3d_copy(CT3D_BACKEND_CPU, 0, b, a, bytes));
        assert_memory_equal(a, b, (size_t)bytes);
        assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, a));
        assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, b));
    }
    void *none = &state;
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, 0, &none));
    assert_null(none);
}

static void memory_that_does_not_fit_is_out_of_memory(void **state) {
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 255, UINT64_MAX / 2, UINT64_C(1) << 60};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        void *memory = &state;
        assert_status(ct3d_alloc(CT3D_BACKEND_CPU, 0, sizes[i], &memory), CT3D_OUT_OF_MEMORY);
        assert_null(memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_is_there),
        cmocka_unit_test(absent_gpu_backends_have_no_device_and_a_reason),
        cmocka_unit_test(unknown_backends_and_devices_are_refused),
        cmocka_unit_test(null_arguments_are_refused),
        cmocka_unit_test(memory_is_aligned_and_copied),
        cmocka_unit_test(memory_that_does_not_fit_is_out_of_memory),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
