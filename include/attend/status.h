/* status.h: how every fallible function of attend answers.
 *
 * Purpose    A function that can fail returns an int: ATTEND_OK (0) or one of the codes below, and leaves
 *            a sentence that says what went wrong, where, and how to mend it.
 * Ownership  The sentence belongs to the library and stays valid until the next failure on this thread.
 * Threads    The sentence is per thread. */
#ifndef ATTEND_STATUS_H
#define ATTEND_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ATTEND_OK = 0,
    ATTEND_FAILED = 1,    /* the work could not be done: diverged, unsupported, a bug reported as an error */
    ATTEND_BAD_USAGE = 2, /* an argument makes no sense */
    ATTEND_BAD_DATA = 3,  /* the user's data is at fault */
    ATTEND_BAD_MODEL = 4, /* a model file is at fault */
    ATTEND_IO = 5,        /* reading or writing failed */
    ATTEND_NO_MEMORY = 6
};

/* The sentence of the last failure on this thread; "" if there was none. Never NULL, one line, without control characters whatever it
 * quotes. */
const char *attend_message(void);

#ifdef __cplusplus
}
#endif
#endif
