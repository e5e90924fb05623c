/* SPDX-License-Identifier: MIT */
/* Non-finite inputs reach the outputs whose taps read them, and no others. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {NULL, "direct", "phase", "onednn", "onednn_phase"};
static const int32_t dtypes[] = {CT3D_F32, CT3D_F16, CT3D_BF16, CT3D_F64};

/* Element of an activation tensor from its coordinates. */
static int64_t offset_of(int32_t layout, const int64_t shape[5], const int64_t at[5]) {
    if (layout == CT3D_NCDHW)
        return (((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3]) * shape[4] + at[4];
    return (((at[0] * shape[2] + at[2]) * shape[3] + at[3]) * shape[4] + at[4]) * shape[1] + at[1];
}

/* Marks what the definition says that x[at] reaches. */
static unsigned char *reached_outputs(const ct3d_problem *p, const int64_t shape[5], const int64_t at[5]) {
    unsigned char *reached = calloc((size_t)y_count(p), 1);
    assert_non_null(reached);
    const int64_t per_group = p->out_channels / p->groups, group = at[1] / (p->in_channels / p->groups);
    int64_t k[3];
    for (k[0] = 0; k[0] < p->kernel[0]; ++k[0])
        for (k[1] = 0; k[1] < p->kernel[1]; ++k[1])
            for (k[2] = 0; k[2] < p->kernel[2]; ++k[2]) {
                int64_t to[5] = {at[0], 0, 0, 0, 0};
                int inside = 1;
                for (int axis = 0; axis < 3; ++axis) {
                    to[2 + axis] = at[2 + axis] * p->stride[axis] - p->pad_begin[axis] + k[axis] * p->dilation[axis];
                    inside &= to[2 + axis] >= 0 && to[2 + axis] < shape[2 + axis];
                }
                for (int64_t c = 0; inside && c < per_group; ++c) {
                    to[1] = group * per_group + c;
                    reached[offset_of(p->layout, shape, to)] = 1;
                }
            }
    return reached;
}

static ct3d_problem problem_of(int variant, int32_t dtype, int32_t layout) {
    ct3d_problem p = small_problem();
    p.dtype = dtype;
    p.layout = layout;
    p.in_channels = variant == 1 ? 18 : 5; /* neither a multiple of any vector */
    p.out_channels = variant == 1 ? 34 : 7;
    p.groups = variant == 1 ? 2 : 1;
    for (int axis = 0; axis < 3; ++axis) {
        p.kernel[axis] = variant == 2 ? 2 : 3;
        p.pad_begin[axis] = p.pad_end[axis] = variant == 2 ? 0 : 1;
        p.dilation[axis] = variant == 0 ? 2 : 1;
    }
    return p;
}

static void check(const ct3d_problem *p, const char *kernel, double bad, uint64_t *random) {
    ct3d_plan *plan = new_plan(p, kernel, 2);
    if (!plan)
        return;
    int64_t shape[5], at[5];
    assert_ok(ct3d_output_shape(p, shape));
    const int64_t x_shape[5] = {p->batch, p->in_channels, p->in[0], p->in[1], p->in[2]};
    for (int i = 0; i < 5; ++i)
        at[i] = (int64_t)(next_random(random) % (uint64_t)x_shape[i]);
    void *x = new_random_tensor(p->dtype, x_count(p), random);
    void *w = new_random_tensor(p->dtype, w_count(p), random);
    void *bias = new_random_tensor(p->dtype, p->out_channels, random);
    store(x, p->dtype, offset_of(p->layout, x_shape, at), bad);
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = x;
    b.w = w;
    b.bias = bias;
    b.y = new_tensor(p->dtype, y_count(p));
    assert_ok(run_plan(plan, b));
    unsigned char *reached = reached_outputs(p, shape, at);
    for (int64_t i = 0; i < y_count(p); ++i)
        if (isfinite(load(b.y, p->dtype, i)) == reached[i])
            fail_msg("kernel %s, dtype %d, layout %d, x = %g: output %lld is %g", kernel ? kernel : "(default)",
                     (int)p->dtype, (int)p->layout, bad, (long long)i, load(b.y, p->dtype, i));
    free(reached);
    free(b.y);
    free(bias);
    free(w);
    free(x);
    ct3d_destroy_plan(&plan);
}

static void nonfinite_inputs_reach_their_outputs_only(void **state) {
    (void)state;
    uint64_t random = test_seed();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; ++k)
        for (size_t d = 0; d < 4; ++d)
            for (int layout = CT3D_NCDHW; layout <= CT3D_NDHWC; ++layout)
                for (int variant = 0; variant < 3; ++variant) {
                    const ct3d_problem p = problem_of(variant, dtypes[d], layout);
                    check(&p, kernels[k], (double)NAN, &random);
                    check(&p, kernels[k], (double)INFINITY, &random);
                    check(&p, kernels[k], -(double)INFINITY, &random);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonfinite_inputs_reach_their_outputs_only),
    };
    return cmocka_run_group_tests_name("nonfinite", tests, NULL, NULL);
}
