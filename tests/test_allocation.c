/* SPDX-License-Identifier: MIT */
/* Plan creation with its n-th allocation failing, for every n: a status and no leak. Execute likewise: it computes all
 * the same.
 *
 * The allocator is interposed. In a build with oneDNN, whose own handling of failures is not the library's, only
 * allocations made by libct3d.so count: those whose nearest caller outside libstdc++ lies there. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "support.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

enum { most_live = 1 << 14 };

static __thread int armed, inside;
static long failing, counted; /* the allocation that fails, and how many there were */
static void *live[most_live];
static size_t live_count;

/* Where the code of a loaded object lies. */
typedef struct {
    const char *name;
    uintptr_t begin, end;
} object;
static object ct3d = {"libct3d.so", 0, 0}, standard_library = {"libstdc++.so", 0, 0};
static uintptr_t own_begin, own_end;

static int find_objects(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    object *const wanted[] = {&ct3d, &standard_library};
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            const uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            begin = at < begin ? at : begin;
            end = at + info->dlpi_phdr[i].p_memsz > end ? at + info->dlpi_phdr[i].p_memsz : end;
        }
    if (info->dlpi_name[0] == '\0') { /* the program */
        own_begin = begin;
        own_end = end;
    }
    for (size_t i = 0; i < 2; ++i)
        if (strstr(info->dlpi_name, wanted[i]->name)) {
            wanted[i]->begin = begin;
            wanted[i]->end = end;
        }
    return 0;
}

static int made_by_ct3d(void) {
    void *frames[12];
    const int depth = backtrace(frames, 12);
    for (int i = 0; i < depth; ++i) {
        const uintptr_t at = (uintptr_t)frames[i];
        const int own = at >= own_begin && at < own_end;
        if (!own && !(at >= standard_library.begin && at < standard_library.end))
            return at >= ct3d.begin && at < ct3d.end;
    }
    return 0;
}

/* Whether this allocation has to fail; counts it if it is one of those that count. */
static int admit(int *counts) {
    *counts = 0;
    if (!armed || inside)
        return 1;
    inside = 1;
    *counts = HAVE_ONEDNN ? made_by_ct3d() : 1;
    inside = 0;
    return !*counts || ++counted != failing;
}

static void *keep(void *memory, int counts) {
    if (memory && counts && live_count < most_live)
        live[live_count++] = memory;
    return memory;
}

static void forget(const void *memory) {
    for (size_t i = live_count; memory && i-- > 0;)
        if (live[i] == memory) {
            live[i] = live[--live_count];
            return;
        }
}

static void *refuse(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) {
    int counts;
    return admit(&counts) ? keep(__libc_malloc(size), counts) : refuse();
}

void *calloc(size_t count, size_t size) {
    int counts;
    return admit(&counts) ? keep(__libc_calloc(count, size), counts) : refuse();
}

void *realloc(void *memory, size_t size) {
    int counts;
    if (!admit(&counts))
        return refuse();
    if (armed && !inside)
        forget(memory);
    return keep(__libc_realloc(memory, size), counts);
}

void *memalign(size_t alignment, size_t size) {
    int counts;
    return admit(&counts) ? keep(__libc_memalign(alignment, size), counts) : refuse();
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

void free(void *memory) {
    if (armed && !inside)
        forget(memory);
    __libc_free(memory);
}

/* Returns whether the failure came to pass. */
static int create_with_failure(const ct3d_problem *p, const ct3d_plan_options *options, long nth, ct3d_status *status) {
    ct3d_plan *plan = NULL;
    failing = nth;
    counted = 0;
    live_count = 0;
    armed = 1;
    *status = ct3d_create_plan(&plan, p, options);
    const size_t kept = live_count;
    const long made = counted;
    ct3d_destroy_plan(&plan);
    armed = 0;
    assert_true(kept < most_live);
    assert_true((*status == CT3D_SUCCESS) || kept == 0);
    if (live_count > 0)
        fail_msg("%zu allocations leak where allocation %ld of %ld fails", live_count, nth, made);
    return made >= nth;
}

static void every_allocation_of(const ct3d_problem *p, const char *kernel) {
    ct3d_plan *plan = new_plan(p, kernel, 2); /* what is made once per process is made here */
    if (!plan)
        return;
    ct3d_destroy_plan(&plan);
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.kernel = kernel;
    options.threads = 2;
    ct3d_status status;
    long nth = 1, refused = 0;
    while (create_with_failure(p, &options, nth, &status)) {
        /* A failure may also be made up for, as where only a scratch buffer is smaller. */
        assert_true(status == CT3D_OUT_OF_MEMORY || status == CT3D_SUCCESS);
        refused += status == CT3D_OUT_OF_MEMORY;
        ++nth;
    }
    assert_int_equal(status, CT3D_SUCCESS);
    print_message("kernel %s, op %d, dtype %d: %ld allocations, %ld of them fatal\n", kernel ? kernel : "(any)",
                  (int)p->op, (int)p->dtype, nth - 1, refused);
    assert_true(refused > 0);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const kernels[] = {NULL, "direct", "phase", "onednn", "onednn_phase"};
    static const int32_t dtypes[] = {CT3D_F32, CT3D_BF16};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (int op = CT3D_FORWARD; op <= CT3D_BACKWARD_WEIGHTS; ++op)
            for (size_t d = 0; d < 2; ++d) {
                ct3d_problem p = small_problem();
                p.op = op;
                p.dtype = dtypes[d];
                every_allocation_of(&p, kernels[k]);
            }
}

/* The message of the failure must not need memory either. */
static void failure_is_named(void **state) {
    (void)state;
    const ct3d_problem p = small_problem();
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.kernel = "direct";
    ct3d_status status;
    assert_true(create_with_failure(&p, &options, 1, &status));
    assert_int_equal(status, CT3D_OUT_OF_MEMORY);
    expect_message("memory", NULL);
}

/* The tensors that an op names. */
typedef struct {
    ct3d_buffers buffers;
    void *output;
    size_t bytes; /* of the output */
} tensors;

static tensors new_tensors(const ct3d_problem *p, uint64_t *random) {
    const int64_t counts[] = {y_count(p), x_count(p), w_count(p)}; /* of the output, by op */
    tensors t;
    ct3d_buffers_init(&t.buffers, sizeof t.buffers);
    t.buffers.x = new_random_tensor(p->dtype, x_count(p), random);
    t.buffers.w = new_random_tensor(p->dtype, w_count(p), random);
    t.buffers.bias = new_random_tensor(p->dtype, p->out_channels, random);
    t.buffers.dy = new_random_tensor(p->dtype, y_count(p), random);
    t.output = new_tensor(p->dtype, counts[p->op]);
    t.bytes = (size_t)counts[p->op] * element_size(p->dtype);
    void **const named[] = {&t.buffers.y, &t.buffers.dx, &t.buffers.dw};
    *named[p->op] = t.output;
    return t;
}

static void release(tensors *t) {
    const void *const memory[] = {t->buffers.x, t->buffers.w, t->buffers.bias, t->buffers.dy, t->output};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; ++i)
        free((void *)(uintptr_t)memory[i]);
}

/* Runs the plan with its n-th allocation failing; returns how many there were. */
static long execute_with_failure(const ct3d_plan *plan, tensors *t, long nth) {
    memset(t->output, 0xff, t->bytes);
    failing = nth;
    counted = 0;
    live_count = 0;
    armed = 1;
    const ct3d_status status = ct3d_execute(plan, &t->buffers);
    armed = 0;
    assert_ok(status);
    assert_int_equal(live_count, 0);
    return counted;
}

/* `direct` needs no memory, so that its result is what an execute gives that ran out of it. */
static void every_allocation_of_execute(const ct3d_problem *p, const char *kernel) {
    ct3d_plan *plan = new_plan(p, kernel, 2), *direct = new_plan(p, "direct", 2);
    assert_true(plan && direct);
    uint64_t random = 1, bytes = 0;
    tensors t = new_tensors(p, &random);
    assert_ok(ct3d_plan_workspace_size(plan, &bytes));
    assert_ok(ct3d_alloc(CT3D_BACKEND_CPU, 0, bytes, &t.buffers.workspace));
    t.buffers.workspace_size = bytes;
    void *expected = new_tensor(p->dtype, (int64_t)(t.bytes / element_size(p->dtype)));
    execute_with_failure(plan, &t, 0); /* what is made once per process is made here */
    const long allocations = execute_with_failure(plan, &t, 0);
    assert_true(allocations > 0);
    assert_int_equal(execute_with_failure(direct, &t, 0), 0);
    memcpy(expected, t.output, t.bytes);
    for (long nth = 1; nth <= allocations; ++nth) {
        execute_with_failure(plan, &t, nth);
        assert_memory_equal(t.output, expected, t.bytes);
    }
    print_message("kernel %s, op %d, dtype %d: %ld allocations of execute\n", kernel, (int)p->op, (int)p->dtype,
                  allocations);
    free(expected);
    assert_ok(ct3d_free(CT3D_BACKEND_CPU, 0, t.buffers.workspace));
    release(&t);
    ct3d_destroy_plan(&plan);
    ct3d_destroy_plan(&direct);
}

static void execute_makes_up_for_every_allocation(void **state) {
    (void)state;
    static const int32_t dtypes[] = {CT3D_F32, CT3D_BF16};
    for (size_t d = 0; HAVE_ONEDNN && d < 2; ++d) {
        ct3d_problem p = small_problem();
        p.dtype = dtypes[d];
        p.in_channels = p.out_channels = 16;
        for (p.op = CT3D_FORWARD; p.op <= CT3D_BACKWARD_WEIGHTS; ++p.op)
            every_allocation_of_execute(&p, "onednn");
        p.op = CT3D_FORWARD;
        p.stride[0] = p.stride[1] = 1; /* few phases: each is a call of oneDNN */
        every_allocation_of_execute(&p, "onednn_phase");
    }
}

int main(void) {
    void *frame;
    backtrace(&frame, 1); /* loads the unwinder, which allocates */
    dl_iterate_phdr(find_objects, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(execute_makes_up_for_every_allocation),
        cmocka_unit_test(failure_is_named),
    };
    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
