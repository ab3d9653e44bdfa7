/* guard_arguments.h: translates the arguments of a device function from the addresses that the host sees to those of the
 * numbers (guard_memory.h), and checks them: pointers to numbers must be memory of the device, index arrays must not. On
 * the CPU a pointer to the wrong memory would go unnoticed. Included by guard.c only.
 *
 * Pointers and structs are translated in copies. Arrays of pointers, which belong to one context, are translated in place
 * and restored after the call; an address that is translated already stays as it is, because arrays may overlap. */
#ifndef ATTEND_DEVICE_GUARD_ARGUMENTS_H
#define ATTEND_DEVICE_GUARD_ARGUMENTS_H

#include "device/device.h"
#include "device/guard_memory.h"
#include <string.h>

/* The copies of the arguments of one call, and what must be restored after it. */
typedef struct guard_call {
    packed_matrix matrix;
    device_table table;
    device_gemm gemm;
    device_layer_norm layer_norm;
    device_dropout dropout;
    device_rotary rotary;
    device_cell cell;
    device_lstmn lstmn;
    device_lstmn_gates gates;
    device_beam beam;
    device_tokens tokens;
    device_loss loss;
    device_alignment alignment;
    device_source source;
    device_attention attention;
    size_t sizes[10]; /* the arguments of type size_t */
    int size_count;
    const void **pointers; /* an array of pointers to numbers */
    const device_lstmn_view *views;
    device_shortlist *shortlists;
    size_t pointer_count, view_count, shortlist_count;
} guard_call;

/* The copies are not initialised: clearing them would take longer than many calls. */
static void begin(guard_call *call)
{
    call->size_count = 0;
    call->pointers = NULL, call->views = NULL, call->shortlists = NULL;
    call->pointer_count = call->view_count = call->shortlist_count = 0;
}

/* Translates, or restores, a pointer of any type. */
static void translate(void *pointer, bool back)
{
    const void *p;
    memcpy(&p, pointer, sizeof p);
    p = back ? attend_guard_address(p) : attend_guard_numbers(p);
    memcpy(pointer, &p, sizeof p);
}

static void translate_all(const void **pointers, size_t n, bool back)
{
    for (size_t i = 0; i < n; i++) translate(&pointers[i], back);
}

static void translate_views(const device_lstmn_view *views, size_t n, bool back)
{
    for (size_t i = 0; i < n; i++)
        translate_all((const void **)(uintptr_t)views[i].past, (size_t)views[i].past_count, back);
}

static void translate_shortlists(device_shortlist *s, size_t n, bool back)
{
    for (size_t i = 0; i < n; i++) {
        translate(&s[i].w.data, back), translate(&s[i].w.scales, back);
        translate(&s[i].b, back), translate(&s[i].outside, back);
    }
}

static void restore(const guard_call *call)
{
    translate_all(call->pointers, call->pointer_count, true);
    translate_views(call->views, call->view_count, true);
    translate_shortlists(call->shortlists, call->shortlist_count, true);
}

/* ---- one argument, by its type ---- */

static void other_argument(void *argument, guard_call *call)
{
    (void)argument, (void)call;
}

static void size_argument(void *argument, guard_call *call)
{
    call->sizes[call->size_count++] = *(size_t *)argument;
}

static void numbers_argument(void *argument, guard_call *call)
{
    (void)call;
    translate(argument, false);
}

static void host_argument(void *argument, guard_call *call)
{
    (void)call;
    attend_guard_expect_host(*(const int **)argument);
}

static void input_argument(void *argument, guard_call *call)
{
    device_input *x = argument;
    translate(&x->data, false);
    host_argument(&x->rows, call);
}

static void output_argument(void *argument, guard_call *call)
{
    device_output *y = argument;
    translate(&y->data, false);
    host_argument(&y->rows, call);
}

/* copy_from: n pointers, the first size of the call. */
static void pointers_argument(void *argument, guard_call *call)
{
    memcpy(&call->pointers, argument, sizeof call->pointers);
    call->pointer_count = call->sizes[0];
    translate_all(call->pointers, call->pointer_count, false);
}

/* The views of n rows, the last size of the call. */
static void views_argument(void *argument, guard_call *call)
{
    call->views = *(const device_lstmn_view **)argument, call->view_count = call->sizes[call->size_count - 1];
    translate_views(call->views, call->view_count, false);
}

/* Defines the function for an argument `const type *`, of which `member` of the call holds a copy x: the members of x that
 * are pointers to numbers. */
#define ATTEND_STRUCT_ARGUMENT(type, member, ...)                                                                      \
    static void member##_argument(void *argument, guard_call *call)                                                    \
    {                                                                                                                  \
        type *const x = &call->member;                                                                                 \
        *x = **(const type **)argument;                                                                                \
        void *const numbers[] = { __VA_ARGS__ };                                                                       \
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) translate(numbers[i], false);                    \
        *(const type **)argument = x;                                                                                  \
    }
ATTEND_STRUCT_ARGUMENT(packed_matrix, matrix, &x->data, &x->scales)
ATTEND_STRUCT_ARGUMENT(device_table, table, &x->value, &x->quantized, &x->scales)
ATTEND_STRUCT_ARGUMENT(device_gemm, gemm, &x->a, &x->b, &x->c)
ATTEND_STRUCT_ARGUMENT(device_layer_norm, layer_norm, &x->x, &x->gain, &x->bias, &x->y, &x->statistics, &x->dy, &x->dx,
                       &x->dgain, &x->dbias)
ATTEND_STRUCT_ARGUMENT(device_dropout, dropout, &x->mask)
ATTEND_STRUCT_ARGUMENT(device_rotary, rotary, &x->cosines, &x->sines)
ATTEND_STRUCT_ARGUMENT(device_cell, cell, &x->h0, &x->c0, &x->y, &x->gates, &x->cells, &x->h, &x->recurrent, &x->dh,
                       &x->dc, &x->scratch, &x->bu, &x->u.data, &x->u.scales, &x->u_plain, &x->parts)
ATTEND_STRUCT_ARGUMENT(device_lstmn, lstmn, &x->k, &x->m, &x->key, &x->prepared, &x->v, &x->query, &x->kt, &x->mt,
                       &x->weights, &x->outputs, &x->doutputs, &x->dk, &x->dm, &x->dkey, &x->dv)
ATTEND_STRUCT_ARGUMENT(device_lstmn_gates, gates, &x->gates, &x->recurrent, &x->ct, &x->at, &x->memory, &x->h, &x->dh,
                       &x->dc, &x->da)
ATTEND_STRUCT_ARGUMENT(device_beam, beam, &x->query, &x->context, &x->weights)
ATTEND_STRUCT_ARGUMENT(device_tokens, tokens, &x->x, &x->w.data, &x->w.scales, &x->b, &x->tail_w.data,
                       &x->tail_w.scales, &x->tail_b)
ATTEND_STRUCT_ARGUMENT(device_loss, loss, &x->logits, &x->inverse_sums, &x->loss, &x->nll, &x->dloss)
ATTEND_STRUCT_ARGUMENT(device_alignment, alignment, &x->weights, &x->reference, &x->loss, &x->dloss, &x->dweights)
ATTEND_STRUCT_ARGUMENT(device_source, source, &x->keys, &x->values, &x->parameters[0], &x->parameters[1],
                       &x->parameters[2], &x->parameters[3], &x->parameters[4], &x->parameters[5])
ATTEND_STRUCT_ARGUMENT(device_attention, attention, &x->query, &x->context, &x->weights, &x->scores, &x->bias,
                       &x->position, &x->previous, &x->selected, &x->stored_weights, &x->dcontext, &x->dweights,
                       &x->dquery, &x->dkey, &x->dvalue, &x->dbias, &x->dposition, &x->dprevious, &x->dparameters[0],
                       &x->dparameters[1], &x->dparameters[2], &x->dparameters[3], &x->dparameters[4],
                       &x->dparameters[5])
#undef ATTEND_STRUCT_ARGUMENT
_Static_assert(DEVICE_SCORE_PARAMETERS == 6, "all parameters are translated");

static void cached_source_argument(void *argument, guard_call *call)
{
    source_argument(argument, call);
    const device_source *s = &call->source;
    call->pointers = (const void **)s->cache, call->pointer_count = s->cache ? (size_t)(s->count * s->key_heads) : 0;
    translate_all(call->pointers, call->pointer_count, false);
}

static void sourced_attention_argument(void *argument, guard_call *call)
{
    attention_argument(argument, call);
    cached_source_argument(&call->attention.source, call);
}

static void blocked_beam_argument(void *argument, guard_call *call)
{
    beam_argument(argument, call);
    const device_beam *b = &call->beam;
    size_t blocks = 0;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < (size_t)b->lengths[i]; j++) {
            const size_t block = (size_t)b->rows[i * b->list_stride + j] / b->block;
            if (block >= blocks) blocks = block + 1;
        }
    call->pointers = (const void **)(uintptr_t)b->blocks, call->pointer_count = blocks;
    translate_all(call->pointers, call->pointer_count, false);
}

static void listed_tokens_argument(void *argument, guard_call *call)
{
    tokens_argument(argument, call);
    const device_tokens *t = &call->tokens;
    for (size_t i = 0; t->shortlists && i < t->rows; i++)
        if ((size_t)t->source_of[i] >= call->shortlist_count) call->shortlist_count = (size_t)t->source_of[i] + 1;
    call->shortlists = (device_shortlist *)(uintptr_t)t->shortlists;
    translate_shortlists(call->shortlists, call->shortlist_count, false);
}

#ifdef ATTEND_DOUBLE
#define ATTEND_FLOATS_ARGUMENT const float * : numbers_argument,
#else
#define ATTEND_FLOATS_ARGUMENT /* the same type as const real * */
#endif

/* clang-format off */
#define ATTEND_ARGUMENT(x)                                                                                             \
    _Generic((x), ATTEND_FLOATS_ARGUMENT                                                                               \
        const real *: numbers_argument, real *: numbers_argument, const void *: numbers_argument,                      \
        void *: numbers_argument, unsigned char *: numbers_argument, const int *: host_argument,                       \
        const real *const *: pointers_argument, size_t: size_argument,                                                 \
        device_input: input_argument, device_output: output_argument,                                                  \
        const packed_matrix *: matrix_argument, const device_table *: table_argument,                                  \
        const device_gemm *: gemm_argument, const device_layer_norm *: layer_norm_argument,                            \
        const device_dropout *: dropout_argument, const device_rotary *: rotary_argument,                              \
        const device_cell *: cell_argument, const device_lstmn *: lstmn_argument,                                      \
        const device_lstmn_view *: views_argument, const device_lstmn_gates *: gates_argument,                         \
        const device_beam *: blocked_beam_argument, const device_tokens *: listed_tokens_argument,                     \
        const device_loss *: loss_argument, const device_alignment *: alignment_argument,                              \
        const device_source *: cached_source_argument, const device_attention *: sourced_attention_argument,           \
        default: other_argument)((void *)(uintptr_t)&(x), &call);
/* clang-format on */

/* Translates the arguments of a list (a, b, ...), at most ten, of the call `call`. */
#define ATTEND_ARGUMENTS(...)                                                                                          \
    ATTEND_ARGUMENTS_OF(__VA_ARGS__, ATTEND_ARGUMENTS_10, ATTEND_ARGUMENTS_9, ATTEND_ARGUMENTS_8, ATTEND_ARGUMENTS_7,  \
                        ATTEND_ARGUMENTS_6, ATTEND_ARGUMENTS_5, ATTEND_ARGUMENTS_4, ATTEND_ARGUMENTS_3,                \
                        ATTEND_ARGUMENTS_2, ATTEND_ARGUMENT, )                                                         \
    (__VA_ARGS__)
#define ATTEND_ARGUMENTS_OF(a, b, c, d, e, f, g, h, i, j, name, ...) name
#define ATTEND_ARGUMENTS_2(x, y)                                     ATTEND_ARGUMENT(x) ATTEND_ARGUMENT(y)
#define ATTEND_ARGUMENTS_3(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_2(__VA_ARGS__)
#define ATTEND_ARGUMENTS_4(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_3(__VA_ARGS__)
#define ATTEND_ARGUMENTS_5(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_4(__VA_ARGS__)
#define ATTEND_ARGUMENTS_6(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_5(__VA_ARGS__)
#define ATTEND_ARGUMENTS_7(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_6(__VA_ARGS__)
#define ATTEND_ARGUMENTS_8(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_7(__VA_ARGS__)
#define ATTEND_ARGUMENTS_9(x, ...)                                   ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_8(__VA_ARGS__)
#define ATTEND_ARGUMENTS_10(x, ...)                                  ATTEND_ARGUMENT(x) ATTEND_ARGUMENTS_9(__VA_ARGS__)

#endif
