/* status.h: status codes and error messages.
 *
 * Purpose    A function that can fail returns an int: ATTEND_OK (0) or one of the codes below. On failure it also sets
 *            a message that says what happened, where, and what to do.
 * Ownership  The message belongs to the library and stays valid until the next failure on the same thread.
 * Threads    Each thread has its own message. */
#ifndef ATTEND_STATUS_H
#define ATTEND_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ATTEND_OK = 0,
    ATTEND_FAILED = 1,    /* the operation failed: training diverged, an unsupported request, an internal error */
    ATTEND_BAD_USAGE = 2, /* an invalid argument */
    ATTEND_BAD_DATA = 3,  /* invalid input data */
    ATTEND_BAD_MODEL = 4, /* an invalid model file */
    ATTEND_IO = 5,        /* reading or writing failed */
    ATTEND_NO_MEMORY = 6,
    ATTEND_BUSY = 7 /* a queue is full; the same request may succeed later */
};

#ifdef __GNUC__
#define ATTEND_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define ATTEND_PRINTF(text, first)
#endif

/* The message of the last failure on this thread; "" if there was none. Never NULL; one line of UTF-8 that is safe to
 * print: control characters and bytes that are not UTF-8 are escaped (print.h). */
const char *attend_message(void);

/* Sets the thread's message (printf format, cut to 511 bytes) and returns `code`, so that a function can `return
 * attend_fail(...)`. For callbacks and programs that use the library. An argument may be attend_message() itself. */
int attend_fail(int code, const char *format, ...) ATTEND_PRINTF(2, 3);

/* The system's text for an errno value, such as "No space left on device". Valid until the next call on the same
 * thread. */
const char *attend_errno_text(int error);

#ifdef __cplusplus
}
#endif
#endif
