/* rig.h: a test harness for a golden: provides its inputs as variables, and compares outputs and gradients.
 *
 * A test opens a rig, builds its operation on rig_input and rig_weight, passes the results to rig_output and calls
 * rig_check, which differentiates and compares every grad.NAME. A difference fails the running cmocka test with a
 * message that names the file, the tensor, the kernel table and the variant. rig_close fails if the test did not use
 * every tensor of the file. */
#ifndef GOLDEN_RIG_H
#define GOLDEN_RIG_H

#include "golden/golden.h"
#include <attend/attend.h>

enum { RIG_LEAVES = 64, RIG_PATH = 4096 };

/* The tolerance relative to the largest element of a tensor: the effect of a few dozen roundings. */
#ifdef ATTEND_DOUBLE
#define RIG_TOLERANCE 1e-12
#else
#define RIG_TOLERANCE 1e-5
#endif

/* The kind of weights: parameters, as in a model (which are packed), or other variables. */
typedef enum rig_weights { RIG_PARAMETERS, RIG_INPUTS } rig_weights;

typedef struct rig_leaf {
    const golden_tensor *tensor;
    attend_var *input; /* or NULL: `param` */
    attend_param *param;
} rig_leaf;

typedef struct rig {
    golden g;
    char path[RIG_PATH];
    const char *way; /* describes the variant in messages */
    rig_weights weights;
    double tolerance;
    attend_ctx *c;
    attend_params *params;
    attend_grads *grads;
    attend_var *loss;
    rig_leaf leaves[RIG_LEAVES];
    int count;
} rig;

/* The directory of the goldens: the program's first argument, or the source directory. */
void rig_directory(int argc, char **argv);
void rig_path(char *out, size_t size, const char *name);

/* Opens NAME.golden. `way` is not copied. */
void rig_open(rig *r, const char *name, rig_weights weights, const char *way);
void rig_close(rig *r);

/* Fails the running test with the error of the golden or of the library unless `good`. */
void rig_require(rig *r, bool good);
void rig_status(rig *r, int status);

attend_var *rig_input(rig *r, const char *name);
attend_var *rig_weight(rig *r, const char *name);
/* The same, or NULL if the golden has no such tensor. */
attend_var *rig_input_if_any(rig *r, const char *name);
attend_var *rig_weight_if_any(rig *r, const char *name);

/* A tensor of integers: ids, lengths, targets. The caller frees it. */
int *rig_integers(rig *r, const char *name, int *count);
double rig_number(rig *r, const char *name, size_t i);
/* A tensor as attend_real. The caller frees it. */
attend_real *rig_reals(const golden_tensor *t);

/* Compares a value with NAME, and adds sum(bar.NAME * value) to the loss. */
void rig_output(rig *r, const char *name, attend_var *v);
/* Compares plain numbers of this shape with NAME. */
void rig_compare(rig *r, const char *name, int rank, const int *shape, const attend_real *got);
/* Differentiates the loss and compares the gradient of every input and weight. */
void rig_check(rig *r);

/* Calls `run` with every kernel table of support/kernel_tables.h, then restores the previous table. */
void rig_every_table(void (*run)(const void *user), const void *user);

#endif
