/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* putenv */
#include "driver_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int argument_count;
static char **arguments;
static int outcome = child_failed;

static int scenario(void) {
    const char *what = arguments[1];
    const char *text = argument_count > 2 ? arguments[2] : "";
    if (strcmp(what, "fail") == 0)
        return fail_and_recover(atol(text), atol(arguments[3]), atoi(arguments[4]),
                                argument_count > 5 ? arguments[5] : NULL);
    if (strcmp(what, "miss") == 0)
        return miss(text);
    if (strcmp(what, "list") == 0)
        return list_calls();
    if (strcmp(what, "no device") == 0)
        return expect_no_device(text);
    if (strcmp(what, "no library") == 0)
        return expect_no_library(text);
    if (strcmp(what, "device") == 0)
        return expect_device(text, atoi(arguments[3]));
    if (strcmp(what, "no code") == 0)
        return image_has_no_code();
    if (strcmp(what, "execute") == 0)
        return kind.enqueues();
    if (strcmp(what, "fork") == 0)
        return forked_child_is_told();
    return kind.more(what);
}

static void run_it(void **state) {
    (void)state;
    outcome = scenario();
}

int run_scenario(int count, char **given) {
    argument_count = count;
    arguments = given;
    const struct CMUnitTest tests[] = {cmocka_unit_test(run_it)};
    return cmocka_run_group_tests_name("child", tests, NULL, NULL) ? child_failed : outcome;
}

char child_output[1 << 16];

/* Runs this program again and reads its output. */
int run_child(const char *setting, const char *const *given) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        putenv("CT3D_STANDIN_DEVICES=2");
        if (setting)
            putenv((char *)(uintptr_t)setting);
        alarm(60);
        char *argv[8] = {(char *)(uintptr_t)kind.program};
        for (int i = 0; given[i]; ++i)
            argv[i + 1] = (char *)(uintptr_t)given[i];
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], child_output + length, sizeof child_output - 1 - length)) > 0;)
        length += (size_t)got;
    child_output[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expect_child(const char *setting, const char *const *given) {
    const int got = run_child(setting, given);
    if (got != child_passed)
        fail_msg("%s: the child says %d: %s", given[0], got, child_output);
}
