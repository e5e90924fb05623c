/* SPDX-License-Identifier: MIT */
/* What a test may ask of a stand-in driver: exported beside the driver's functions, looked up with dlsym().
 *
 * CT3D_STANDIN_SEED, _DEVICES (1) and _MULTIPROCESSORS are read from the environment; by the one for CUDA _ARCH (90)
 * and _VERSION (13000), by the one for HIP _HIP_ARCH (gfx90a; gfx942, gfx1100, or an architecture without code),
 * _HIP_VERSION and _HIP_PROPERTIES (6; 5 is a runtime that lacks the newer function for the properties of a device). */
#ifndef CT3D_TESTS_STANDIN_CONTROL_H
#define CT3D_TESTS_STANDIN_CONTROL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of the calls of driver functions from now on, `count` fail from the `first`-th on: they return `result` and have no
 * effect. A count of 0: none. Forgets the calls that were made. */
void standin_fail(long first, long count, int result);
/* Every call of the function fails; NULL: none. */
void standin_fail_function(const char *name, int result);

/* The function that was called as the n-th, counted from 0; NULL where there were fewer. */
const char *standin_call(long n);

typedef struct {
    long calls;         /* of driver functions */
    const char *failed; /* the first function that was made to fail; NULL: none */
    long launches;
    void *stream;     /* of the last launch */
    long waits;       /* calls that wait for the device */
    long allocations; /* not yet freed */
    long contexts;    /* on the calling thread's stack */
} standin_state;
standin_state standin_observe(void);

#ifdef __cplusplus
}
#endif

#endif
