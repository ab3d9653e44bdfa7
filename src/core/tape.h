/* tape.h: the inside of contexts, variables and parameters, for those who write operations
 * (the public half is attend/tape.h; docs/add-an-operation.md shows how to write one). */
#ifndef ATTEND_CORE_TAPE_H
#define ATTEND_CORE_TAPE_H

#include "core/arena.h"
#include "core/pool.h"
#include "core/rng.h"
#include "core/status.h"
#include <attend/tape.h>
#include <pthread.h>
#include <stdatomic.h>

typedef attend_real real;

/* ---- parameters ---- */

/* A weight laid out for the packed product; op/packed_weights.c keeps it. */
typedef struct packed_copy {
    void *data;
    size_t size;        /* bytes */
    const void *kernel; /* table it was packed for; NULL: not yet */
    uint64_t version;   /* of the value it was packed from */
} packed_copy;

struct attend_param {
    char *name;
    int index; /* in its set */
    int rank, shape[ATTEND_MAX_RANK];
    size_t size;
    real *value;   /* NULL if it is kept in fewer bits */
    bool borrowed; /* the value, or bits and steps, are somebody else's memory */
    attend_precision precision;
    const void *bits;   /* bf16: uint16_t, int8: int8_t, in the shape of the parameter */
    const float *steps; /* int8: (rows) */
    bool mapped;        /* see param_numbers; until it changes */
    bool weights;       /* of products or of rows alone, so that fewer bits will do */
    atomic_uint_least64_t version;
    pthread_mutex_t lock; /* of packed[] */
    packed_copy packed[2];
};

struct attend_params {
    attend_param **list;
    int count, capacity;
};

/* The numbers of a parameter that are there already: a value, or fewer bits. */
typedef struct param_numbers {
    real *value;
    attend_precision precision;
    const void *bits;
    const float *steps;
    bool borrowed; /* they stay the caller's and outlive the set; else they become the set's, whatever happens */
    bool mapped;   /* and are a private map of a file, whose pages can be given back and come again */
} param_numbers;

/* attend_params_add with such numbers; NULL: zeros. */
int attend_params_add_at(attend_param **out, attend_params *set, const char *name, int rank, const int *shape,
                         const param_numbers *numbers);
/* Puts others in the place of a parameter's numbers. */
void attend_param_take(attend_param *p, const param_numbers *numbers);
/* Gives the pages of a mapped parameter back to the system, since there is a packed copy of it or it is not wanted soon; whoever reads it
 * all the same finds it as it was. */
void attend_param_release(const attend_param *p);
/* Row i of a matrix as numbers. */
void attend_param_row(const attend_param *p, size_t i, real *row);

/* ---- gradients ---- */

/* The buffer is zero wherever nothing was added: everywhere unless `dense`, or in the rows listed. */
typedef struct grad_entry {
    const attend_param *param;
    real *value;
    bool dense;
    int rows_used;
    int *rows;              /* which; only for rank 2 */
    unsigned char *touched; /* by row: is it in the list? */
} grad_entry;

struct attend_grads {
    int count;
    grad_entry *entries;
};

/* The whole buffer, for adding to anywhere. */
real *attend_grads_dense(attend_grads *g, const attend_param *p);
/* The whole buffer, for adding to these rows alone. */
real *attend_grads_rows(attend_grads *g, const attend_param *p, const int *rows, int n);
/* Forgets which rows were touched; the caller has seen to their being zero. */
void attend_grads_forget(grad_entry *e);
/* Lists rows as touched. */
void attend_grads_touch(grad_entry *e, const int *rows, int n);
/* Numbers in a row. */
size_t attend_grads_row_size(const grad_entry *e);

/* ---- variables ---- */

struct attend_var {
    real *value;
    real *grad; /* NULL until something flows back */
    int rank, shape[ATTEND_MAX_RANK];
    size_t size;
    bool differentiable;
    bool needed;           /* some operation may read its value on the way back: nobody may overwrite it */
    bool consumed;         /* its value was overwritten by the operation that used it */
    const real *packed[2]; /* not a parameter's: packed copies, if somebody made them; [1]: transposed */
    attend_param *param;   /* if it is one, with .. */
    attend_grads *grads;   /* .. the gradients its derivative goes to */
};

/* A piece of tape: an operation puts it first in a struct of its own, which holds what backward needs. */
typedef struct attend_node attend_node;
typedef void (*attend_backward_fn)(attend_ctx *c, attend_node *node);
struct attend_node {
    attend_node *previous;
    attend_backward_fn backward;
};

struct attend_ctx {
    attend_arena arena;
    attend_node *tape; /* the last node */
    attend_grads *grads;
    bool recording, training, walked;
    uint64_t seed, stream;
    uint32_t random_uses;
    struct late_product *late;     /* of op/weight_gradient.c: what the end of the walk back still has to do, .. */
    void (*finish)(attend_ctx *c); /* .. and who does it; NULL: nothing */
    attend_pool *pool;             /* threads that share a product with the caller's; NULL: none */
    attend_pool *own_pool;         /* the same, if it is the context's to free */
    int status;
    char message[ATTEND_MESSAGE_SIZE];
};

/* Shares a pool, which stays the caller's, with a context: its threads take part in the matrix products of the context. NULL ends that; the threads of
 * attend_ctx_set_threads, if any, are used again. */
void attend_ctx_set_pool(attend_ctx *c, attend_pool *pool);

/* Marks the context as failed (the first failure stays) and returns NULL. */
void *attend_ctx_fail(attend_ctx *c, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True if the context is well and none of the n variables (attend_var *) is NULL or consumed; they are `needed`
 * from then on. Optional variables are checked by the caller when they are there. An operation whose backward reads
 * its own result says so itself. */
bool attend_ready(attend_ctx *c, const char *operation, int n, ...);

/* The same for one variable that may be kept in fewer bits, since the operation reads it through attend_var_matrix or
 * attend_param_row alone. */
bool attend_ready_weights(attend_ctx *c, const char *operation, attend_var *v);

/* Arena memory for count * size bytes, not initialised; NULL (and the context failed) when it ran out. */
void *attend_take(attend_ctx *c, size_t count, size_t size);
real *attend_take_reals(attend_ctx *c, size_t count);
real *attend_take_zeros(attend_ctx *c, size_t count);

/* A variable whose value is not initialised. It is differentiable if asked and the context records. */
attend_var *attend_var_new(attend_ctx *c, int rank, const int *shape, bool differentiable);
attend_var *attend_var_2d(attend_ctx *c, int rows, int columns, bool differentiable);

/* Puts a node with its backward function on the tape. Call it last, when nothing more can fail. */
void attend_record(attend_ctx *c, attend_node *node, attend_backward_fn backward);

/* A variable on memory of the caller's; dL/dv is added to `grad` if that is not NULL. */
attend_var *attend_wrap(attend_ctx *c, int rank, const int *shape, const real *data, real *grad);
/* Walks the tape back; whoever calls has set the gradients it starts from. */
int attend_walk(attend_ctx *c);

/* Where to add dL/dv: zeros the first time. NULL if v is NULL or not differentiable, or memory ran out. */
real *attend_grad(attend_ctx *c, attend_var *v);
/* The same for a (rows, D) variable of which only these rows will be touched. */
real *attend_grad_rows(attend_ctx *c, attend_var *v, const int *rows, int n);

/* Random numbers for one operation. */
attend_rng attend_ctx_random(attend_ctx *c);

/* "(3, 5)" into a buffer of ATTEND_SHAPE_TEXT bytes, which is returned. */
enum { ATTEND_SHAPE_TEXT = 64 };
const char *attend_shape_text(const attend_var *v, char *text);
bool attend_same_shape(const attend_var *a, const attend_var *b);

#endif
