/* ready_input.h: when a batch of lines ends, for verbs that answer while they read.
 *
 * A batch ends when no other line is complete: an interactive program that writes single lines into a pipe gets single
 * answers back at once. A program that writes many lines may be a little slower than the reader: a batch of PATIENT_LINES
 * waits for it, MAX_WAITS times for a millisecond, which is less than the work on the batch takes. */
#ifndef ATTEND_CLI_READY_INPUT_H
#define ATTEND_CLI_READY_INPUT_H

#include <stdbool.h>

/* Whether the next line is complete within some milliseconds. */
typedef bool (*ready_input)(void *input, int milliseconds);

/* Whether a batch of `count` lines goes on; *waits is 0 at its beginning. */
static inline bool ready_input_goes_on(ready_input is_ready, void *input, int count, int *waits)
{
    enum { PATIENT_LINES = 64, MAX_WAITS = 10 };
    return count == 0 || is_ready(input, 0) || (count >= PATIENT_LINES && (*waits)++ < MAX_WAITS && is_ready(input, 1));
}

#endif
