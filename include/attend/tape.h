/* tape.h: variables, parameters, and the tape for automatic differentiation.
 *
 * Purpose    A model is ordinary C code. Each operation (op.h) computes immediately and, while recording, adds a node
 *            to the context's tape; attend_backward walks the nodes in reverse.
 * Ownership  A context owns all variables created in it. They are freed together by attend_ctx_reset, or by
 *            attend_ctx_rewind to a mark taken before they were created; never one by one.
 * Failure    Sticky. An operation that fails returns NULL, and the context keeps the first failure. Every later
 *            operation on a failed context returns NULL at once, so a model checks the status once, at the end.
 *            attend_ctx_reset clears the failure.
 * Threads    A context is used by one thread at a time. Several contexts may read the same parameters at the same time,
 *            while no thread changes them. */
#ifndef ATTEND_TAPE_H
#define ATTEND_TAPE_H

#include <attend/precision.h>
#include <attend/real.h>
#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTEND_MAX_RANK = 4 };

typedef struct attend_ctx attend_ctx;
typedef struct attend_var attend_var;
typedef struct attend_param attend_param;
typedef struct attend_params attend_params;
typedef struct attend_grads attend_grads;

/* ---- parameters: the learned tensors of a model; they outlive contexts ---- */

/* Creates an empty set. The caller frees it with attend_params_free, which accepts NULL. */
int attend_params_new(attend_params **out);
void attend_params_free(attend_params *set);

/* Adds a parameter filled with zeros. The name is copied and must be new to the set. The set owns the parameter;
 * `out` may be NULL. */
int attend_params_add(attend_param **out, attend_params *set, const char *name, int rank, const int *shape);

/* The number of parameters; parameter i, in the order of addition; the parameter with this name. */
int attend_params_count(const attend_params *set);
attend_param *attend_params_at(const attend_params *set, int i);
attend_param *attend_params_find(const attend_params *set, const char *name); /* NULL if there is none */
size_t attend_params_size(const attend_params *set);                          /* number of elements of all parameters */

/* The properties of a parameter: name, number of axes, size of an axis, number of elements, precision. */
const char *attend_param_name(const attend_param *p);
int attend_param_rank(const attend_param *p);
int attend_param_dim(const attend_param *p, int axis);
size_t attend_param_size(const attend_param *p);
attend_precision attend_param_precision(const attend_param *p);
/* NULL if the parameter is quantised. */
const attend_real *attend_param_value(const attend_param *p);
/* The value, for writing. Call attend_param_changed afterwards: it invalidates cached copies. */
attend_real *attend_param_edit(attend_param *p);
void attend_param_changed(attend_param *p);

/* Fills the parameter with numbers uniform in [-bound, bound), which depend only on the seed and the parameter's
 * name. */
void attend_param_fill_uniform(attend_param *p, uint64_t seed, double bound);

/* ---- gradients: one buffer for each parameter of a set ---- */

/* Gradients of all parameters of a set, initially zero. The caller owns *out and frees it with attend_grads_free, which
 * accepts NULL. The set must outlive them. */
int attend_grads_new(attend_grads **out, const attend_params *set);
void attend_grads_free(attend_grads *g);
/* Sets all gradients to zero. If only some rows of a parameter were touched (embeddings), only those are written. */
void attend_grads_zero(attend_grads *g);
/* The gradient of a parameter, in its shape. */
const attend_real *attend_grads_of(const attend_grads *g, const attend_param *p);

/* ---- context ---- */

/* An empty context with recording on and training off. The caller owns *out and frees it with attend_ctx_free (NULL is
 * allowed). */
int attend_ctx_new(attend_ctx **out);
void attend_ctx_free(attend_ctx *c);
/* Large matrix products use this many threads (1: only the calling thread), which belong to the context. Results are
 * bit-identical for any number. This speeds up a single sentence; many sentences are faster with one context per
 * thread. */
int attend_ctx_set_threads(attend_ctx *c, int threads);
/* The precision of matrix products from now on, with weights and of activations; at first fp32. Attention scores and
 * their weighted sums, the recurrent product of ATTEND_CELL_GRU_RESET_BEFORE, and products with int8 weights do not
 * depend on it. ATTEND_BAD_USAGE if there is no such precision. */
int attend_ctx_set_compute(attend_ctx *c, attend_compute_precision precision);

/* Frees the tape and all variables and clears any failure; the memory is kept for the next step. */
void attend_ctx_reset(attend_ctx *c);

/* The gradients to which attend_backward adds; NULL: parameters are constants. */
void attend_ctx_set_grads(attend_ctx *c, attend_grads *g);

/* Initially on. While it is off, operations record no node and keep nothing for a backward pass. */
void attend_ctx_set_recording(attend_ctx *c, bool on);

/* Initially off. Training mode enables dropout. */
void attend_ctx_set_training(attend_ctx *c, bool on);

/* The random numbers of this context are a function of (seed, stream), independent of threads. A training loop uses a
 * different stream for each shard of each update. */
void attend_ctx_set_random(attend_ctx *c, uint64_t seed, uint64_t stream);

/* The first failure, or ATTEND_OK, and its message. */
int attend_ctx_status(const attend_ctx *c);
const char *attend_ctx_message(const attend_ctx *c);

/* attend_ctx_rewind frees the variables created after the mark, as a decoding loop does at each step. Recording must be
 * off. */
typedef struct attend_mark {
    void *chunk, *numbers;
    size_t used, numbers_used;
    uint64_t variables;
} attend_mark;
attend_mark attend_ctx_mark(const attend_ctx *c);
void attend_ctx_rewind(attend_ctx *c, attend_mark mark);

/* Bytes that the context has allocated from the system: the peak of all steps so far. */
size_t attend_ctx_bytes(const attend_ctx *c);

/* ---- variables ---- */

/* A copy of `data` (row-major; NULL: zeros) that is not differentiated. */
attend_var *attend_constant(attend_ctx *c, int rank, const int *shape, const attend_real *data);
/* The same, but attend_backward computes its gradient (attend_gradient). */
attend_var *attend_input(attend_ctx *c, int rank, const int *shape, const attend_real *data);
/* A parameter as a variable, without a copy. Its gradient is added to the context's gradients. */
attend_var *attend_parameter(attend_ctx *c, attend_param *p);

/* These accept NULL and return 0 or NULL, so that a model need not check each result. */
int attend_rank(const attend_var *v);
int attend_dim(const attend_var *v, int axis);
size_t attend_size(const attend_var *v);
const attend_real *attend_value(const attend_var *v);
/* dL/dv after attend_backward; NULL if the loss does not depend on v. */
const attend_real *attend_gradient(const attend_var *v);

/* Computes the gradients of `loss`, a single number, for every variable and parameter on which it depends, and adds
 * them. Once per tape. */
int attend_backward(attend_ctx *c, attend_var *loss);
/* The same for any variable `from`, given dL/d(from) in its shape. */
int attend_backward_from(attend_ctx *c, attend_var *from, const attend_real *gradient);

#ifdef __cplusplus
}
#endif
#endif
