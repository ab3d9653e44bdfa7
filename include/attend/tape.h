/* tape.h: variables, parameters, and the tape that differentiates what was done with them.
 *
 * Purpose    A model is ordinary C. Each operation (op.h) computes at once and, while recording, leaves a
 *            node on the context's tape; attend_backward walks the nodes in reverse.
 * Ownership  A context owns every variable made in it: they die together at attend_ctx_reset, or at
 *            attend_ctx_rewind to a mark taken before them. Nothing is freed one by one.
 * Failure    Sticky. An operation that fails returns NULL and the context remembers the first failure;
 *            every later operation on a failed context, or on a NULL variable, returns NULL at once. So a
 *            model checks once, at the end. attend_ctx_reset clears it.
 * Threads    A context is used by one thread at a time. Parameters are read by many contexts at once;
 *            nobody may change their values meanwhile. */
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

/* ---- parameters: what a model learns; they outlive every context ---- */

/* An empty set. *out is the caller's, freed by attend_params_free (NULL is fine there). */
int attend_params_new(attend_params **out);
void attend_params_free(attend_params *set);

/* Adds a parameter of zeros. The name is copied and must be new to the set; the parameter belongs to the set. */
int attend_params_add(attend_param **out, attend_params *set, const char *name, int rank, const int *shape);

int attend_params_count(const attend_params *set);
attend_param *attend_params_at(const attend_params *set, int i);
attend_param *attend_params_find(const attend_params *set, const char *name); /* NULL if there is none */
size_t attend_params_size(const attend_params *set);                          /* numbers in all of them together */

const char *attend_param_name(const attend_param *p);
int attend_param_rank(const attend_param *p);
int attend_param_dim(const attend_param *p, int axis);
size_t attend_param_size(const attend_param *p);
attend_precision attend_param_precision(const attend_param *p);
/* NULL if the parameter is kept in fewer bits. */
const attend_real *attend_param_value(const attend_param *p);
/* For writing. Whoever writes calls attend_param_changed afterwards, so that packed copies are made anew. */
attend_real *attend_param_edit(attend_param *p);
void attend_param_changed(attend_param *p);

/* Fills with numbers uniform in [-bound, bound]; they depend on the seed and the parameter's name alone. */
void attend_param_fill_uniform(attend_param *p, uint64_t seed, double bound);

/* ---- gradients: one buffer for each parameter of a set ---- */

int attend_grads_new(attend_grads **out, const attend_params *set);
void attend_grads_free(attend_grads *g);
/* Sets all to zero. Of a parameter of which only some rows were touched (embedding), only those are written. */
void attend_grads_zero(attend_grads *g);
const attend_real *attend_grads_of(const attend_grads *g, const attend_param *p);

/* ---- context ---- */

int attend_ctx_new(attend_ctx **out);
void attend_ctx_free(attend_ctx *c);
/* Products that are worth it are shared by so many threads (1: none but the caller's), which belong to the context; results stay the same
 * to the bit. For one sentence at a time; many are faster with a context for each thread. */
int attend_ctx_set_threads(attend_ctx *c, int threads);

/* Forgets the tape, every variable and any failure; keeps the memory for the next step. */
void attend_ctx_reset(attend_ctx *c);

/* Where derivatives of parameters are added; NULL: parameters are constants. */
void attend_ctx_set_grads(attend_ctx *c, attend_grads *g);

/* Recording is on after attend_ctx_new. Off, operations leave no node and keep nothing for a backward pass. */
void attend_ctx_set_recording(attend_ctx *c, bool on);

/* Training switches dropout on; it is off after attend_ctx_new. */
void attend_ctx_set_training(attend_ctx *c, bool on);

/* Random numbers of this context come from (seed, stream): the same pair gives the same numbers whatever
 * the thread. A training loop gives each shard of each update a stream of its own. */
void attend_ctx_set_random(attend_ctx *c, uint64_t seed, uint64_t stream);

int attend_ctx_status(const attend_ctx *c); /* the first failure, or ATTEND_OK */
const char *attend_ctx_message(const attend_ctx *c);

/* Variables made after a mark die at the rewind; a decoding loop does this each step. Recording must be off. */
typedef struct attend_mark {
    void *chunk;
    size_t used;
} attend_mark;
attend_mark attend_ctx_mark(const attend_ctx *c);
void attend_ctx_rewind(attend_ctx *c, attend_mark mark);

/* Bytes the context holds from the system: the peak of all steps so far. */
size_t attend_ctx_bytes(const attend_ctx *c);

/* ---- variables ---- */

/* A copy of `data` (row-major, zeros if NULL) that takes part in no differentiation. */
attend_var *attend_constant(attend_ctx *c, int rank, const int *shape, const attend_real *data);
/* The same, but attend_gradient of it is filled by attend_backward. */
attend_var *attend_input(attend_ctx *c, int rank, const int *shape, const attend_real *data);
/* A parameter as a variable: no copy; its derivative goes to the context's gradients. */
attend_var *attend_use(attend_ctx *c, attend_param *p);

/* Of NULL these are 0 and NULL, so that a model need not look before its end. */
int attend_rank(const attend_var *v);
int attend_dim(const attend_var *v, int axis);
size_t attend_size(const attend_var *v);
const attend_real *attend_value(const attend_var *v);
/* After attend_backward: dL/dv, or NULL where nothing flowed. */
const attend_real *attend_gradient(const attend_var *v);

/* Walks the tape from `loss` (one number) back, adding dL/dx to every x it depends on. Once a tape. */
int attend_backward(attend_ctx *c, attend_var *loss);
/* The same from any variable, given dL/d`from` of its shape. */
int attend_backward_from(attend_ctx *c, attend_var *from, const attend_real *gradient);

#ifdef __cplusplus
}
#endif
#endif
