#include "core/tape.h"

#include "core/memory.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int attend_ctx_new(attend_ctx **out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = attend_memory_zeroed(1, sizeof **out);
    if (!*out) return attend_fail(ATTEND_NO_MEMORY, "no memory for a context");
    attend_ctx *c = *out;
    c->recording = true;
    c->memory = c->numbers.memory = c->states.memory = attend_device_default();
    if (!c->memory) {
        attend_memory_free(c);
        *out = NULL;
        return ATTEND_BAD_USAGE;
    }
    c->compute.scratch = &c->arena;
    return ATTEND_OK;
}

/* Frees the copies of variables from number `first` on. */
static void free_copies(attend_ctx *c, uint64_t first)
{
    for (host_copy **at = &c->copies; *at;) {
        host_copy *copy = *at;
        if (copy->number < first) {
            at = &copy->next;
            continue;
        }
        *at = copy->next;
        attend_memory_free(copy->value);
        attend_memory_free(copy->grad);
        attend_memory_free(copy);
    }
}

void attend_ctx_free(attend_ctx *c)
{
    if (!c) return;
    free_copies(c, 0);
    attend_arena_free(&c->states);
    attend_arena_free(&c->numbers);
    attend_arena_free(&c->arena);
    attend_pool_free(c->own_pool);
    attend_memory_free(c);
}

int attend_ctx_set_threads(attend_ctx *c, int threads)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    attend_pool *pool = NULL;
    const int status = threads == 1 ? ATTEND_OK : attend_pool_new(&pool, threads);
    if (status != ATTEND_OK) return status;
    attend_pool_free(c->own_pool);
    c->compute.pool = c->own_pool = pool;
    return ATTEND_OK;
}

int attend_ctx_set_compute(attend_ctx *c, attend_compute_precision precision)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c && (unsigned)precision <= ATTEND_COMPUTE_TF32);
    if (precision == ATTEND_COMPUTE_TF32 && !c->memory->has_tf32)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "tf32 is a format of GPUs, and the device is '%s': use fp32, bf16x3 or bf16, or choose a GPU",
            c->memory->name);
    c->compute.precision = precision;
    return ATTEND_OK;
}

void attend_ctx_set_pool(attend_ctx *c, attend_pool *pool)
{
    c->compute.pool = pool ? pool : c->own_pool;
}

void attend_ctx_reset(attend_ctx *c)
{
    ATTEND_REQUIRE_VOID(c);
    attend_ctx_release(c, (attend_mark){ 0 });
    attend_arena_rewind(&c->states, (arena_mark){ 0 });
    c->tape = NULL;
    c->backward_done = false;
    c->deferred = NULL, c->run_deferred = NULL;
    c->random_uses = 0;
    c->status = ATTEND_OK;
    c->message[0] = '\0';
}

void attend_ctx_shrink(attend_ctx *c, double max_bytes)
{
    if ((double)attend_ctx_bytes(c) <= max_bytes) return;
    attend_ctx_reset(c);
    attend_arena_free(&c->arena);
    attend_arena_free(&c->numbers);
    attend_arena_free(&c->states);
}

void *attend_ctx_take_state(attend_ctx *c, size_t bytes)
{
    return attend_arena_alloc(&c->states, bytes);
}

void attend_ctx_set_grads(attend_ctx *c, attend_grads *g)
{
    ATTEND_REQUIRE_VOID(c);
    c->grads = g;
}

void attend_ctx_set_recording(attend_ctx *c, bool on)
{
    ATTEND_REQUIRE_VOID(c);
    c->recording = on;
}

void attend_ctx_set_training(attend_ctx *c, bool on)
{
    ATTEND_REQUIRE_VOID(c);
    c->training = on;
}

void attend_ctx_set_random(attend_ctx *c, uint64_t seed, uint64_t stream)
{
    ATTEND_REQUIRE_VOID(c);
    c->seed = seed;
    c->stream = stream;
    c->random_uses = 0;
}

attend_rng attend_ctx_random(attend_ctx *c)
{
    return (attend_rng){ .seed = c->seed, .stream = c->stream, .use = c->random_uses++ };
}

int attend_ctx_status(const attend_ctx *c)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    return c->status;
}

const char *attend_ctx_message(const attend_ctx *c)
{
    ATTEND_REQUIRE(attend_message(), c);
    return c->message;
}

attend_mark attend_ctx_mark(const attend_ctx *c)
{
    ATTEND_REQUIRE((attend_mark){ 0 }, c);
    const arena_mark host = attend_arena_mark(&c->arena), numbers = attend_arena_mark(&c->numbers);
    return (attend_mark){ host.chunk, numbers.chunk, host.used, numbers.used, c->variables };
}

void attend_ctx_rewind(attend_ctx *c, attend_mark mark)
{
    ATTEND_REQUIRE_VOID(c);
    if (c->tape) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE,
                        "attend_ctx_rewind: the tape contains operations; switch recording off first");
        return;
    }
    attend_ctx_release(c, mark);
}

void attend_ctx_release(attend_ctx *c, attend_mark mark)
{
    free_copies(c, mark.variables);
    attend_arena_rewind(&c->arena, (arena_mark){ mark.chunk, mark.used });
    attend_arena_rewind(&c->numbers, (arena_mark){ mark.numbers, mark.numbers_used });
}

size_t attend_ctx_bytes(const attend_ctx *c)
{
    ATTEND_REQUIRE(0, c);
    return c->arena.bytes + c->numbers.bytes + c->states.bytes;
}

void *attend_ctx_fail(attend_ctx *c, int code, const char *format, ...)
{
    if (c && c->status != ATTEND_OK) return NULL;
    va_list arguments;
    va_start(arguments, format);
    attend_fail_v(code, format, arguments);
    va_end(arguments);
    if (!c) return NULL;
    c->status = code;
    snprintf(c->message, sizeof c->message, "%s", attend_message());
    return NULL;
}

bool attend_check_inputs(attend_ctx *c, const char *operation, int n, ...)
{
    if (!c) attend_ctx_fail(NULL, ATTEND_BAD_USAGE, "%s: the context is NULL", operation);
    if (!c || c->status != ATTEND_OK) return false;
    va_list variables;
    va_start(variables, n);
    for (int i = 0; i < n; i++) {
        attend_var *v = va_arg(variables, attend_var *);
        if (!v)
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: variable %d is NULL", operation, i + 1);
        else if (v->consumed)
            attend_ctx_fail(c, ATTEND_BAD_USAGE,
                            "%s: variable %d was consumed by an earlier operation, such as attend_cross_entropy",
                            operation, i + 1);
        else if (v->param && v->param->precision != ATTEND_FP32)
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: '%s' is quantised, which this operation does not support",
                            operation, v->param->name);
        else
            v->needed = true;
    }
    va_end(variables);
    return c->status == ATTEND_OK;
}

bool attend_check_weight(attend_ctx *c, const char *operation, attend_var *v)
{
    if (c->status != ATTEND_OK || !v || !v->param || v->param->precision == ATTEND_FP32)
        return attend_check_inputs(c, operation, 1, v);
    if (!c->recording) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: '%s' is quantised; only parameters in full precision can be trained",
                    operation, v->param->name);
    return false;
}

void *attend_ctx_alloc(attend_ctx *c, size_t count, size_t size)
{
    void *p = NULL;
    if (c->status != ATTEND_OK) return NULL;
    if (size == 0 || count <= SIZE_MAX / 2 / size) p = attend_arena_alloc(&c->arena, count * size);
    if (!p) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for %zu bytes", count * size);
    return p;
}

void *attend_ctx_alloc_device(attend_ctx *c, size_t count, size_t size)
{
    void *p = NULL;
    if (c->status != ATTEND_OK) return NULL;
    if (size == 0 || count <= SIZE_MAX / 2 / size) p = attend_arena_alloc(&c->numbers, count * size);
    if (!p) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for %zu bytes", count * size);
    return p;
}

real *attend_ctx_alloc_reals(attend_ctx *c, size_t count)
{
    return attend_ctx_alloc_device(c, count, sizeof(real));
}

real *attend_ctx_alloc_zeros(attend_ctx *c, size_t count)
{
    real *p = attend_ctx_alloc_reals(c, count);
    if (p) c->memory->zero(p, count * sizeof(real));
    return p;
}

bool attend_ctx_check_device(attend_ctx *c)
{
    const int status = attend_device_memory_check(c->memory);
    if (status != ATTEND_OK) attend_ctx_fail(c, status, "%s", attend_message());
    return status == ATTEND_OK;
}

bool attend_ctx_read(attend_ctx *c, void *to, const void *from, size_t bytes)
{
    c->memory->download(to, from, bytes);
    return attend_ctx_check_device(c);
}

bool attend_ctx_computed(attend_ctx *c, bool succeeded)
{
    if (!succeeded && attend_ctx_check_device(c)) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for a computation");
    return succeeded;
}

const char *attend_shape_text(const attend_var *v, char *text)
{
    int n = snprintf(text, ATTEND_SHAPE_TEXT, "(");
    for (int i = 0; i < v->rank; i++)
        n += snprintf(text + n, (size_t)(ATTEND_SHAPE_TEXT - n), "%s%d", i ? ", " : "", v->shape[i]);
    snprintf(text + n, (size_t)(ATTEND_SHAPE_TEXT - n), ")");
    return text;
}

bool attend_same_shape(const attend_var *a, const attend_var *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* A variable without a value. */
static attend_var *var_empty(attend_ctx *c, int rank, const int *shape, bool differentiable)
{
    if (rank < 1 || rank > ATTEND_MAX_RANK)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "rank %d is out of range: tensors have 1 to %d axes", rank,
                               ATTEND_MAX_RANK);
    attend_var *v = attend_ctx_alloc(c, 1, sizeof *v);
    if (!v) return NULL;
    *v = (attend_var){ .rank = rank,
                       .size = 1,
                       .differentiable = differentiable && c->recording,
                       .context = c,
                       .number = c->variables++ };
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || (shape[i] > 0 && v->size > PTRDIFF_MAX / sizeof(real) / (size_t)shape[i]))
            return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                                   "axis %d has length %d, which is negative or makes the tensor too large", i,
                                   shape[i]);
        v->shape[i] = shape[i];
        v->size *= (size_t)shape[i];
    }
    return v;
}

attend_var *attend_var_new(attend_ctx *c, int rank, const int *shape, bool differentiable)
{
    if (c->status != ATTEND_OK) return NULL;
    attend_var *v = var_empty(c, rank, shape, differentiable);
    if (v) v->value = attend_ctx_alloc_reals(c, v->size);
    return v && v->value ? v : NULL;
}

attend_var *attend_var_2d(attend_ctx *c, int rows, int columns, bool differentiable)
{
    return attend_var_new(c, 2, (const int[]){ rows, columns }, differentiable);
}

static attend_var *var_copy(attend_ctx *c, int rank, const int *shape, const real *data, bool differentiable)
{
    attend_var *v = attend_var_new(c, rank, shape, differentiable);
    if (!v) return NULL;
    if (data)
        c->memory->upload(v->value, data, v->size * sizeof(real));
    else
        c->memory->zero(v->value, v->size * sizeof(real));
    return v;
}

attend_var *attend_constant(attend_ctx *c, int rank, const int *shape, const real *data)
{
    ATTEND_REQUIRE_IN(c, c && (shape || rank < 1));
    return var_copy(c, rank, shape, data, false);
}

attend_var *attend_input(attend_ctx *c, int rank, const int *shape, const real *data)
{
    ATTEND_REQUIRE_IN(c, c && (shape || rank < 1));
    return var_copy(c, rank, shape, data, true);
}

attend_var *attend_parameter(attend_ctx *c, attend_param *p)
{
    ATTEND_REQUIRE_IN(c, c && p);
    if (c->status != ATTEND_OK) return NULL;
    attend_var *v = var_empty(c, p->rank, p->shape, c->grads != NULL);
    if (!v) return NULL;
    if (c->grads && (p->index >= c->grads->count || c->grads->entries[p->index].param != p))
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_parameter: '%s' does not belong to the parameter set of the context's gradients",
                               p->name);
    v->value = p->value;
    v->param = p;
    v->grads = c->grads;
    return v;
}

real *attend_ctx_lend(attend_ctx *c, const real *array, size_t count)
{
    if (c->memory->on_host) return (real *)(uintptr_t)array; /* operations write only to their results */
    real *copy = attend_ctx_alloc_reals(c, count);
    if (copy) c->memory->upload(copy, array, count * sizeof *copy);
    return copy;
}

void attend_ctx_return(attend_ctx *c, const real *numbers, size_t count, real *array)
{
    if (numbers != array && c->status == ATTEND_OK) attend_ctx_read(c, array, numbers, count * sizeof *array);
}

attend_var *attend_wrap(attend_ctx *c, int rank, const int *shape, const real *array)
{
    if (c->status != ATTEND_OK) return NULL;
    attend_var *v = var_empty(c, rank, shape, true);
    if (!v) return NULL;
    v->value = attend_ctx_lend(c, array, v->size);
    v->needed = true;
    return c->status == ATTEND_OK ? v : NULL;
}

int attend_rank(const attend_var *v)
{
    return v ? v->rank : 0;
}

int attend_dim(const attend_var *v, int axis)
{
    return v && axis >= 0 && axis < v->rank ? v->shape[axis] : 0;
}

size_t attend_size(const attend_var *v)
{
    return v ? v->size : 0;
}

/* ---- reading from the host ---- */

static host_copy *copy_of(const attend_var *v)
{
    attend_ctx *c = v->context;
    for (host_copy *copy = c->copies; copy; copy = copy->next)
        if (copy->number == v->number) return copy;
    host_copy *copy = attend_memory_zeroed(1, sizeof *copy);
    if (!copy) return attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory to read a variable");
    *copy = (host_copy){ .next = c->copies, .of = v, .number = v->number };
    return c->copies = copy;
}

/* Numbers of the variable in host memory, in *to, which is allocated at the first call. */
static const real *download(const attend_var *v, const real *from, real **to)
{
    if (!*to) *to = attend_memory_zeroed(v->size, sizeof **to);
    if (!*to) return attend_ctx_fail(v->context, ATTEND_NO_MEMORY, "no memory to read %zu numbers", v->size);
    return attend_ctx_read(v->context, *to, from, v->size * sizeof **to) ? *to : NULL;
}

const real *attend_value(const attend_var *v)
{
    if (!v) return NULL;
    if (v->context->memory->on_host || !v->value) return v->value;
    if (v->param) return attend_param_value(v->param);
    host_copy *copy = copy_of(v);
    /* the value of a variable does not change */
    if (!copy || (copy->value && !attend_ctx_check_device(v->context))) return NULL;
    return copy->value ? copy->value : download(v, v->value, &copy->value);
}

const real *attend_gradient(const attend_var *v)
{
    if (!v) return NULL;
    if (v->context->memory->on_host || !v->grad) return v->grad;
    host_copy *copy = copy_of(v);
    if (!copy || !attend_ctx_check_device(v->context)) return NULL;
    if (copy->final_grad) return copy->grad;
    copy->final_grad = v->context->backward_done && !v->param;
    return download(v, v->grad, &copy->grad);
}

void attend_record(attend_ctx *c, attend_node *node, attend_backward_fn backward)
{
    node->backward = backward;
    node->previous = c->tape;
    c->tape = node;
}

real *attend_grad(attend_ctx *c, attend_var *v)
{
    if (!v || !v->differentiable) return NULL;
    if (v->param)
        v->grad = attend_grads_dense(v->grads, v->param);
    else if (!v->grad)
        v->grad = attend_ctx_alloc_zeros(c, v->size);
    return v->grad;
}

real *attend_grad_or_new(attend_ctx *c, attend_var *v, bool *first)
{
    *first = v && v->differentiable && !v->param && !v->grad;
    return *first ? v->grad = attend_ctx_alloc_reals(c, v->size) : attend_grad(c, v);
}

real *attend_grad_rows(attend_ctx *c, attend_var *v, const int *rows, int n)
{
    if (!v || !v->differentiable) return NULL;
    if (!v->param) return attend_grad(c, v);
    return v->grad = attend_grads_rows(v->grads, v->param, rows, n);
}

int attend_backward(attend_ctx *c, attend_var *loss)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (c->status == ATTEND_OK && loss && loss->size != 1) {
        char text[ATTEND_SHAPE_TEXT];
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_backward: the loss has shape %s; it must be a single number",
                        attend_shape_text(loss, text));
    }
    const real one = 1;
    return attend_backward_from(c, loss, &one);
}

/* grad += gradient, which is in host memory */
static void add_gradient(attend_ctx *c, attend_var *v, const real *gradient)
{
    const attend_mark mark = attend_ctx_mark(c);
    real *sum = attend_ctx_alloc(c, v->size, sizeof *sum);
    if (sum) {
        c->memory->download(sum, v->grad, v->size * sizeof *sum);
        for (size_t i = 0; i < v->size; i++) sum[i] += gradient[i];
        c->memory->upload(v->grad, sum, v->size * sizeof *sum);
    }
    attend_ctx_release(c, mark);
}

int attend_backward_from(attend_ctx *c, attend_var *from, const real *gradient)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c && gradient);
    if (!attend_check_inputs(c, "attend_backward", 1, from)) return attend_fail(c->status, "%s", c->message);
    if (c->backward_done) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE,
                        "attend_backward: the backward pass of this tape was already run; reset the context");
        return c->status;
    }
    if (!from->differentiable) {
        attend_ctx_fail(
            c, ATTEND_BAD_USAGE,
            "attend_backward: nothing to differentiate: recording is off, or the loss depends only on constants "
            "(parameters are constants until attend_ctx_set_grads)");
        return c->status;
    }
    real *grad = attend_grad(c, from);
    if (grad) add_gradient(c, from, gradient);
    return attend_run_backward(c);
}

int attend_run_backward(attend_ctx *c)
{
    c->backward_done = true;
    for (attend_node *node = c->tape; node && c->status == ATTEND_OK; node = node->previous) node->backward(c, node);
    if (c->run_deferred && c->status == ATTEND_OK) c->run_deferred(c);
    if (c->status == ATTEND_OK) attend_ctx_check_device(c);
    c->deferred = NULL, c->run_deferred = NULL;
    c->tape = NULL;
    return c->status == ATTEND_OK ? ATTEND_OK : attend_fail(c->status, "%s", c->message);
}
