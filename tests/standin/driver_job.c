/* SPDX-License-Identifier: MIT */
#include "driver_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *keep(void *memory) {
    static void *kept[64];
    static size_t count;
    assert_true(count < sizeof kept / sizeof *kept);
    return kept[count++] = memory;
}

job new_job(int32_t backend, int32_t device, const char *kernel) {
    job j;
    memset(&j, 0, sizeof j);
    j.problem = small_problem();
    j.backend = backend;
    j.device = device;
    j.kernel = kernel;
    uint64_t random = 5;
    j.host[0] = keep(new_random_tensor(CT3D_F32, x_count(&j.problem), &random));
    j.host[1] = keep(new_random_tensor(CT3D_F32, w_count(&j.problem), &random));
    j.host[2] = keep(new_random_tensor(CT3D_F32, j.problem.out_channels, &random));
    j.host[3] = keep(new_tensor(CT3D_F32, y_count(&j.problem)));
    return j;
}

static uint64_t bytes_of(const job *j, int tensor) {
    const int64_t counts[] = {x_count(&j->problem), w_count(&j->problem), j->problem.out_channels,
                              y_count(&j->problem)};
    return (uint64_t)counts[tensor] * sizeof(float);
}

#define TRY(step)                                                                                                      \
    do {                                                                                                               \
        const ct3d_status try_status = (step);                                                                         \
        if (try_status != CT3D_SUCCESS)                                                                                \
            return try_status;                                                                                         \
    } while (0)

ct3d_status find_device(job *j) {
    ct3d_backend_info info;
    ct3d_backend_info_init(&info, sizeof info);
    TRY(ct3d_get_backend_info(j->backend, &info));
    snprintf(j->reason, sizeof j->reason, "%s", info.reason);
    if ((info.device_count == 0) != (info.reason[0] != '\0'))
        fail_msg("%d devices, reason \"%s\"", (int)info.device_count, info.reason);
    return info.device_count > j->device ? CT3D_SUCCESS : CT3D_UNSUPPORTED;
}

ct3d_status plan(job *j) {
    ct3d_plan_options options;
    ct3d_plan_options_init(&options, sizeof options);
    options.backend = j->backend;
    options.device = j->device;
    options.kernel = j->kernel;
    return ct3d_create_plan(&j->plan, &j->problem, &options);
}

ct3d_status upload(job *j) {
    for (int i = 0; i < 4; ++i) {
        TRY(ct3d_alloc(j->backend, j->device, bytes_of(j, i), &j->memory[i]));
        TRY(ct3d_copy(j->backend, j->device, j->memory[i], j->host[i], bytes_of(j, i)));
    }
    uint64_t workspace = 0;
    TRY(ct3d_plan_workspace_size(j->plan, &workspace));
    return ct3d_alloc(j->backend, j->device, workspace, &j->memory[4]);
}

ct3d_status execute(const job *j, void *stream) {
    ct3d_buffers b;
    ct3d_buffers_init(&b, sizeof b);
    b.x = j->memory[0];
    b.w = j->memory[1];
    b.bias = j->memory[2];
    b.y = j->memory[3];
    b.workspace = j->memory[4];
    TRY(ct3d_plan_workspace_size(j->plan, &b.workspace_size));
    b.stream = stream;
    return ct3d_execute(j->plan, &b);
}

ct3d_status download(job *j) {
    TRY(ct3d_synchronize(j->backend, j->device));
    return ct3d_copy(j->backend, j->device, j->host[3], j->memory[3], bytes_of(j, 3));
}

ct3d_status release(job *j) {
    ct3d_destroy_plan(&j->plan);
    for (int i = 0; i < 5; ++i) {
        TRY(ct3d_free(j->backend, j->device, j->memory[i]));
        j->memory[i] = NULL;
    }
    return CT3D_SUCCESS;
}

ct3d_status run(job *j) {
    memset(j->host[3], 0xff, bytes_of(j, 3));
    TRY(find_device(j));
    TRY(plan(j));
    TRY(upload(j));
    TRY(execute(j, NULL));
    TRY(download(j));
    return release(j);
}

void expect_right(const job *j) {
    job cpu = new_job(CT3D_BACKEND_CPU, 0, NULL);
    assert_ok(run(&cpu));
    const float *got = j->host[3], *expected = cpu.host[3];
    for (size_t i = 0; i < bytes_of(j, 3) / sizeof *got; ++i)
        if (!(fabsf(got[i] - expected[i]) < 1e-5f))
            fail_msg("y[%zu] is %g, expected %g", i, (double)got[i], (double)expected[i]);
}
