/* SPDX-License-Identifier: MIT */
/* Drives the fuzz target with seeded random inputs, for compilers without libFuzzer. */
#include "../support.h"
#include "fuzz_problem.h"

#include <stdlib.h>

enum { input_bytes = 512 };

static void random_inputs_break_nothing(void **state) {
    (void)state;
    uint64_t random = test_seed();
    const char *count = getenv("CT3D_TEST_FUZZ_RUNS");
    const long runs = count ? strtol(count, NULL, 10) : 20000;
    for (long i = 0; i < runs; ++i) {
        uint8_t input[input_bytes];
        for (size_t j = 0; j < input_bytes; ++j)
            input[j] = (uint8_t)next_random(&random);
        assert_int_equal(LLVMFuzzerTestOneInput(input, input_bytes), 0);
    }
    print_message("of %ld inputs %ld made a plan, %ld ran\n", runs, fuzz_counts.plans, fuzz_counts.executes);
    assert_true(fuzz_counts.plans > runs / 20 && fuzz_counts.executes > runs / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_inputs_break_nothing),
    };
    return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
