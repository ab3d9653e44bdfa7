/* tape.h: the private part of attend/tape.h: the members of contexts, variables and parameters, and the functions from
 * which operations are built (docs/add-an-operation.md shows how to write one). */
#ifndef ATTEND_CORE_TAPE_H
#define ATTEND_CORE_TAPE_H

#include "core/compute.h"
#include "core/device_memory.h"
#include "core/rng.h"
#include "core/status.h"
#include <attend/tape.h>
#include <pthread.h>
#include <stdatomic.h>

typedef attend_real real;

/* ---- parameters ---- */

/* A copy of a parameter in another layout, for use by the layers above. The parameter owns it and frees it; core does
 * not read it. */
typedef struct param_cache {
    void *data;
    size_t size;                   /* bytes */
    const void *_Atomic key;       /* identifies the layout; NULL: empty */
    atomic_uint_least64_t version; /* of the parameter when the copy was made */
} param_cache;

/* One for each precision of products, as it is and transposed. */
enum { PARAM_CACHES = 2 * (ATTEND_COMPUTE_TF32 + 1) };

struct attend_param {
    char *name;
    int index; /* in its set */
    int rank, shape[ATTEND_MAX_RANK];
    size_t size;
    const device_memory *memory; /* where the numbers lie */
    real *value;                 /* NULL if quantised */
    bool borrowed;               /* the storage belongs to the caller */
    attend_precision precision;
    const void *quantized; /* bf16: uint16_t, int8: int8_t, in the shape of the parameter */
    const float *scales;   /* int8: (rows) */
    bool quantizable;      /* only used by operations that accept quantised weights */
    atomic_uint_least64_t version;
    pthread_mutex_t lock; /* of changes of cache (core/fork_lock.h) */
    param_cache cache[PARAM_CACHES];
    real *host; /* a copy of the value for the public readers; only if the numbers are not in host memory */
    uint64_t host_version;
    void *host_quantized; /* the same for quantised numbers and scales */
    float *host_scales;
    bool edited; /* attend_param_edit was called since the device last changed the value */
};

struct attend_params {
    const device_memory *memory;
    attend_param **list;
    int count, capacity;
};

/* Existing storage for a parameter, in host memory: a value, or quantised numbers and their scales. If the device of the
 * set has other memory, they are uploaded. */
typedef struct param_storage {
    real *value;
    attend_precision precision;
    const void *quantized;
    const float *scales;
    bool borrowed; /* the caller owns it, and it outlives the set; otherwise the set takes ownership, even on failure */
    bool shape_only; /* there are no numbers: the parameter must not be used */
} param_storage;

/* attend_params_add with existing storage; NULL: zeros. */
int attend_params_add_stored(attend_param **out, attend_params *set, const char *name, int rank, const int *shape,
                             const param_storage *storage);
/* Replaces a parameter's storage. On failure (ATTEND_NO_MEMORY) the parameter is unchanged. */
int attend_param_set_storage(attend_param *p, const param_storage *storage);
/* Copies numbers of host memory to the value, from element `first` on. The caller calls attend_param_computed. */
void attend_param_write(attend_param *p, size_t first, size_t count, const real *from);
/* The quantised numbers and the scales in host memory; NULL, with a message, if memory ran out. */
const void *attend_param_quantized(attend_param *p);
const float *attend_param_scales(attend_param *p);
/* The status after one of these, or attend_param_value, has returned NULL: ATTEND_NO_MEMORY, or ATTEND_FAILED if the device
 * has failed. */
int attend_param_unreadable(const attend_param *p);
/* attend_param_changed for a value that was changed on the device. */
void attend_param_computed(attend_param *p);
/* Frees the copies in other layouts, which no thread may be using. They are made again when they are needed. */
void attend_param_drop_copies(attend_param *p);

/* ---- gradients ---- */

/* The buffer is zero outside the rows listed, unless it is `dense`. */
typedef struct grad_entry {
    const attend_param *param;
    real *value;
    bool dense, was_dense; /* was_dense: since it was allocated */
    int rows_used;
    int *rows;              /* the rows that were touched; only for rank 2 */
    unsigned char *touched; /* for each row: is it in the list? */
    real *host;             /* a copy for attend_grads_of; only if the numbers are not in host memory */
} grad_entry;

struct attend_grads {
    const device_memory *memory;
    int count;
    grad_entry *entries;
};

/* The whole buffer; the caller may add to any of it. */
real *attend_grads_dense(attend_grads *g, const attend_param *p);
/* The whole buffer; the caller may add to these rows only. */
real *attend_grads_rows(attend_grads *g, const attend_param *p, const int *rows, int n);
/* Empties the list of touched rows; the caller has set them to zero. */
void attend_grads_clear_rows(grad_entry *e);
/* Adds rows to the list of touched rows. */
void attend_grads_touch(grad_entry *e, const int *rows, int n);
/* Numbers per row. */
size_t attend_grads_row_size(const grad_entry *e);

/* ---- variables ---- */

struct attend_var {
    real *value;
    real *grad; /* NULL until a gradient is added */
    int rank, shape[ATTEND_MAX_RANK];
    size_t size;
    bool differentiable;
    bool needed;          /* a backward function may read the value: it must not be overwritten */
    bool consumed;        /* the operation that read it has overwritten its value */
    const real *cache[2]; /* copies in another layout, made by the layers above; not for parameters */
    attend_param *param;  /* the parameter whose value it is, or NULL */
    attend_grads *grads;  /* of a parameter: where its gradient is added */
    attend_ctx *context;
    uint64_t number; /* of the variables of the context, in order of creation */
};

/* Copies of a variable in host memory, for attend_value and attend_gradient; heap memory, because it must live as long as
 * the variable, which may be older than the mark to which the arena is rewound. */
typedef struct host_copy {
    struct host_copy *next;
    const attend_var *of;
    uint64_t number;
    real *value, *grad;
    bool final_grad; /* grad was copied after the backward pass */
} host_copy;

/* One recorded operation. An operation makes it the first member of a struct that holds what its backward function
 * needs. */
typedef struct attend_node attend_node;
typedef void (*attend_backward_fn)(attend_ctx *c, attend_node *node);
struct attend_node {
    attend_node *previous;
    attend_backward_fn backward;
};

struct attend_ctx {
    attend_arena arena;          /* host memory: structs and index arrays */
    attend_arena numbers;        /* device memory: values, gradients and what operations save */
    attend_arena states;         /* device memory that no rewinding frees, only a reset: the states of a decoding */
    const device_memory *memory; /* the device (device/device.h) */
    attend_compute compute;      /* threads for large computations, and scratch memory */
    host_copy *copies;
    uint64_t variables; /* created so far */
    attend_node *tape;  /* the last node */
    attend_grads *grads;
    bool recording, training;
    bool backward_done; /* the tape can be walked only once */
    uint64_t seed, stream;
    uint32_t random_uses;
    void *deferred;                      /* work that operations postpone to the end of backward; NULL: none */
    void (*run_deferred)(attend_ctx *c); /* runs the postponed work */
    attend_pool *own_pool;               /* that of attend_ctx_set_threads, which the context owns, or NULL */
    int status;
    char message[ATTEND_MESSAGE_SIZE];
};

/* Makes the matrix products of the context use the threads of a pool, which still belongs to the caller. NULL: use the
 * threads of attend_ctx_set_threads again, if any. */
void attend_ctx_set_pool(attend_ctx *c, attend_pool *pool);

/* Allocates bytes of device memory, not initialised, that stay until the context is reset; NULL if memory ran out. The
 * context keeps them for the next decoding, which saves it the page faults. */
void *attend_ctx_take_state(attend_ctx *c, size_t bytes);

/* Frees the context's memory if it has more than max_bytes, which resets it. */
void attend_ctx_shrink(attend_ctx *c, double max_bytes);

/* ATTEND_REQUIRE (core/status.h) for an operation on the tape: marks the context as failed and returns NULL. */
#define ATTEND_REQUIRE_IN(c, condition)                                                                                \
    do {                                                                                                               \
        if (!(condition)) return attend_ctx_fail(c, ATTEND_BAD_USAGE, ATTEND_REFUSAL, __func__, #condition);           \
    } while (0)

/* Marks the context as failed, unless it has failed before, and returns NULL. Without a context, which is a failure
 * too, only the thread's message is set. */
void *attend_ctx_fail(attend_ctx *c, int code, const char *format, ...) ATTEND_PRINTF(3, 4);

/* Checks the n input variables (attend_var *) of an operation: true if the context has not failed and none is NULL,
 * consumed or quantised. Marks them as `needed`. The caller checks optional variables only if they are given. An
 * operation whose backward function reads its own result marks the result itself. */
bool attend_check_inputs(attend_ctx *c, const char *operation, int n, ...);

/* The same for one weight that may be quantised, for operations that read a parameter in any precision. */
bool attend_check_weight(attend_ctx *c, const char *operation, attend_var *v);

/* Allocates count * size bytes, not initialised: in host memory, for structs and index arrays; in device memory, for
 * what device functions read and write. NULL, and the context has failed, if memory ran out. */
void *attend_ctx_alloc(attend_ctx *c, size_t count, size_t size);
void *attend_ctx_alloc_device(attend_ctx *c, size_t count, size_t size);
/* The same for numbers in device memory, not initialised and zeroed. */
real *attend_ctx_alloc_reals(attend_ctx *c, size_t count);
real *attend_ctx_alloc_zeros(attend_ctx *c, size_t count);
/* attend_ctx_rewind for temporary memory of an operation, also while the tape contains operations. */
void attend_ctx_release(attend_ctx *c, attend_mark mark);
/* Fails the context and returns false if its device has failed. To be called where results leave the device. */
bool attend_ctx_check_device(attend_ctx *c);
/* Copies numbers to host memory; false, and the context has failed, if the device has. */
bool attend_ctx_read(attend_ctx *c, void *to, const void *from, size_t bytes);
/* Fails the context for lack of memory and returns false, unless a computation has succeeded. */
bool attend_ctx_computed(attend_ctx *c, bool succeeded);

/* A variable whose value is not initialised. It is differentiable if requested and the context is recording. */
attend_var *attend_var_new(attend_ctx *c, int rank, const int *shape, bool differentiable);
attend_var *attend_var_2d(attend_ctx *c, int rows, int columns, bool differentiable);

/* Adds a node to the tape. To be called last, when the operation can no longer fail. */
void attend_record(attend_ctx *c, attend_node *node, attend_backward_fn backward);

/* Arrays of the caller, in host memory, as numbers of the device: the array itself if the device computes in host
 * memory, otherwise a copy in the context's device memory; NULL if memory ran out. What was computed there is returned
 * to the array. */
real *attend_ctx_lend(attend_ctx *c, const real *array, size_t count);
void attend_ctx_return(attend_ctx *c, const real *numbers, size_t count, real *array);
/* A variable whose value is such an array. */
attend_var *attend_wrap(attend_ctx *c, int rank, const int *shape, const real *array);
/* Runs all backward functions of the tape. The caller has set the gradients of the outputs. */
int attend_run_backward(attend_ctx *c);

/* The buffer to which dL/dv is added, zero at first. NULL if v is NULL or not differentiable, or memory ran out. */
real *attend_grad(attend_ctx *c, attend_var *v);
/* The same without zeros: if `first` is set, the buffer is new and not initialised, and the caller sets all of it. */
real *attend_grad_or_new(attend_ctx *c, attend_var *v, bool *first);
/* The same for a (rows, D) variable; the caller adds to the given rows only. */
real *attend_grad_rows(attend_ctx *c, attend_var *v, const int *rows, int n);

/* A sequence of random numbers for one operation. */
attend_rng attend_ctx_random(attend_ctx *c);

/* Writes the shape, as in "(3, 5)", to a buffer of ATTEND_SHAPE_TEXT bytes and returns it. */
enum { ATTEND_SHAPE_TEXT = 64 };
const char *attend_shape_text(const attend_var *v, char *text);
bool attend_same_shape(const attend_var *a, const attend_var *b);

#endif
