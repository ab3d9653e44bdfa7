/* golden.h: reads the reference results of tools/make_goldens.py, and compares with them.
 *
 * Format     Lines that start with # are comments, blank lines are skipped. A tensor is a line `name rank d0 d1 ...`
 *            (a name starts with a letter), then exactly d0 d1 ... finite numbers, row-major, over any number of lines.
 * Ownership  A golden owns its tensors; golden_free frees them.
 * Failure    Functions return false and set golden.error to one line: "path:line: error". */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <attend/real.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { GOLDEN_MAX_RANK = 4, GOLDEN_NAME = 48, GOLDEN_ERROR = 512 };

typedef struct golden_tensor {
    char name[GOLDEN_NAME];
    int rank;
    int shape[GOLDEN_MAX_RANK];
    size_t size;
    double *data;
    bool seen; /* golden_find has returned it: see golden_unseen */
} golden_tensor;

typedef struct golden {
    const char *path; /* not copied */
    golden_tensor *tensors;
    int count;
    char error[GOLDEN_ERROR];
} golden;

bool golden_open(golden *g, const char *path);
/* The same from a stream; `path` is for messages. */
bool golden_read(golden *g, FILE *in, const char *path);
void golden_free(golden *g);

/* The tensor of that name, or NULL with an error. */
golden_tensor *golden_find(golden *g, const char *name);
/* Whether there is a tensor of that name; does not mark it as seen. */
bool golden_has(const golden *g, const char *name);
/* The first tensor that golden_find has not returned, or NULL. A test must use all tensors. */
const golden_tensor *golden_unseen(const golden *g);

/* The tensor if it has this shape; otherwise NULL with an error that shows both shapes. */
golden_tensor *golden_shaped(golden *g, const char *name, int rank, const int *shape);

/* Whether every |got - want| <= tolerance * (maximum |want|, or 1 if all are 0). got NULL: zeros. */
bool golden_close(golden *g, const golden_tensor *want, const attend_real *got, double tolerance);

#endif
