/* SPDX-License-Identifier: MIT */
/* What the tests of backends on stand-in drivers share: a problem from the first question for devices to the result, a
 * driver whose calls fail or are not there, and children that see one driver each.
 *
 * A process opens one driver once, so each scenario is a process: the test's program, called again with what to do. */
#ifndef CT3D_TESTS_STANDIN_DRIVER_TEST_H
#define CT3D_TESTS_STANDIN_DRIVER_TEST_H

#include "control.h"
#include "support.h"

/* What differs between drivers; each test defines its own. */
typedef struct {
    const char *program, *library;
    const char *stem;   /* of the library's file, in a message that there is none */
    const char *prefix; /* of the library's functions */
    int32_t backend;
    const char *name, *arch;           /* the backend's, and the stand-in's */
    long least_calls, least_functions; /* of a run; there are more */
    const char *const *dispensable;    /* functions without which the library goes on; NULL ends the list */
    const char *loads_code;            /* the function that does */
    int (*last_error)(void);           /* of the thread, which forgets it; NULL: the driver keeps none */
    int (*enqueues)(void);             /* the scenario: execute does nothing but that */
    int (*more)(const char *what);     /* scenarios of its own, or NULL */
} driver_kind;
extern const driver_kind kind;

enum { out_of_memory = 2, no_binary_for_gpu = 209 }; /* of every driver */
enum { child_passed = 0, child_came_to_the_end = 40, child_failed = 50 };

/* ---- the stand-in */

extern void (*fail_calls)(long, long, int);
extern void (*fail_function)(const char *, int);
extern const char *(*call)(long);
extern standin_state (*observe)(void);

void *symbol(const char *name);
void open_standin(void);
void expect_nothing_left(void);
void expect_no_error_left(void);
/* Of the calls since fail_calls(), each is one of these; NULL ends the list. */
void expect_calls_among(const char *const *allowed);

/* ---- a problem */

typedef struct {
    ct3d_problem problem;
    int32_t backend, device;
    const char *kernel;
    ct3d_plan *plan;
    void *memory[5]; /* x, w, bias, y, workspace */
    void *host[4];
    char reason[512]; /* why there is no device */
} job;

job new_job(int32_t backend, int32_t device, const char *kernel);
ct3d_status find_device(job *j);
ct3d_status plan(job *j);
ct3d_status upload(job *j);
ct3d_status execute(const job *j, void *stream);
ct3d_status download(job *j);
ct3d_status release(job *j);
ct3d_status run(job *j);
void expect_right(const job *j);
void *keep(void *memory); /* until the process ends */

/* ---- scenarios: each runs in a child, and they return what it says */

int fail_and_recover(long first, long count, int result, const char *kernel);
int miss(const char *function);
int list_calls(void);
int expect_no_device(const char *text);
int expect_no_library(const char *text);
int expect_device(const char *arch, int32_t device);
int image_has_no_code(void);
int forked_child_is_told(void);

/* ---- children */

/* Main of one: the arguments name a scenario. */
int run_scenario(int count, char **arguments);

/* There are two devices. `setting` is NAME=VALUE for the child's environment, or NULL. The output stands until the next
 * child. */
void expect_child(const char *setting, const char *const *given);
int run_child(const char *setting, const char *const *given);
extern char child_output[1 << 16];

/* ---- tests */

void each_call_may_fail_once(void **state);
void memory_may_run_out_in_each_call(void **state);
void each_call_may_be_the_last_that_works(void **state);
void each_function_may_be_missing(void **state);
void no_driver_is_no_device(void **state);
void image_without_code_is_unsupported(void **state);
void execute_only_enqueues(void **state);
void forked_child_gets_a_status(void **state);

#endif
