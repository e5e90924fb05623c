/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void expect_status(ct3d_status got, ct3d_status expected, const char *call, const char *file, int line) {
    if (got == expected)
        return;
    print_error("%s\n  got %s, expected %s\n  last error: %s\n", call, ct3d_status_string(got),
                ct3d_status_string(expected), ct3d_last_error());
    _fail(file, line);
}

void expect_message(const char *first, const char *second) {
    const char *message = ct3d_last_error();
    const char *wanted[] = {first, second};
    for (size_t i = 0; i < 2; ++i)
        if (wanted[i] && !strstr(message, wanted[i]))
            fail_msg("\"%s\" is not in the message \"%s\"", wanted[i], message);
}

ct3d_problem small_problem(void) {
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    p.has_bias = 1;
    p.batch = 2;
    p.in_channels = 3;
    p.out_channels = 4;
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = 3 + axis;
        p.kernel[axis] = 3;
        p.stride[axis] = 2;
        p.pad_begin[axis] = p.pad_end[axis] = 1;
    }
    return p;
}

size_t element_size(int32_t dtype) {
    if (dtype == CT3D_F64)
        return 8;
    return dtype == CT3D_F16 || dtype == CT3D_BF16 ? 2 : 4;
}

int64_t x_count(const ct3d_problem *p) { return p->batch * p->in_channels * p->in[0] * p->in[1] * p->in[2]; }

int64_t y_count(const ct3d_problem *p) {
    int64_t shape[5];
    assert_ok(ct3d_output_shape(p, shape));
    return shape[0] * shape[1] * shape[2] * shape[3] * shape[4];
}

int64_t w_count(const ct3d_problem *p) {
    return p->in_channels * (p->out_channels / p->groups) * p->kernel[0] * p->kernel[1] * p->kernel[2];
}

uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double next_uniform(uint64_t *state) {
    const double half = (double)(next_random(state) >> 40) + 0.5; /* never 0, so that no product vanishes */
    return half * 0x1p-23 - 1.0;
}

static uint16_t to_f16(double value) {
    const unsigned sign = signbit(value) ? 0x8000u : 0u;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);
    if (isnan(value))
        return 0x7e00u;
    if (isinf(value))
        return (uint16_t)(sign | 0x7c00u);
    if (exponent < -13)
        return (uint16_t)sign;
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | (unsigned)((fraction * 2 - 1) * 1024));
}

static double from_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31)
        value = fraction > 0 ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

static uint16_t to_bf16(double value) {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double from_bf16(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

void store(void *tensor, int32_t dtype, int64_t index, double value) {
    if (dtype == CT3D_F64)
        ((double *)tensor)[index] = value;
    else if (dtype == CT3D_F16)
        ((uint16_t *)tensor)[index] = to_f16(value);
    else if (dtype == CT3D_BF16)
        ((uint16_t *)tensor)[index] = to_bf16(value);
    else
        ((float *)tensor)[index] = (float)value;
}

double load(const void *tensor, int32_t dtype, int64_t index) {
    if (dtype == CT3D_F64)
        return ((const double *)tensor)[index];
    if (dtype == CT3D_F16)
        return from_f16(((const uint16_t *)tensor)[index]);
    if (dtype == CT3D_BF16)
        return from_bf16(((const uint16_t *)tensor)[index]);
    return (double)((const float *)tensor)[index];
}

void *new_tensor(int32_t dtype, int64_t count) {
    void *tensor = calloc((size_t)count + 1, element_size(dtype));
    assert_non_null(tensor);
    return tensor;
}

void *new_random_tensor(int32_t dtype, int64_t count, uint64_t *state) {
    void *tensor = new_tensor(dtype, count);
    for (int64_t i = 0; i < count; ++i)
        store(tensor, dtype, i, next_uniform(state));
    return tensor;
}

ct3d_plan *new_plan(const ct3d_problem *problem, const char *kernel, int32_t threads) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.kernel = kernel;
    options.threads = threads;
    ct3d_plan *plan = NULL;
    const ct3d_status status = ct3d_create_plan(&plan, problem, &options);
    if (kernel && status == CT3D_UNSUPPORTED)
        return NULL;
    assert_ok(status);
    assert_non_null(plan);
    return plan;
}

ct3d_status run_plan(const ct3d_plan *plan, ct3d_buffers buffers) {
    uint64_t bytes = 0;
    assert_ok(ct3d_plan_workspace_size(plan, &bytes));
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, bytes, &buffers.workspace));
    buffers.workspace_size = bytes;
    if (bytes)
        memset(buffers.workspace, 0xff, bytes); /* NaN in every type: workspace must not be read before written */
    const ct3d_status status = ct3d_execute(plan, &buffers);
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, buffers.workspace));
    return status;
}

uint64_t test_seed(void) {
    const char *text = getenv("CT3D_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
    print_message("seed: CT3D_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}
