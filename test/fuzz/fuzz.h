/* fuzz.h: what a fuzz target is: a file fuzz_NAME.c with these two functions, and its name in fuzz.cmake.
 *
 * Each is built twice: with replay.c as an ordinary test, which runs a fixed set of mutations of the seeds and no more,
 * and, by `make fuzz`, with libFuzzer, which looks for new ones. */
#ifndef ATTEND_TEST_FUZZ_H
#define ATTEND_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Runs on any bytes. Aborts if something holds that must not; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Calls `seed` with inputs to begin with: good ones, and those that are hard to come by. */
void fuzz_seeds(void (*seed)(const void *bytes, size_t size));

#endif
