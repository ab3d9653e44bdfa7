/* run.h: runs the generated calls, each function in a process of its own. */
#ifndef ATTEND_TEST_MISUSE_RUN_H
#define ATTEND_TEST_MISUSE_RUN_H

#include <stdbool.h>

typedef enum misuse_returns {
    RETURNS_OTHER, /* nothing, or a number without a meaning for failures */
    RETURNS_STATUS,
    RETURNS_POINTER
} misuse_returns;

/* What is passed in one call of a function. */
typedef struct misuse_case {
    const char *what; /* "options = NULL" */
    enum { MAY_SUCCEED, MUST_SUCCEED, MUST_FAIL } expected;
} misuse_case;

/* What a call returned. */
typedef struct misuse_outcome {
    int status;
    const void *pointer;
} misuse_outcome;

typedef struct misuse_function {
    const char *name;
    misuse_returns returns;
    void (*call)(int number, misuse_outcome *outcome);
    const misuse_case *cases;
    int count;
} misuse_function;

/* The generated list; ends with a name of NULL. */
extern const misuse_function misuse_functions[];

#endif
