/* SPDX-License-Identifier: MIT */
/* A complete program: upsamples a 1x2x2 image to 1x4x4 with ct3d and prints it.
 *
 *     cc -std=c99 example.c $(pkg-config --cflags --libs ct3d) -o example && ./example */
#include <ct3d/ct3d.h>

#include <stdio.h>
#include <stdlib.h>

static void *new_floats(int64_t count) {
    void *memory = calloc((size_t)count, sizeof(float));
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

static int failed(const char *what, ct3d_status status) {
    if (status == CT3D_SUCCESS)
        return 0;
    fprintf(stderr, "%s: %s: %s\n", what, ct3d_status_string(status), ct3d_last_error());
    return 1;
}

/* One sample, one channel, 1x2x2 voxels; kernel 1x2x2 with stride 1x2x2, so that each voxel becomes a 2x2 square. */
static ct3d_problem describe_problem(void) {
    ct3d_problem p;
    ct3d_problem_init(&p, sizeof p);
    p.op = CT3D_FORWARD;
    p.dtype = CT3D_F32;
    p.layout = CT3D_NCDHW;
    p.has_bias = 1;
    p.batch = 1;
    p.in_channels = 1;
    p.out_channels = 1;
    p.in[0] = 1;
    p.in[1] = 2;
    p.in[2] = 2;
    p.kernel[0] = p.stride[0] = 1;
    p.kernel[1] = p.stride[1] = 2;
    p.kernel[2] = p.stride[2] = 2;
    return p;
}

int main(void) {
    const ct3d_problem problem = describe_problem();

    int64_t shape[5]; /* N, C, D, H, W */
    if (failed("ct3d_output_shape", ct3d_output_shape(&problem, shape)))
        return EXIT_FAILURE;

    /* Planning is the slow part: it is done once, and the plan is executed as often as there is data. */
    ct3d_plan *plan = NULL;
    if (failed("ct3d_create_plan", ct3d_create_plan(&plan, &problem, NULL)))
        return EXIT_FAILURE;

    const float x[4] = {1, 2, 3, 4};
    const float w[4] = {1, 10, 100, 1000};
    const float bias[1] = {0.5f};
    float *y = new_floats(shape[0] * shape[1] * shape[2] * shape[3] * shape[4]);

    ct3d_buffers buffers;
    ct3d_buffers_init(&buffers, sizeof buffers);
    buffers.x = x;
    buffers.w = w;
    buffers.bias = bias;
    buffers.y = y;

    /* Workspace comes from the caller, who may share it among plans that do not run at the same time. */
    int status = EXIT_FAILURE;
    if (!failed("ct3d_plan_workspace_size", ct3d_plan_workspace_size(plan, &buffers.workspace_size)) &&
        !failed("ct3d_alloc", ct3d_alloc(CT3D_BACKEND_CPU, 0, buffers.workspace_size, &buffers.workspace)) &&
        !failed("ct3d_execute", ct3d_execute(plan, &buffers))) {
        for (int64_t row = 0; row < shape[3]; ++row)
            for (int64_t column = 0; column < shape[4]; ++column)
                printf("%g%c", (double)y[row * shape[4] + column], column + 1 < shape[4] ? ' ' : '\n');
        status = EXIT_SUCCESS;
    }

    ct3d_free(CT3D_BACKEND_CPU, 0, buffers.workspace);
    ct3d_destroy_plan(&plan);
    free(y);
    return status;
}
