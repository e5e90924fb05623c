/* SPDX-License-Identifier: MIT */
/* The entry point that libFuzzer calls, and how deep its inputs went. */
#ifndef CT3D_TESTS_FUZZ_PROBLEM_H
#define CT3D_TESTS_FUZZ_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

extern struct fuzz_counts { long plans, executes; } fuzz_counts;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
