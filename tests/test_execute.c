/* SPDX-License-Identifier: MIT */
/* Which buffers execute takes, what it says of others, and that it leaves the outputs alone then. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

enum { poison = 0x5a };

/* A problem with a plan and every tensor it could want, poisoned outputs included. */
typedef struct {
    ct3d_problem problem;
    ct3d_plan *plan;
    ct3d_buffers buffers;
    uint64_t workspace_size;
    size_t y_bytes, x_bytes, w_bytes, bias_bytes;
} fixture;

static void *poisoned(size_t bytes) {
    void *memory = NULL;
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, bytes + 256, &memory));
    memset(memory, poison, bytes + 256);
    return memory;
}

static fixture make(ct3d_problem p, const char *kernel) {
    fixture f;
    f.problem = p;
    f.plan = new_plan(&p, kernel, 2);
    assert_non_null(f.plan);
    const size_t size = element_size(p.dtype);
    f.x_bytes = (size_t)x_count(&p) * size;
    f.y_bytes = (size_t)y_count(&p) * size;
    f.w_bytes = (size_t)w_count(&p) * size;
    f.bias_bytes = (size_t)p.out_channels * size;
    ct3d_buffers_init(&f.buffers, sizeof f.buffers);
    f.buffers.x = poisoned(f.x_bytes);
    f.buffers.w = poisoned(f.w_bytes);
    f.buffers.bias = poisoned(f.bias_bytes);
    f.buffers.y = poisoned(f.y_bytes);
    f.buffers.dy = poisoned(f.y_bytes);
    f.buffers.dx = poisoned(f.x_bytes);
    f.buffers.dw = poisoned(f.w_bytes);
    f.buffers.dbias = poisoned(f.bias_bytes);
    assert_ok(ct3d_plan_workspace_size(f.plan, &f.workspace_size));
    f.buffers.workspace = poisoned((size_t)f.workspace_size);
    f.buffers.workspace_size = f.workspace_size;
    return f;
}

static void release(fixture *f) {
    const void *const memory[] = {f->buffers.x,  f->buffers.w,  f->buffers.bias,  f->buffers.y,        f->buffers.dy,
                                  f->buffers.dx, f->buffers.dw, f->buffers.dbias, f->buffers.workspace};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
        assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, (void *)(uintptr_t)memory[i]));
    ct3d_destroy_plan(&f->plan);
}

static ct3d_problem problem_of(int32_t op, int32_t dtype) {
    ct3d_problem p = small_problem();
    p.op = op;
    p.dtype = dtype;
    return p;
}

static int all_bytes(const void *memory, size_t bytes, unsigned char value) {
    for (size_t i = 0; i < bytes; ++i)
        if (((const unsigned char *)memory)[i] != value)
            return 0;
    return 1;
}

static void expect_refusal(const fixture *f, const ct3d_buffers *b, const char *field, const char *more) {
    assert_status(ct3d_execute(f->plan, b), CT3D_INVALID_ARGUMENT);
    expect_message(field, more);
    assert_true(all_bytes(f->buffers.y, f->y_bytes, poison));
    assert_true(all_bytes(f->buffers.dx, f->x_bytes, poison));
    assert_true(all_bytes(f->buffers.dw, f->w_bytes, poison));
    assert_true(all_bytes(f->buffers.dbias, f->bias_bytes, poison));
}

#define BUFFER(field)                                                                                                  \
    { #field, offsetof(ct3d_buffers, field) }
typedef struct {
    const char *name;
    size_t offset;
} buffer;

static void **slot(ct3d_buffers *b, const buffer *which) { return (void **)(void *)((char *)b + which->offset); }

/* The tensors that each op must have, by op. */
static const buffer needed[3][5] = {
    {BUFFER(x), BUFFER(w), BUFFER(bias), BUFFER(y), {NULL, 0}},
    {BUFFER(dy), BUFFER(w), BUFFER(dx), {NULL, 0}},
    {BUFFER(x), BUFFER(dy), {NULL, 0}},
};

static void missing_and_misaligned_tensors_are_refused(void **state) {
    (void)state;
    static const int32_t dtypes[] = {CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64};
    for (int op = 0; op < 3; ++op)
        for (size_t d = 0; d < 4; ++d) {
            fixture f = make(problem_of(op, dtypes[d]), NULL);
            for (const buffer *t = needed[op]; t->name; ++t) {
                ct3d_buffers b = f.buffers;
                *slot(&b, t) = NULL;
                expect_refusal(&f, &b, t->name, NULL);
                *slot(&b, t) = (char *)*slot(&f.buffers, t) + 1;
                expect_refusal(&f, &b, t->name, "align");
                *slot(&b, t) = (char *)*slot(&f.buffers, t) + element_size(dtypes[d]) / 2;
                expect_refusal(&f, &b, t->name, "align");
            }
            release(&f);
        }
}

static void element_alignment_is_enough(void **state) {
    (void)state;
    static const int32_t dtypes[] = {CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64};
    for (int op = 0; op < 3; ++op)
        for (size_t d = 0; d < 4; ++d) {
            fixture f = make(problem_of(op, dtypes[d]), NULL);
            ct3d_buffers b = f.buffers;
            for (const buffer *t = needed[op]; t->name; ++t)
                *slot(&b, t) = (char *)*slot(&b, t) + element_size(dtypes[d]);
            assert_ok(ct3d_execute(f.plan, &b));
            release(&f);
        }
}

static void unnamed_tensors_are_ignored(void **state) {
    (void)state;
    static const buffer all[] = {BUFFER(x),  BUFFER(w),  BUFFER(bias), BUFFER(y),
                                 BUFFER(dy), BUFFER(dx), BUFFER(dw),   BUFFER(dbias)};
    for (int op = 0; op < 3; ++op) {
        fixture f = make(problem_of(op, CT3D_F32), NULL);
        ct3d_buffers b = f.buffers;
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
            int named = op == CT3D_BACKWARD_WEIGHTS && all[i].name[0] == 'd' && all[i].name[1] != 'x';
            for (const buffer *t = needed[op]; t->name; ++t)
                named |= t->offset == all[i].offset;
            if (!named)
                *slot(&b, &all[i]) = (void *)(uintptr_t)1;
        }
        assert_ok(ct3d_execute(f.plan, &b));
        release(&f);
    }
}

static void *device_memory(int32_t backend, size_t bytes, int value) {
    void *host = malloc(bytes + 1), *memory = NULL;
    assert_non_null(host);
    memset(host, value, bytes);
    assert_ok(ct3d_alloc(backend, 0, bytes, &memory));
    assert_ok(ct3d_copy(backend, 0, memory, host, bytes));
    free(host);
    return memory;
}

static void expect_outputs(int32_t backend, const ct3d_problem *p, const void *y, double value) {
    void *host = new_tensor(p->dtype, y_count(p));
    assert_ok(ct3d_copy(backend, 0, host, y, (size_t)y_count(p) * element_size(p->dtype)));
    for (int64_t i = 0; i < y_count(p); ++i)
        assert_true(load(host, p->dtype, i) == value);
    free(host);
}

/* x and w are zero, the bias is not. Returns whether the backend has the kernel and the kernel takes the problem. */
static int outputs_are_the_bias_or_zero(int32_t backend, const ct3d_problem *p, const char *kernel) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.backend = backend;
    options.kernel = kernel;
    ct3d_plan *plan = NULL;
    const ct3d_status status = ct3d_create_plan(&plan, p, &options);
    if (status == CT3D_UNSUPPORTED && kernel)
        return 0;
    assert_ok(status);
    const size_t size = element_size(p->dtype);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    assert_ok(ct3d_plan_workspace_size(plan, &b.workspace_size));
    void *x = device_memory(backend, (size_t)x_count(p) * size, 0);
    void *w = device_memory(backend, (size_t)w_count(p) * size, 0);
    void *bias = device_memory(backend, (size_t)p->out_channels * size, poison);
    b.x = x;
    b.w = w;
    b.bias = bias;
    b.y = device_memory(backend, (size_t)y_count(p) * size, poison);
    b.workspace = device_memory(backend, (size_t)b.workspace_size, 0xff);
    const uint64_t bits = UINT64_C(0x5a5a5a5a5a5a5a5a);
    assert_ok(ct3d_execute(plan, &b));
    assert_ok(ct3d_synchronize(backend, 0));
    expect_outputs(backend, p, b.y, p->has_bias ? load(&bits, p->dtype, 0) : 0);
    void *const memory[] = {x, w, bias, b.y, b.workspace};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
        assert_ok(ct3d_free(backend, 0, memory[i]));
    ct3d_destroy_plan(&plan);
    return 1;
}

/* On every kernel of every backend that this machine can run. */
static void bias_is_read_exactly_if_the_problem_has_one(void **state) {
    (void)state;
    /* The backend on which a kernel takes some of the problems, whatever the build and the device. */
    enum { any = CT3D_BACKEND_CPU - 1 };
    static const struct {
        const char *name;
        int32_t backend;
    } kernels[] = {{NULL, any},
                   {"phase", any},
                   {"onednn_phase", any},
                   {"onednn", any},
                   {"direct", CT3D_BACKEND_CPU},
                   {"patch_gemm", any},
                   {"phase_wgmma", any},
                   {"phase_gemm", CT3D_BACKEND_CUDA},
                   {"few_outputs", CT3D_BACKEND_CUDA},
                   {"single_output", CT3D_BACKEND_CUDA},
                   {"group_gemm", CT3D_BACKEND_CUDA},
                   {"portable", CT3D_BACKEND_CUDA}};
    static const int32_t types[][2] = {{CT3D_F32, CT3D_MATH_FP32},
                                       {CT3D_F32, CT3D_MATH_TF32},
                                       {CT3D_F16, CT3D_MATH_FP32},
                                       {CT3D_BF16, CT3D_MATH_FP32},
                                       {CT3D_F64, CT3D_MATH_FP32}};
    for (int32_t backend = CT3D_BACKEND_CPU; backend <= CT3D_BACKEND_HIP; ++backend) {
        ct3d_backend_info info;
        ct3d_backend_info_init(&info, sizeof info);
        assert_ok(ct3d_get_backend_info(backend, &info));
        for (size_t k = 0; info.device_count > 0 && k < sizeof kernels / sizeof *kernels; ++k) {
            int runs = 0;
            for (size_t i = 0; i < 4 * sizeof types / sizeof *types; ++i) {
                ct3d_problem p = small_problem();
                p.in_channels = 16; /* kernels that multiply many channels at once refuse a few */
                if (kernels[k].name && strcmp(kernels[k].name, "single_output") == 0) {
                    p.out_channels = 1;
                    p.kernel[0] = p.kernel[1] = p.kernel[2] = 4;
                }
                p.has_bias = i % 2;
                p.layout = i / 2 % 2 ? CT3D_NDHWC : CT3D_NCDHW;
                p.dtype = types[i / 4][0];
                p.math = types[i / 4][1];
                runs += outputs_are_the_bias_or_zero(backend, &p, kernels[k].name);
            }
            if (runs > 0)
                print_message("backend %s, kernel %s: %d problems\n", info.name,
                              kernels[k].name ? kernels[k].name : "(any)", runs);
            assert_true(runs > 0 || (kernels[k].name && kernels[k].backend != backend));
        }
    }
}

/* Not even its address is looked at. */
static void no_bias_may_stand_anywhere(void **state) {
    (void)state;
    ct3d_problem p = small_problem();
    p.has_bias = 0;
    fixture f = make(p, NULL);
    ct3d_buffers b = f.buffers;
    const void *const addresses[] = {NULL, (void *)(uintptr_t)1, b.y};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; ++i) {
        b.bias = addresses[i];
        assert_ok(ct3d_execute(f.plan, &b));
    }
    release(&f);
}

static void one_of_the_weight_gradients_is_enough(void **state) {
    (void)state;
    static const char *const kernels[] = {NULL, "direct", "onednn"};
    for (size_t k = 0; k < 3; ++k) {
        ct3d_problem p = problem_of(CT3D_BACKWARD_WEIGHTS, CT3D_F32);
        ct3d_plan *probe = new_plan(&p, kernels[k], 1);
        if (!probe)
            continue;
        ct3d_destroy_plan(&probe);
        fixture f = make(p, kernels[k]);
        ct3d_buffers b = f.buffers;
        b.dw = b.dbias = NULL;
        expect_refusal(&f, &b, "dw", "dbias");
        memset((void *)(uintptr_t)b.x, 0, f.x_bytes);
        memset((void *)(uintptr_t)b.dy, 0, f.y_bytes);
        b.dw = f.buffers.dw;
        assert_ok(ct3d_execute(f.plan, &b));
        assert_true(all_bytes(f.buffers.dw, f.w_bytes, 0));
        assert_true(all_bytes(f.buffers.dbias, f.bias_bytes, poison));
        memset(f.buffers.dw, poison, f.w_bytes);
        b.dw = NULL;
        b.dbias = f.buffers.dbias;
        assert_ok(ct3d_execute(f.plan, &b));
        assert_true(all_bytes(f.buffers.dw, f.w_bytes, poison));
        assert_true(all_bytes(f.buffers.dbias, f.bias_bytes, 0));
        release(&f);
    }
}

static void workspace_must_be_there_aligned_and_large_enough(void **state) {
    (void)state;
    static const char *const kernels[] = {"phase", "onednn", "onednn_phase"};
    int with_workspace = 0;
    for (size_t k = 0; k < 3; ++k) {
        ct3d_problem p = small_problem();
        p.dtype = CT3D_BF16; /* widened or converted by most kernels, which takes a workspace */
        p.layout = CT3D_NDHWC;
        ct3d_plan *probe = new_plan(&p, kernels[k], 1);
        if (!probe)
            continue;
        ct3d_destroy_plan(&probe);
        fixture f = make(p, kernels[k]);
        if (f.workspace_size > 0) {
            ++with_workspace;
            ct3d_buffers b = f.buffers;
            b.workspace = NULL;
            expect_refusal(&f, &b, "workspace", "NULL");
            b.workspace = (char *)f.buffers.workspace + 128;
            expect_refusal(&f, &b, "workspace", "256");
            b.workspace = f.buffers.workspace;
            b.workspace_size = f.workspace_size - 1;
            expect_refusal(&f, &b, "workspace_size", NULL);
            b.workspace_size = 0;
            expect_refusal(&f, &b, "workspace_size", NULL);
            b.workspace_size = f.workspace_size + 1;
            assert_ok(ct3d_execute(f.plan, &b));
        }
        release(&f);
    }
    assert_true(with_workspace > 0);
}

static void workspace_may_be_null_where_none_is_needed(void **state) {
    (void)state;
    for (int op = 0; op < 3; ++op) {
        fixture f = make(problem_of(op, CT3D_F32), "direct");
        assert_int_equal(f.workspace_size, 0);
        ct3d_buffers b = f.buffers;
        b.workspace = NULL;
        b.workspace_size = 0;
        assert_ok(ct3d_execute(f.plan, &b));
        release(&f);
    }
}

static void overlapping_buffers_are_refused(void **state) {
    (void)state;
    fixture f = make(small_problem(), NULL);
    ct3d_buffers b = f.buffers;
    b.y = (void *)(uintptr_t)f.buffers.x;
    expect_refusal(&f, &b, "x", "y");
    b.y = (char *)(uintptr_t)f.buffers.x + f.x_bytes - 4; /* by one element */
    expect_refusal(&f, &b, "x", "overlap");
    b = f.buffers;
    b.bias = (char *)f.buffers.y + f.y_bytes - 4;
    expect_refusal(&f, &b, "bias", "overlap");
    release(&f);

    ct3d_problem p = small_problem();
    p.op = CT3D_BACKWARD_WEIGHTS;
    fixture g = make(p, NULL);
    b = g.buffers;
    b.dbias = (char *)g.buffers.dw + 4;
    expect_refusal(&g, &b, "dbias", "overlap");
    release(&g);
}

/* Two inputs may be the same memory: nothing is written there. Tensors that only touch do not overlap. */
static void shared_inputs_and_neighbours_are_fine(void **state) {
    (void)state;
    fixture f = make(small_problem(), NULL);
    ct3d_buffers b = f.buffers;
    char *block = poisoned(f.w_bytes + f.x_bytes + f.y_bytes);
    memset(block, 0, f.w_bytes + f.x_bytes + f.y_bytes);
    b.x = block;
    b.y = block + f.x_bytes;
    b.w = block + f.x_bytes + f.y_bytes;
    b.bias = b.w;
    assert_ok(ct3d_execute(f.plan, &b));
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, block));
    release(&f);
}

static void empty_batch_zeroes_the_weight_gradients_and_no_more(void **state) {
    (void)state;
    static const int32_t dtypes[] = {CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64};
    for (int op = 0; op < 3; ++op)
        for (size_t d = 0; d < 4; ++d) {
            ct3d_problem p = problem_of(op, dtypes[d]);
            p.batch = 0;
            fixture f = make(p, NULL);
            ct3d_buffers b = f.buffers;
            b.x = b.dy = NULL; /* no elements */
            b.y = b.dx = NULL;
            assert_ok(ct3d_execute(f.plan, &b));
            const int zeroed = op == CT3D_BACKWARD_WEIGHTS;
            assert_true(all_bytes(b.dw, f.w_bytes, zeroed ? 0 : poison));
            assert_true(all_bytes(b.dbias, f.bias_bytes, zeroed ? 0 : poison));
            assert_true(all_bytes((const char *)b.dw + f.w_bytes, 256, poison));
            assert_true(all_bytes((const char *)b.dbias + f.bias_bytes, 256, poison));
            release(&f);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_and_misaligned_tensors_are_refused),
        cmocka_unit_test(element_alignment_is_enough),
        cmocka_unit_test(unnamed_tensors_are_ignored),
        cmocka_unit_test(bias_is_read_exactly_if_the_problem_has_one),
        cmocka_unit_test(no_bias_may_stand_anywhere),
        cmocka_unit_test(one_of_the_weight_gradients_is_enough),
        cmocka_unit_test(workspace_must_be_there_aligned_and_large_enough),
        cmocka_unit_test(workspace_may_be_null_where_none_is_needed),
        cmocka_unit_test(overlapping_buffers_are_refused),
        cmocka_unit_test(shared_inputs_and_neighbours_are_fine),
        cmocka_unit_test(empty_batch_zeroes_the_weight_gradients_and_no_more),
    };
    return cmocka_run_group_tests_name("execute", tests, NULL, NULL);
}
