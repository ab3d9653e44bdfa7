/* lstmn.c: a long short-term memory network (Cheng, Dong, Lapata 2016) over a batch of sequences as one operation.
 *     (ht, ct) = a look at (h, c) of the words before       (lstmn_attention.c)
 *     i, f, o = sigmoid(W x + U ht + b)   g = tanh(.)   c = f ct + i g   h = o tanh(c)
 * and, fused with a source's tapes, (gt, at) = a look at them, r = sigmoid(Wr x + Ur gt + br), c = r at + f ct + i g.
 *
 * As in cell.c, what does not depend on the step before is one product over all rows: W x and Wx x going forward, and coming back dx and
 * the gradients of all weights. Step by step run the products with U (of ht), Wt (of ht, for the next word's query) and Wk (of h,
 * whose key the next words want), over the sequences that are still running. On the way back a word's dh and dc are whole when
 * all words that looked at it are done, which the order of steps sees to. */
#include "op/lstmn.h"

#include "core/tape.h"
#include "op/packed_weights.h"
#include "op/product.h"
#include "op/row_sum.h"
#include "op/weight_gradient.h"
#include <string.h>

/* A product with a weight at each step. */
typedef struct step_weight {
    attend_var *w;
    packed_matrix matrix; /* going forward */
    activations rows;
    const real *packed; /* coming back */
} step_weight;

enum { OWN, SOURCE }; /* the looks: at the words before, and at a source */

/* One operation: its node, and its scratch. Rows of x, h, c, gates, keys and looks are in the order of the batch; rows of a step's
 * products in the order of length, so that the sequences still running are the first n. */
typedef struct lstmn_run {
    attend_node node;
    attend_ctx *c;
    attend_var *x, *y, *memory; /* (N, Din), (N, H), (N, H) */
    attend_var *w, *b, *wr, *br;
    step_weight u, wk, ur, wt[2];
    const attend_ragged *sequences;
    int span;
    const attend_lstmn_source *source;
    const int *source_of;    /* (B) */
    const real *const *past; /* rows of all words of the past; of sequence b from .. */
    const int *past_at;      /* .. past_at[b] on: (B + 1). NULL: there is no past */
    lstmn_tape tape;
    size_t hidden, blocks; /* H; of the gates: i, f, g, o and r */
    lstmn_look looks[2];
    int look_count;

    real *gates; /* (N, blocks H): W x + b, then what forward saved, then derivatives */
    real *key;   /* (N, A): Wk h */
    real *ready; /* .. made ready */
    /* scratch: rows gathered for a product, and what comes of it */
    real *gathered, *product; /* (B, the widest) */
    real *recurrent;          /* (B, blocks H): U ht and Ur gt; on the way back the gates' derivatives */
    real *dh, *dc;            /* (N, H) */
    real *dkt[2];             /* (B, K) */
    real *dat;                /* (B, H) */
} lstmn_run;

static size_t row_of(const lstmn_run *r, int i, int t)
{
    return (size_t)(r->sequences->offsets[r->sequences->order[i]] + t);
}

static int past_words(const lstmn_run *r, int sequence)
{
    return r->past_at ? r->past_at[sequence + 1] - r->past_at[sequence] : 0;
}

/* What word t of a sequence looks at. */
static lstmn_view own_view(const lstmn_run *r, int sequence, int t)
{
    const int past = past_words(r, sequence), all = past + t, seen = r->span && r->span < all ? r->span : all;
    const int own = seen < t ? seen : t;
    lstmn_view v = { .past_count = seen - own, .count = own };
    v.first = (size_t)(r->sequences->offsets[sequence] + t - own);
    if (v.past_count) v.past = r->past + r->past_at[sequence] + past - v.past_count;
    return v;
}

static lstmn_view source_view(const lstmn_run *r, int sequence)
{
    const int source = r->source_of ? r->source_of[sequence] : sequence;
    return (lstmn_view){ .first = (size_t)r->source->words->offsets[source],
                         .count = r->source->words->lengths[source] };
}

static lstmn_view view_of(const lstmn_run *r, int look, int i, int t)
{
    const int sequence = r->sequences->order[i];
    return look == OWN ? own_view(r, sequence, t) : source_view(r, sequence);
}

/* The same look of the word before word t: NULL if there is none. */
static const real *kt_before(const lstmn_run *r, int look, int sequence, int t)
{
    const lstmn_look *l = &r->looks[look];
    if (t > 0) return l->kt + (size_t)(r->sequences->offsets[sequence] + t - 1) * l->width;
    if (past_words(r, sequence) == 0) return NULL;
    return r->past[r->past_at[sequence + 1] - 1] + (look == OWN ? r->tape.mixed : r->tape.source_mixed);
}

static void copy_or_zero(size_t n, const real *from, real *to)
{
    if (from)
        memcpy(to, from, n * sizeof *to);
    else
        memset(to, 0, n * sizeof *to);
}

/* ---- memory ---- */

/* Where the weights of each row are, together and in what is shown. */
static bool place_weights(attend_ctx *c, lstmn_run *r, int look, bool shown, bool differentiable)
{
    const attend_ragged *s = r->sequences;
    lstmn_look *l = &r->looks[look];
    size_t *at = attend_take(c, (size_t)s->rows + 1, sizeof *at);
    size_t *out = shown ? attend_take(c, (size_t)s->rows, sizeof *out) : NULL;
    if (c->status != ATTEND_OK) return false;
    int columns = 0;
    for (int b = 0; b < s->count; b++) {
        const int seen = look == OWN ? past_words(r, b) + s->lengths[b] : source_view(r, b).count;
        if (seen > columns) columns = seen;
    }
    if (shown) {
        l->shown = attend_var_new(c, 4, (const int[]){ s->count, 1, s->longest, columns }, differentiable);
        if (!l->shown) return false;
        memset(l->shown->value, 0, l->shown->size * sizeof(real));
    }
    size_t end = 0;
    for (int b = 0; b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++) {
            const size_t row = (size_t)(s->offsets[b] + t);
            const lstmn_view v = look == OWN ? own_view(r, b, t) : source_view(r, b);
            const int seen = v.past_count + v.count, first = look == OWN ? past_words(r, b) + t - seen : 0;
            at[row] = end;
            end += (size_t)seen;
            if (out) out[row] = ((size_t)b * (size_t)s->longest + (size_t)t) * (size_t)columns + (size_t)first;
        }
    at[s->rows] = end;
    l->at = at, l->out = out;
    l->weights = attend_take_reals(c, end);
    return l->weights != NULL;
}

/* What a look keeps until the way back. */
static bool take_look(attend_ctx *c, lstmn_run *r, int look, bool shown, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows;
    lstmn_look *l = &r->looks[look];
    l->query = attend_take_reals(c, rows * l->attention);
    l->kt = attend_take_reals(c, rows * l->width);
    l->mt = attend_take_reals(c, rows * l->hidden);
    return c->status == ATTEND_OK && place_weights(c, r, look, shown, differentiable);
}

static bool take_memory(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io, bool differentiable)
{
    const size_t rows = (size_t)r->sequences->rows, a = r->looks[OWN].attention;
    r->y = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->memory = attend_var_2d(c, r->sequences->rows, (int)r->hidden, differentiable);
    r->gates = attend_take_reals(c, rows * r->blocks * r->hidden);
    r->key = attend_take_reals(c, rows * a);
    r->ready = attend_take_reals(c, rows * attend_additive_row_size(a));
    if (c->status != ATTEND_OK) return false;
    r->looks[OWN].k = r->y->value, r->looks[OWN].m = r->memory->value;
    r->looks[OWN].key = r->key, r->looks[OWN].ready = r->ready;
    for (int i = 0; i < r->look_count; i++)
        if (!take_look(c, r, i, i == OWN ? io->want_weights : io->want_source_weights, differentiable)) return false;
    return true;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What each way takes and gives back. */
static bool take_scratch(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    size_t widest = r->hidden;
    for (int i = 0; i < r->look_count; i++) {
        lstmn_look *l = &r->looks[i];
        size_t most = 0;
        for (int row = 0; row < r->sequences->rows; row++) most = larger(most, l->at[row + 1] - l->at[row]);
        widest = larger(widest, larger(l->width, l->attention));
        if (!attend_lstmn_attention_scratch(c, l, most)) return false;
    }
    r->gathered = attend_take_reals(c, count * widest);
    r->product = attend_take_reals(c, count * widest);
    r->recurrent = attend_take_reals(c, count * r->blocks * r->hidden);
    return c->status == ATTEND_OK;
}

/* ---- forward ---- */

static bool pack_forward(attend_ctx *c, const lstmn_run *r, step_weight *s)
{
    return attend_var_matrix(c, s->w, &s->matrix) &&
           attend_activations_new(c, &s->rows, (size_t)r->sequences->count, &s->matrix);
}

/* y = the first n rows gathered, times w' */
static void multiply(lstmn_run *r, step_weight *s, int n, real *y, size_t ldy)
{
    attend_activations_set(&s->rows, (size_t)n, r->gathered, s->matrix.k, &s->matrix);
    attend_product(r->c, PACKED_ZERO, NULL, &s->rows, &s->matrix, y, ldy);
}

/* What x brings to every row: y = x w' + b. */
static bool input_product(attend_ctx *c, const lstmn_run *r, attend_var *w, attend_var *b, real *y, size_t ldy)
{
    packed_matrix matrix;
    return attend_var_matrix(c, w, &matrix) &&
           attend_multiply(c, b ? PACKED_BIAS : PACKED_ZERO, b ? b->value : NULL, (size_t)r->sequences->rows,
                           r->x->value, (size_t)r->x->shape[1], &matrix, y, ldy);
}

static bool input_products(attend_ctx *c, lstmn_run *r)
{
    const size_t wide = r->blocks * r->hidden;
    bool ok = input_product(c, r, r->w, r->b, r->gates, wide);
    if (r->source) ok = ok && input_product(c, r, r->wr, r->br, r->gates + 4 * r->hidden, wide);
    for (int i = 0; i < r->look_count; i++) {
        const lstmn_look *l = &r->looks[i];
        ok = ok && input_product(c, r, l->wx, l->b, l->query, l->attention);
    }
    return ok;
}

/* The keys of some rows of h, which are the first n of the order at step t, or at their last. */
static void make_keys(lstmn_run *r, int n, const size_t *rows)
{
    const size_t h = r->hidden, a = r->looks[OWN].attention, size = attend_additive_row_size(a);
    for (int i = 0; i < n; i++) memcpy(r->gathered + (size_t)i * h, r->y->value + rows[i] * h, h * sizeof(real));
    multiply(r, &r->wk, n, r->product, a);
    for (int i = 0; i < n; i++) {
        memcpy(r->key + rows[i] * a, r->product + (size_t)i * a, a * sizeof(real));
        attend_additive_ready(1, a, r->product + (size_t)i * a, a, r->ready + rows[i] * size);
    }
}

/* query += Wt kt' */
static void finish_queries(lstmn_run *r, int look, int t, int n)
{
    const lstmn_look *l = &r->looks[look];
    for (int i = 0; i < n; i++)
        copy_or_zero(l->width, kt_before(r, look, r->sequences->order[i], t), r->gathered + (size_t)i * l->width);
    multiply(r, &r->wt[look], n, r->product, l->attention);
    for (int i = 0; i < n; i++)
        attend_kernel()->add(l->attention, r->product + (size_t)i * l->attention,
                             l->query + row_of(r, i, t) * l->attention);
}

/* What the look brings to the gates: w kt, from column `first` of `recurrent` on. */
static void recurrent_product(lstmn_run *r, step_weight *w, int look, int t, int n, size_t first)
{
    const lstmn_look *l = &r->looks[look];
    for (int i = 0; i < n; i++)
        memcpy(r->gathered + (size_t)i * l->width, l->kt + row_of(r, i, t) * l->width, l->width * sizeof(real));
    multiply(r, w, n, r->recurrent + first, r->blocks * r->hidden);
}

/* Whether nobody has a word before word t. */
static bool nothing_before(const lstmn_run *r, int t)
{
    return t == 0 && !r->past_at;
}

static void forward_step(lstmn_run *r, int t, int n, size_t *rows)
{
    const size_t h = r->hidden, wide = r->blocks * h;
    if (t > 0) {
        for (int i = 0; i < n; i++) rows[i] = row_of(r, i, t - 1);
        make_keys(r, n, rows);
    }
    for (int look = 0; look < r->look_count; look++) {
        if (!nothing_before(r, t)) finish_queries(r, look, t, n);
        for (int i = 0; i < n; i++)
            attend_lstmn_attention_forward(&r->looks[look], row_of(r, i, t), view_of(r, look, i, t));
    }
    if (nothing_before(r, t)) /* ht is 0 */
        memset(r->recurrent, 0, (size_t)n * wide * sizeof(real));
    else
        recurrent_product(r, &r->u, OWN, t, n, 0);
    if (r->source) recurrent_product(r, &r->ur, SOURCE, t, n, 4 * h);
    for (int i = 0; i < n; i++) {
        const size_t row = row_of(r, i, t);
        real *gates = r->gates + row * wide, *y = r->y->value + row * h, *memory = r->memory->value + row * h;
        const real *recurrent = r->recurrent + (size_t)i * wide, *ct = r->looks[OWN].mt + row * h;
        if (r->source)
            attend_kernel()->lstm_fused(h, gates, recurrent, ct, r->looks[SOURCE].mt + row * h, memory, y, gates);
        else
            attend_kernel()->lstm(h, ATTEND_TANH, gates, recurrent, ct, memory, y, gates);
    }
}

/* The rows of the tape, with the keys of the last words, which no word of this call wanted. */
static void fill_tape(lstmn_run *r, size_t *rows, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    const size_t h = r->hidden, a = r->looks[OWN].attention, size = attend_additive_row_size(a);
    const int n = s->longest > 0 ? s->active[0] : 0;
    for (int i = 0; i < n; i++) rows[i] = row_of(r, i, s->lengths[s->order[i]] - 1);
    make_keys(r, n, rows);
    for (size_t i = 0; i < (size_t)s->rows; i++) {
        real *row = tape->value + i * r->tape.width;
        memcpy(row, r->y->value + i * h, h * sizeof(real));
        memcpy(row + r->tape.memory, r->memory->value + i * h, h * sizeof(real));
        memcpy(row + r->tape.mixed, r->looks[OWN].kt + i * h, h * sizeof(real));
        if (r->source) {
            const size_t width = r->looks[SOURCE].width;
            memcpy(row + r->tape.source_mixed, r->looks[SOURCE].kt + i * width, width * sizeof(real));
        }
        memcpy(row + r->tape.key, r->key + i * a, a * sizeof(real));
        memcpy(row + r->tape.ready, r->ready + i * size, size * sizeof(real));
    }
}

static bool forward(attend_ctx *c, lstmn_run *r, attend_var *tape)
{
    const attend_ragged *s = r->sequences;
    size_t *rows = attend_take(c, (size_t)s->count, sizeof *rows);
    bool ok = rows && pack_forward(c, r, &r->u) && pack_forward(c, r, &r->wk) && take_scratch(c, r);
    for (int i = 0; i < r->look_count; i++) ok = ok && pack_forward(c, r, &r->wt[i]);
    if (r->source) ok = ok && pack_forward(c, r, &r->ur);
    if (!ok || !input_products(c, r)) return false;
    for (int t = 0; t < s->longest; t++) forward_step(r, t, s->active[t], rows);
    if (tape) fill_tape(r, rows, tape);
    return true;
}

/* ---- backward ---- */

/* The derivative of what every row gave, as far as it is known: what flowed in from outside. */
static real *copy_gradient(attend_ctx *c, const attend_var *v)
{
    real *copy = attend_take_reals(c, v->size);
    if (copy) copy_or_zero(v->size, v->grad, copy);
    return copy;
}

static bool take_gradients(attend_ctx *c, lstmn_run *r)
{
    const size_t count = (size_t)r->sequences->count;
    r->dh = copy_gradient(c, r->y);
    r->dc = copy_gradient(c, r->memory);
    if (r->source) r->dat = attend_take_reals(c, count * r->hidden);
    for (int i = 0; i < r->look_count; i++) r->dkt[i] = attend_take_reals(c, count * r->looks[i].width);
    if (c->status != ATTEND_OK) return false;
    r->looks[OWN].dk = r->dh, r->looks[OWN].dm = r->dc;
    return true;
}

static bool pack_backward(attend_ctx *c, lstmn_run *r)
{
    bool ok =
        (r->u.packed = attend_var_packed(c, r->u.w, false)) && (r->wk.packed = attend_var_packed(c, r->wk.w, false));
    for (int i = 0; i < r->look_count; i++) ok = ok && (r->wt[i].packed = attend_var_packed(c, r->wt[i].w, false));
    if (r->source) ok = ok && (r->ur.packed = attend_var_packed(c, r->ur.w, false));
    return ok;
}

/* dh of the first n words of step t, whose keys are no longer looked at: dh += dkey Wk */
static void key_backward(lstmn_run *r, int t, int n)
{
    const size_t h = r->hidden, a = r->looks[OWN].attention;
    for (int i = 0; i < n; i++)
        memcpy(r->gathered + (size_t)i * a, r->looks[OWN].dkey + row_of(r, i, t) * a, a * sizeof(real));
    attend_gemm_packed(PACKED_ZERO, NULL, (size_t)n, h, a, r->gathered, a, r->wk.packed, r->product, h);
    for (int i = 0; i < n; i++) attend_kernel()->add(h, r->product + (size_t)i * h, r->dh + row_of(r, i, t) * h);
}

/* dkt of the n words of step t: dquery of the next word Wt, for the first `next` that have one, + dgates w */
static void mixed_backward(lstmn_run *r, const step_weight *w, int look, int t, int n, int next, size_t first, size_t k)
{
    const lstmn_look *l = &r->looks[look];
    const size_t width = l->width, a = l->attention;
    real *dkt = r->dkt[look];
    for (int i = 0; i < next; i++)
        memcpy(r->gathered + (size_t)i * a, l->query + row_of(r, i, t + 1) * a, a * sizeof(real));
    attend_gemm_packed(PACKED_ZERO, NULL, (size_t)next, width, a, r->gathered, a, r->wt[look].packed, dkt, width);
    memset(dkt + (size_t)next * width, 0, (size_t)(n - next) * width * sizeof(real));
    attend_gemm_packed(PACKED_ADD, NULL, (size_t)n, width, k, r->recurrent + first, r->blocks * r->hidden, w->packed,
                       dkt, width);
}

/* Through the gates: r->gates become their derivatives, dc that of ct. */
static void gates_backward(lstmn_run *r, int t, int n)
{
    const size_t h = r->hidden, wide = r->blocks * h;
    for (int i = 0; i < n; i++) {
        const size_t row = row_of(r, i, t);
        real *gates = r->gates + row * wide, *dc = r->dc + row * h;
        const real *dh = r->dh + row * h, *ct = r->looks[OWN].mt + row * h, *memory = r->memory->value + row * h;
        if (r->source)
            attend_kernel()->lstm_fused_backward(h, dh, ct, r->looks[SOURCE].mt + row * h, memory, gates, gates, dc,
                                                 r->dat + (size_t)i * h);
        else
            attend_kernel()->lstm_backward(h, ATTEND_TANH, dh, ct, memory, gates, gates, dc);
        memcpy(r->recurrent + (size_t)i * wide, gates, wide * sizeof(real));
    }
}

static void backward_step(lstmn_run *r, int t, int n, int next)
{
    const size_t h = r->hidden;
    key_backward(r, t, next);
    gates_backward(r, t, n);
    if (r->source) {
        mixed_backward(r, &r->ur, SOURCE, t, n, next, 4 * h, h);
        for (int i = 0; i < n; i++)
            attend_lstmn_attention_backward(&r->looks[SOURCE], row_of(r, i, t), view_of(r, SOURCE, i, t),
                                            r->dkt[SOURCE] + (size_t)i * r->looks[SOURCE].width,
                                            r->dat + (size_t)i * h);
    }
    if (!nothing_before(r, t)) mixed_backward(r, &r->u, OWN, t, n, next, 0, 4 * h);
    for (int i = 0; i < n; i++) /* at the first word this but clears the query */
        attend_lstmn_attention_backward(&r->looks[OWN], row_of(r, i, t), view_of(r, OWN, i, t),
                                        r->dkt[OWN] + (size_t)i * h, r->dc + row_of(r, i, t) * h);
}

/* y = x w' + b of all rows: dx, dw and db from dy (N, out), rows `stride` apart. */
static void input_gradients(attend_ctx *c, const lstmn_run *r, attend_var *w, attend_var *b, size_t out, const real *dy,
                            size_t stride)
{
    const size_t rows = (size_t)r->sequences->rows, in = (size_t)r->x->shape[1];
    real *dx = attend_grad(c, r->x), *db = attend_grad(c, b);
    const real *packed = dx ? attend_var_packed(c, w, false) : NULL;
    if (packed) attend_gemm_packed(PACKED_ADD, NULL, rows, in, out, dy, stride, packed, dx, in);
    attend_weight_gradient(c, w, 0, rows, out, dy, stride, r->x->value, in);
    if (db) attend_row_sum(rows, out, dy, stride, db);
}

/* What the look gave for the word before every row, (N, K). */
static const real *all_kt_before(attend_ctx *c, const lstmn_run *r, int look)
{
    const attend_ragged *s = r->sequences;
    const size_t width = r->looks[look].width;
    real *all = attend_take_reals(c, (size_t)s->rows * width), *to = all;
    for (int b = 0; all && b < s->count; b++)
        for (int t = 0; t < s->lengths[b]; t++, to += width) copy_or_zero(width, kt_before(r, look, b, t), to);
    return all;
}

static void weight_gradients(attend_ctx *c, lstmn_run *r)
{
    const size_t h = r->hidden, wide = r->blocks * h, rows = (size_t)r->sequences->rows;
    input_gradients(c, r, r->w, r->b, 4 * h, r->gates, wide);
    attend_weight_gradient(c, r->u.w, 0, rows, 4 * h, r->gates, wide, r->looks[OWN].kt, h);
    attend_weight_gradient(c, r->wk.w, 0, rows, r->looks[OWN].attention, r->looks[OWN].dkey, r->looks[OWN].attention,
                           r->y->value, h);
    for (int i = 0; i < r->look_count; i++) {
        const lstmn_look *l = &r->looks[i];
        input_gradients(c, r, l->wx, l->b, l->attention, l->query, l->attention);
        const real *before = l->wt->differentiable ? all_kt_before(c, r, i) : NULL;
        if (before) attend_weight_gradient(c, l->wt, 0, rows, l->attention, l->query, l->attention, before, l->width);
    }
    if (!r->source) return;
    input_gradients(c, r, r->wr, r->br, h, r->gates + 4 * h, wide);
    attend_weight_gradient(c, r->ur.w, 0, rows, h, r->gates + 4 * h, wide, r->looks[SOURCE].kt, r->looks[SOURCE].width);
}

static bool nothing_flowed(const lstmn_run *r)
{
    for (int i = 0; i < r->look_count; i++)
        if (r->looks[i].shown && r->looks[i].shown->grad) return false;
    return !r->y->grad && !r->memory->grad;
}

static void backward(attend_ctx *c, attend_node *node)
{
    lstmn_run *r = (lstmn_run *)node;
    const attend_ragged *s = r->sequences;
    if (nothing_flowed(r)) return;
    /* what lasts is taken before what does not */
    r->looks[OWN].dkey = attend_take_zeros(c, (size_t)s->rows * r->looks[OWN].attention);
    real *dv[2] = { attend_grad(c, r->looks[OWN].v), NULL };
    if (r->source) {
        r->looks[SOURCE].dk = attend_grad(c, r->source->gamma);
        r->looks[SOURCE].dm = attend_grad(c, r->source->alpha);
        r->looks[SOURCE].dkey = attend_grad(c, r->source->keys);
        dv[SOURCE] = attend_grad(c, r->looks[SOURCE].v);
    }
    const attend_mark mark = attend_arena_mark(&c->arena);
    if (c->status != ATTEND_OK || !take_scratch(c, r) || !take_gradients(c, r) || !pack_backward(c, r)) return;
    for (int t = s->longest - 1; t >= 0; t--)
        backward_step(r, t, s->active[t], t + 1 < s->longest ? s->active[t + 1] : 0);
    for (int i = 0; i < r->look_count; i++)
        if (dv[i]) attend_kernel()->add(r->looks[i].attention, r->looks[i].dv, dv[i]);
    attend_arena_rewind(&c->arena, mark);
    weight_gradients(c, r);
}

/* ---- the operation ---- */

static void take_look_of(lstmn_run *r, int look, const attend_lstmn_attention *with)
{
    r->looks[look] = (lstmn_look){ .wx = with->wx,
                                   .wt = with->wt,
                                   .b = with->b,
                                   .v = with->v,
                                   .attention = (size_t)with->wk->shape[0],
                                   .width = (size_t)with->wk->shape[1],
                                   .hidden = r->hidden };
    r->wt[look].w = with->wt;
    r->look_count = look + 1;
}

static bool take_source(attend_ctx *c, lstmn_run *r, const attend_lstmn_io *io)
{
    const attend_lstmn_source *s = r->source = io->source;
    if (!s) return true;
    take_look_of(r, SOURCE, &s->with.look);
    lstmn_look *l = &r->looks[SOURCE];
    l->k = s->gamma->value, l->m = s->alpha->value, l->key = s->keys->value, l->ready = s->ready;
    r->wr = s->with.w, r->br = s->with.b, r->ur.w = s->with.u;
    r->blocks = 5;
    if (!io->source_of) return true;
    int *copy = attend_take(c, (size_t)r->sequences->count, sizeof *copy);
    if (copy) memcpy(copy, io->source_of, (size_t)r->sequences->count * sizeof *copy);
    return (r->source_of = copy) != NULL;
}

static bool take_past(attend_ctx *c, lstmn_run *r, const attend_lstmn_past *past)
{
    if (!past) return true;
    const int count = r->sequences->count;
    int *at = attend_take(c, (size_t)count + 1, sizeof *at);
    if (!at) return false;
    at[0] = 0;
    for (int b = 0; b < count; b++) at[b + 1] = at[b] + past->lengths[b];
    const real **words = attend_take(c, (size_t)at[count], sizeof *words);
    for (int i = 0; words && i < at[count]; i++) words[i] = past->words[i];
    r->past_at = at, r->past = words;
    return words != NULL;
}

static bool any_differentiable(const lstmn_run *r, const attend_lstmn_cell *cell)
{
    const attend_lstmn_source *s = r->source;
    const attend_var *own[] = { r->x,          cell->w,       cell->u,      cell->b,     cell->look.wk,
                                cell->look.wx, cell->look.wt, cell->look.b, cell->look.v };
    const attend_var *others[] = { s ? s->gamma : NULL,        s ? s->alpha : NULL,        s ? s->keys : NULL,
                                   s ? s->with.w : NULL,       s ? s->with.u : NULL,       s ? s->with.b : NULL,
                                   s ? s->with.look.wx : NULL, s ? s->with.look.wt : NULL, s ? s->with.look.b : NULL,
                                   s ? s->with.look.v : NULL };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] && own[i]->differentiable) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && others[i]->differentiable) return true;
    return false;
}

static lstmn_run *run_new(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                          const attend_lstmn_io *io)
{
    lstmn_run *r = attend_take(c, 1, sizeof *r);
    if (!r) return NULL;
    *r = (lstmn_run){ .c = c,
                      .x = x,
                      .w = cell->w,
                      .b = cell->b,
                      .u = { .w = cell->u },
                      .wk = { .w = cell->look.wk },
                      .sequences = sequences,
                      .span = cell->span,
                      .hidden = (size_t)cell->u->shape[1],
                      .blocks = 4 };
    take_look_of(r, OWN, &cell->look);
    if (!take_source(c, r, io) || !take_past(c, r, io->past)) return NULL;
    r->tape = attend_lstmn_tape(r->hidden, r->source ? r->looks[SOURCE].width : 0, r->looks[OWN].attention);
    r->looks[OWN].tape = r->tape;
    return take_memory(c, r, io, any_differentiable(r, cell)) ? r : NULL;
}

attend_var *attend_lstmn_sequence(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                                  const attend_ragged *sequences, attend_lstmn_io *io)
{
    attend_lstmn_io none = { 0 };
    if (!io) io = &none;
    io->c = io->tape = io->weights = io->source_weights = NULL;
    if (!attend_lstmn_fits(c, cell, x, sequences, io)) return NULL;
    lstmn_run *r = run_new(c, cell, x, sequences, io);
    attend_var *tape = r && io->want_tape ? attend_var_2d(c, sequences->rows, (int)r->tape.width, false) : NULL;
    if (c->status != ATTEND_OK) return NULL;
    const attend_mark mark = attend_arena_mark(&c->arena);
    const bool ok = forward(c, r, tape);
    attend_arena_rewind(&c->arena, mark);
    if (!ok) return NULL;
    r->y->needed = r->memory->needed = true;
    if (r->y->differentiable) attend_record(c, &r->node, backward);
    io->c = r->memory;
    io->tape = tape;
    io->weights = r->looks[OWN].shown;
    io->source_weights = io->source ? r->looks[SOURCE].shown : NULL;
    return r->y;
}
