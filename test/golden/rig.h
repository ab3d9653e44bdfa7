/* rig.h: a golden as a graph: its inputs as variables, its outputs as a loss, its derivatives as a check.
 *
 * A test opens a rig, builds its operation on rig_input and rig_weight, hands the results to rig_output and calls
 * rig_check, which differentiates and compares every grad.NAME. What fails, fails the running cmocka test with a
 * message that names the file, the tensor, the kernel table and the way. rig_close insists that the test looked at
 * every tensor of the file. */
#ifndef GOLDEN_RIG_H
#define GOLDEN_RIG_H

#include "golden/golden.h"
#include <attend/attend.h>

enum { RIG_LEAVES = 64, RIG_PATH = 4096 };

/* How far, relative to the largest number of a tensor: what a few dozen roundings leave. */
#ifdef ATTEND_DOUBLE
#define RIG_TOLERANCE 1e-12
#else
#define RIG_TOLERANCE 1e-5
#endif

/* Where weights live: parameters are what a model has (and are packed); a weight may also be any variable. */
typedef enum rig_weights { RIG_PARAMETERS, RIG_INPUTS } rig_weights;

typedef struct rig_leaf {
    const golden_tensor *tensor;
    attend_var *input; /* or NULL: */
    attend_param *param;
} rig_leaf;

typedef struct rig {
    golden g;
    char path[RIG_PATH];
    const char *way; /* for messages: what this run does differently */
    rig_weights weights;
    double tolerance;
    attend_ctx *c;
    attend_params *params;
    attend_grads *grads;
    attend_var *loss;
    rig_leaf leaves[RIG_LEAVES];
    int count;
} rig;

/* The folder of the goldens: the program's first argument, or where the sources are. */
void rig_folder(int argc, char **argv);
void rig_path(char *out, size_t size, const char *name);

/* Opens NAME.golden. `way` is kept, not copied. */
void rig_open(rig *r, const char *name, rig_weights weights, const char *way);
void rig_close(rig *r);

/* Fails the running test unless `good`, with the golden's error or the library's. */
void rig_require(rig *r, bool good);
void rig_status(rig *r, int status);

attend_var *rig_input(rig *r, const char *name);
attend_var *rig_weight(rig *r, const char *name);
/* The same, or NULL if the golden has none. */
attend_var *rig_input_if_any(rig *r, const char *name);
attend_var *rig_weight_if_any(rig *r, const char *name);

/* Whole numbers: ids, lengths, targets. The caller frees. */
int *rig_integers(rig *r, const char *name, int *count);
double rig_number(rig *r, const char *name, size_t i);
/* A tensor's numbers as reals. The caller frees. */
attend_real *rig_reals(const golden_tensor *t);

/* Compares a value with NAME, and adds sum(bar.NAME * value) to the loss. */
void rig_output(rig *r, const char *name, attend_var *v);
/* Compares plain numbers of this shape with NAME. */
void rig_compare(rig *r, const char *name, int rank, const int *shape, const attend_real *got);
/* Differentiates the loss and compares the derivative of every input and weight. */
void rig_check(rig *r);

/* Calls `run` with every kernel table of support/kernel_tables.h in use, then puts back the one that was. */
void rig_every_table(void (*run)(const void *user), const void *user);

#endif
