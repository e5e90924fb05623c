/* SPDX-License-Identifier: MIT */
/* What plans cost: the time to make one, and memory that stays flat however many are made. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { plans = 10000, warm_up = 3000, timed = 9 };

static long resident_kib(void) {
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* The i-th of a series in which no two are alike. */
static ct3d_problem nth_problem(int i) {
    ct3d_problem p = small_problem();
    p.op = i % 3;
    p.layout = i / 3 % 2;
    p.in_channels = 1 + i / 6 % 40;
    p.out_channels = 1 + i / 240 % 40;
    p.in[0] = 2 + i / 9600;
    return p;
}

static void make_plans(int first, int count) {
    for (int i = first; i < first + count; ++i) {
        const ct3d_problem p = nth_problem(i);
        ct3d_plan *plan = new_plan(&p, NULL, 1);
        ct3d_destroy_plan(&plan);
    }
}

static void memory_stays_flat(void **state) {
    (void)state;
    make_plans(0, warm_up); /* fills caches of bounded size */
    const long before = resident_kib();
    make_plans(warm_up, plans);
    const long after = resident_kib();
    print_message("resident: %ld KiB after %d plans, %ld KiB after %d more\n", before, warm_up, after, plans);
    assert_true(after - before < 8 * 1024);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* kb1-77: 16 samples, 32 -> 64 channels, 16x32x32, kernel 3, stride 2, padding 1, dilation 2. */
static void headline_plan_is_made_in_50_ms(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    p.batch = 16;
    p.in_channels = 32;
    p.out_channels = 64;
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = axis == 0 ? 16 : 32;
        p.dilation[axis] = 2;
    }
    double times[timed];
    for (int i = -1; i < timed; ++i) {
        const double start = seconds();
        ct3d_plan *plan = new_plan(&p, NULL, 0);
        if (i >= 0)
            times[i] = seconds() - start;
        ct3d_destroy_plan(&plan);
    }
    qsort(times, timed, sizeof *times, ascending);
    print_message("median of %d: %.3f ms\n", timed, 1e3 * times[timed / 2]);
    assert_true(times[timed / 2] < 0.050);
}

static long peak_kib(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Output extents of 2^31 and more: a plan must not hold or walk anything of that size. */
static void huge_problems_make_small_plans(void **state) {
    (void)state;
    static const char *const kernels[] = {NULL, "direct", "phase", "onednn", "onednn_phase"};
    static const int64_t strides[] = {1 << 20, 1 << 30, INT64_C(1) << 40};
    const long before = peak_kib();
    const double start = seconds();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (size_t s = 0; s < sizeof strides / sizeof *strides; ++s)
            for (int axis = 0; axis < 3; ++axis) {
                ct3d_problem p = small_problem();
                p.stride[axis] = strides[s];
                ct3d_plan *plan = new_plan(&p, kernels[k], 2);
                ct3d_destroy_plan(&plan);
            }
    print_message("%ld KiB more at the peak, %.3f s\n", peak_kib() - before, seconds() - start);
    assert_true(peak_kib() - before < 256 * 1024);
    assert_true(seconds() - start < 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headline_plan_is_made_in_50_ms),
        cmocka_unit_test(memory_stays_flat),
        cmocka_unit_test(huge_problems_make_small_plans),
    };
    return cmocka_run_group_tests_name("upkeep", tests, NULL, NULL);
}
