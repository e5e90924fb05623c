/* SPDX-License-Identifier: MIT */
/* What the suites that are written in C share: a small problem, host memory for it, one call that runs it. */
#ifndef CT3D_TESTS_SUPPORT_H
#define CT3D_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ct3d/ct3d.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <cmocka.h> /* itself without extern "C" */

#ifdef __cplusplus
/* As macros they would hide the fail() of the standard streams. */
#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))
#endif

/* Fails with ct3d_last_error() in the output, which assert_int_equal() would not show. */
#define assert_status(call, expected) expect_status((call), (expected), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(call, CT3D_SUCCESS)
void expect_status(ct3d_status got, ct3d_status expected, const char *call, const char *file, int line);

/* Asserts that the calling thread's last message holds every one of the substrings; a NULL is left out. */
void expect_message(const char *first, const char *second);

/* Batch 2, 3 -> 4 channels, 3x4x5, kernel 3, stride 2, padding 1, f32, bias: every kernel family takes it. */
ct3d_problem small_problem(void);

size_t element_size(int32_t dtype);
int64_t x_count(const ct3d_problem *problem);
int64_t y_count(const ct3d_problem *problem);
int64_t w_count(const ct3d_problem *problem);

/* Uniform in (-1, 1) with 24 bits, the same for the same state. */
double next_uniform(uint64_t *state);
uint64_t next_random(uint64_t *state);

/* Writes `count` elements; values are cut to what the type can hold. */
void store(void *tensor, int32_t dtype, int64_t index, double value);
double load(const void *tensor, int32_t dtype, int64_t index);
void *new_tensor(int32_t dtype, int64_t count);
void *new_random_tensor(int32_t dtype, int64_t count, uint64_t *state);

/* Makes a plan that has to work; NULL only where a kernel is forced that is not in this build or refuses. */
ct3d_plan *new_plan(const ct3d_problem *problem, const char *kernel, int32_t threads);

/* Executes with a workspace of its own, allocated for the call; returns what execute said. */
ct3d_status run_plan(const ct3d_plan *plan, ct3d_buffers buffers);

/* Reads CT3D_TEST_SEED, or takes the time, and prints the seed that was used. */
uint64_t test_seed(void);

#ifdef __cplusplus
}
#endif

#endif
