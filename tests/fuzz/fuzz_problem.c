/* SPDX-License-Identifier: MIT */
/* Fuzz target: bytes become a problem and options; whatever they are, nothing crashes and every status is legal.
 *
 * Built with libFuzzer where the compiler has it, and with seeded.c everywhere. */
#include "fuzz_problem.h"

#include <ct3d/ct3d.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "broken: %s (last error: %s)\n", what, ct3d_last_error());
    abort();
}

typedef struct {
    const uint8_t *bytes;
    size_t left;
} source;

static uint8_t next_byte(source *s) {
    if (s->left == 0)
        return 0;
    --s->left;
    return *s->bytes++;
}

static uint64_t next_word(source *s) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i)
        word = word << 8 | next_byte(s);
    return word;
}

/* Mostly what a legal problem has; else the edges of the type, or anything. */
static int64_t next_value(source *s, int64_t least) {
    static const int64_t edges[] = {INT64_MIN,
                                    -1,
                                    0,
                                    65536,
                                    INT32_MAX,
                                    (int64_t)UINT32_MAX,
                                    1 << 20,
                                    1 << 30,
                                    1000003,
                                    1000000,
                                    INT64_C(1) << 40,
                                    INT64_C(1) << 61,
                                    INT64_C(1) << 50,
                                    INT64_MAX - 1,
                                    INT64_MAX};
    const uint8_t kind = next_byte(s);
    if (kind < 240)
        return least + kind % (kind < 160 ? 4 : 12);
    if (kind < 252)
        return edges[next_byte(s) % (sizeof edges / sizeof *edges)];
    return (int64_t)next_word(s);
}

static int32_t next_enum(source *s, int32_t count) {
    const uint8_t kind = next_byte(s);
    return kind < 250 ? kind % count : (int32_t)next_word(s);
}

static int is_small(int64_t value) { return value > 0 && value < 16; }

static ct3d_problem next_problem(source *s) {
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    p.op = next_enum(s, 3);
    p.dtype = next_enum(s, 5);
    p.math = next_enum(s, 2);
    p.layout = next_enum(s, 2);
    p.weights_layout = next_enum(s, 2);
    p.has_bias = next_enum(s, 2);
    p.batch = next_value(s, 0);
    p.groups = next_value(s, 1);
    p.in_channels = next_value(s, 1);
    p.out_channels = next_value(s, 1);
    if (next_byte(s) % 8 && is_small(p.groups) && is_small(p.in_channels) && is_small(p.out_channels)) {
        p.in_channels *= p.groups;
        p.out_channels *= p.groups;
    }
    for (int axis = 0; axis < 3; ++axis) {
        p.in[axis] = next_value(s, 1);
        p.kernel[axis] = next_value(s, 1);
        p.stride[axis] = next_value(s, 1);
        p.dilation[axis] = next_value(s, 1);
        p.pad_begin[axis] = next_value(s, 0);
        p.pad_end[axis] = next_value(s, 0);
        p.output_padding[axis] = next_byte(s) % 4 ? 0 : next_value(s, 0);
    }
    if (next_byte(s) == 255)
        p.epilogue = (int32_t)next_word(s);
    if (next_byte(s) >= 250)
        p.struct_size = next_byte(s) % (sizeof p + 1); /* never more than there is */
    return p;
}

static ct3d_plan_options next_options(source *s) {
    static const char *const kernels[] = {NULL, NULL, NULL, NULL, "direct", "phase", "onednn", "onednn_phase", "", "?"};
    ct3d_plan_options o;
    ct3d_plan_options_init(&o, sizeof o);
    o.threads = next_enum(s, 4);
    if (o.threads > 4)
        o.threads = 4;
    o.kernel = kernels[next_byte(s) % (sizeof kernels / sizeof *kernels)];
    if (next_byte(s) < 16)
        o.backend = next_enum(s, 4);
    if (next_byte(s) < 4)
        o.device = next_enum(s, 2);
    if (next_byte(s) < 16)
        o.max_workspace = next_word(s) >> next_byte(s) % 64;
    return o;
}

static int64_t product(const int64_t *values, int count) {
    int64_t result = 1;
    for (int i = 0; i < count; ++i)
        if (__builtin_mul_overflow(result, values[i], &result))
            return INT64_MAX;
    return result;
}

/* Zeroed, and exactly as large as it has to be, so that a sanitizer sees every access past the end. */
static void *exact(int64_t elements) { return calloc((size_t)elements, 8); }

static void execute(const ct3d_problem *p, const ct3d_plan *plan, const int64_t shape[5]) {
    const int64_t x = p->batch * p->in_channels * product(p->in, 3), y = product(shape, 5);
    const int64_t w = p->in_channels * (p->out_channels / p->groups) * product(p->kernel, 3);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    require(ct3d_plan_workspace_size(plan, &b.workspace_size) == CT3D_SUCCESS, "workspace size");
    require(ct3d_alloc(CT3D_BACKEND_CPU, 0, b.workspace_size, &b.workspace) == CT3D_SUCCESS, "workspace");
    void *const memory[] = {exact(x), exact(w), exact(p->out_channels), exact(y)};
    const int forward = p->op == CT3D_FORWARD, data = p->op == CT3D_BACKWARD_DATA;
    b.x = memory[0];
    b.dx = data ? memory[0] : NULL;
    b.w = memory[1];
    b.dw = p->op == CT3D_BACKWARD_WEIGHTS ? memory[1] : NULL;
    b.bias = memory[2];
    b.dbias = p->op == CT3D_BACKWARD_WEIGHTS ? memory[2] : NULL;
    b.y = forward ? memory[3] : NULL;
    b.dy = memory[3];
    require(ct3d_execute(plan, &b) == CT3D_SUCCESS, "execute");
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
        free(memory[i]);
    ct3d_free(CT3D_BACKEND_CPU, 0, b.workspace);
}

static int small_enough_to_run(const ct3d_problem *p, const int64_t shape[5]) {
    const int64_t weights[] = {p->in_channels, p->out_channels, p->kernel[0], p->kernel[1], p->kernel[2]};
    const int64_t input[] = {p->batch, p->in_channels, p->in[0], p->in[1], p->in[2]};
    const int64_t sizes[] = {product(weights, 5), product(input, 5)};
    return p->struct_size == sizeof *p && product(shape, 5) < 1 << 16 && sizes[0] < 1 << 16 && sizes[1] < 1 << 16 &&
           product(sizes, 2) < 1 << 22;
}

static void describe(const ct3d_plan *plan, int32_t format) {
    char text[256];
    size_t needed = 0;
    require(ct3d_describe_plan(plan, format, text, sizeof text, &needed) == CT3D_SUCCESS, "description");
    require(memchr(text, 0, sizeof text) && needed > 1, "description is terminated");
}

struct fuzz_counts fuzz_counts;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    source s = {bytes, size};
    const ct3d_problem p = next_problem(&s);
    const ct3d_plan_options o = next_options(&s);
    int64_t shape[5];
    const ct3d_status shaped = ct3d_output_shape(&p, shape);
    require(shaped == CT3D_SUCCESS || shaped == CT3D_INVALID_ARGUMENT || shaped == CT3D_UNSUPPORTED, "shape status");

    ct3d_plan *plan = (ct3d_plan *)1;
    const ct3d_status status = ct3d_create_plan(&plan, &p, &o);
    require(status >= CT3D_SUCCESS && status <= CT3D_OUT_OF_MEMORY, "plan status");
    require((plan != NULL) == (status == CT3D_SUCCESS), "plan exactly on success");
    require(status != CT3D_SUCCESS || shaped == CT3D_SUCCESS, "a plan has a shape");
    if (plan) {
        ++fuzz_counts.plans;
        describe(plan, CT3D_DESCRIBE_TEXT);
        describe(plan, CT3D_DESCRIBE_JSON);
        if (small_enough_to_run(&p, shape)) {
            ++fuzz_counts.executes;
            execute(&p, plan, shape);
        }
    } else {
        require(ct3d_last_error()[0] != '\0', "a failure has a message");
    }
    ct3d_destroy_plan(&plan);
    return 0;
}
