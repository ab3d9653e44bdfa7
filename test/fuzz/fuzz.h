/* fuzz.h: the interface of a fuzz target: a file fuzz_NAME.c with these two functions, listed in fuzz.cmake.
 *
 * Each is built twice: with replay.c as an ordinary test, which runs a fixed set of mutations of the seeds, and by
 * `make fuzz` with libFuzzer, which searches for new inputs. */
#ifndef ATTEND_TEST_FUZZ_H
#define ATTEND_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Processes any input. Aborts if an invariant is violated; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Calls `seed` with initial inputs: valid ones, and ones that mutations rarely reach. */
void fuzz_seeds(void (*seed)(const void *bytes, size_t size));

#endif
