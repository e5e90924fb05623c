/* SPDX-License-Identifier: MIT */
/* The tests that every driver's backend has to pass. */
#define _GNU_SOURCE /* dladdr */
#include "driver_test.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void each_call(const char *count, const char *result, const char *kernel) {
    for (long n = 1;; ++n) {
        char number[24];
        snprintf(number, sizeof number, "%ld", n);
        const char *const given[] = {"fail", number, count, result, kernel, NULL};
        const int got = run_child(NULL, given);
        if (got == child_came_to_the_end) {
            assert_true(n > kind.least_calls);
            return;
        }
        if (got != child_passed)
            fail_msg("call %ld, kernel %s: the child says %d: %s", n, kernel ? kernel : "(any)", got, child_output);
    }
}

void each_call_may_fail_once(void **state) {
    (void)state;
    each_call("1", "999", NULL);
    each_call("1", "999", "portable");
}

void memory_may_run_out_in_each_call(void **state) {
    (void)state;
    each_call("1", "2", NULL);
}

void each_call_may_be_the_last_that_works(void **state) {
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
    snprintf(path, sizeof path, "%s/%s", folder, kind.library);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image, 1, bytes, file), bytes);
    fclose(file);
    free(image);
}

void each_function_may_be_missing(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"list", NULL});
    char *names = keep(strdup(child_output)), folder[] = "/tmp/ct3d-driver-XXXXXX", setting[64], path[128];
    assert_non_null(names);
    assert_non_null(mkdtemp(folder));
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", folder);
    snprintf(path, sizeof path, "%s/%s", folder, kind.library);
    long functions = 0;
    for (char *rest = names, *name; (name = strtok_r(rest, "\n", &rest));) {
        if (strncmp(name, kind.prefix, strlen(kind.prefix)) != 0)
            continue;
        ++functions;
        write_without(name, folder);
        expect_child(setting, (const char *const[]){"miss", name, NULL});
    }
    print_message("%ld functions\n", functions);
    assert_true(functions > kind.least_functions);
    remove(path);
    rmdir(folder);
}

/* The machine may have a driver. */
void no_driver_is_no_device(void **state) {
    (void)state;
    const char *const given[] = {"no library", kind.stem, NULL};
    const int got = run_child("LD_LIBRARY_PATH=", given);
    if (got == child_came_to_the_end)
        skip();
    if (got != child_passed)
        fail_msg("the child says %d: %s", got, child_output);
}

void image_without_code_is_unsupported(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"no code", NULL});
}

void execute_only_enqueues(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"execute", NULL});
}

void forked_child_gets_a_status(void **state) {
    (void)state;
    expect_child(NULL, (const char *const[]){"fork", NULL});
}
