/* decoding.c: decoding step by step, for many hypotheses of many sources. */
#include "model/decoding.h"

#include "core/status.h"
#include "core/memory.h"
#include <attend/shortlist.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- memory ---- */

void attend_rows_free(stored_rows *r)
{
    if (r->data) r->memory->give(r->data);
    *r = (stored_rows){ 0 };
}

static bool rows_reserve(const attend_ctx *c, stored_rows *r, int n)
{
    const size_t capacity = (size_t)n * (size_t)r->width;
    if (r->data && capacity <= r->capacity) return true; /* 0 rows are valid: sources may have no tokens */
    real *data = c->memory->take(capacity * sizeof *data);
    if (!data) return false;
    if (r->data) r->memory->give(r->data);
    r->memory = c->memory, r->data = data, r->capacity = capacity;
    return true;
}

bool attend_rows_store(stored_rows *r, const attend_var *v)
{
    if (!v) return true;
    r->width = v->shape[1];
    if (!rows_reserve(v->context, r, v->shape[0])) return false;
    r->memory->copy(r->data, v->value, v->size * sizeof(real));
    return true;
}

attend_var *attend_rows_gather(attend_ctx *c, const stored_rows *r, const int *rows, int n)
{
    attend_var *v = attend_var_2d(c, n, r->width, false);
    const size_t width = (size_t)r->width;
    if (v)
        attend_device_of(c)->copy(&c->compute, (size_t)n, width, (device_input){ r->data, width, rows },
                                  (device_output){ .data = v->value, .stride = width });
    return v;
}

attend_var *attend_rows_restore(attend_ctx *c, stored_rows *r, int n)
{
    attend_var *v = r->data ? attend_var_2d(c, n, r->width, false) : NULL;
    if (v) c->memory->copy(v->value, r->data, v->size * sizeof(real));
    attend_rows_free(r);
    return v;
}

bool attend_rows_zero(attend_ctx *c, stored_rows *r, int n)
{
    if (!rows_reserve(c, r, n)) return false;
    r->memory->zero(r->data, (size_t)n * (size_t)r->width * sizeof(real));
    return true;
}

/* The row of each of n hypotheses in weights (B, 1, Tq, Tk); NULL: no memory. */
static const int *weight_rows(attend_decoding *d, const attend_var *weights, int n)
{
    int *rows = attend_ctx_alloc(d->c, (size_t)n, sizeof *rows);
    for (int i = 0; rows && i < n; i++) rows[i] = d->source_of[i] * weights->shape[2] + d->index_of[i];
    return rows;
}

attend_var *attend_weights_by_source(attend_decoding *d, const decoding_step *step, const real *rows, int width,
                                     const int *which)
{
    int queries = 0;
    for (int b = 0; b < d->count; b++)
        if (attend_ragged_length(step->queries, b) > queries) queries = attend_ragged_length(step->queries, b);
    attend_var *v = attend_constant(d->c, 4, (const int[]){ d->count, 1, queries, d->max_length }, NULL);
    const int *to = v ? weight_rows(d, v, step->count) : NULL;
    if (!to) return NULL;
    attend_device_of(d->c)->copy(&d->c->compute, (size_t)step->count, (size_t)width,
                                 (device_input){ rows, (size_t)width, which },
                                 (device_output){ v->value, (size_t)d->max_length, to });
    return v;
}

bool attend_weights_store(attend_decoding *d, stored_rows *r, const attend_var *weights)
{
    if (!weights) return true;
    if (!rows_reserve(d->c, r, d->hypotheses)) return false;
    const int *from = weight_rows(d, weights, d->hypotheses);
    const size_t width = (size_t)d->max_length;
    if (!from) return false;
    attend_device_of(d->c)->copy(&d->c->compute, (size_t)d->hypotheses, width,
                                 (device_input){ weights->value, width, from },
                                 (device_output){ .data = r->data, .stride = width });
    return true;
}

void attend_decoding_free(attend_decoding *d)
{
    if (!d) return;
    if (d->states) d->m->architecture->end(d);
    attend_memory_free(d->states);
    attend_memory_free(d->source_of);
    attend_memory_free(d->index_of);
    attend_memory_free(d);
}

static bool hypotheses_reserve(attend_decoding *d, int n)
{
    if ((size_t)n <= d->hypothesis_capacity) return true;
    int *source_of = attend_memory_zeroed((size_t)n, sizeof *source_of);
    int *index_of = attend_memory_zeroed((size_t)n, sizeof *index_of);
    if (!source_of || !index_of) {
        attend_memory_free(source_of);
        attend_memory_free(index_of);
        return false;
    }
    attend_memory_free(d->source_of);
    attend_memory_free(d->index_of);
    d->source_of = source_of, d->index_of = index_of, d->hypothesis_capacity = (size_t)n;
    return true;
}

static int no_memory(attend_decoding *d, int hypotheses)
{
    attend_ctx_fail(d->c, ATTEND_NO_MEMORY, "no memory for the states of %d hypotheses", hypotheses);
    return attend_fail(d->c->status, "%s", d->c->message);
}

/* ---- the sources ---- */

int attend_decoding_new(attend_decoding **out, attend_ctx *c, const attend_model *m, int count, const int *source,
                        const int *lengths)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && c && m && (lengths || count < 1));
    *out = NULL;
    if (count < 1)
        return attend_fail(ATTEND_BAD_USAGE, "attend_decoding_new: %d sources; there must be at least one", count);
    const int checked = attend_sources_check(m, lengths, count);
    if (checked != ATTEND_OK) return checked;
    attend_ctx_set_recording(c, false);
    attend_ctx_set_training(c, false);
    attend_ctx_reset(c);
    attend_decoding *d = attend_memory_zeroed(1, sizeof *d);
    if (d) d->states = attend_memory_zeroed(1, m->architecture->state_size);
    if (!d || !d->states || !hypotheses_reserve(d, count)) {
        if (d) attend_memory_free(d->states), d->states = NULL; /* begin was not called: end must not be */
        attend_decoding_free(d);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for decoding");
    }
    d->c = c, d->m = m, d->count = d->hypotheses = count;
    d->aligns = true;
    attend_output_new(&d->out, m);
    d->source = source;
    for (int i = 0; i < count; i++) {
        d->source_of[i] = i;
        if (lengths[i] > d->max_length) d->max_length = lengths[i];
    }
    if (!m->architecture->begin(d, source, lengths)) {
        const int status = attend_fail(c->status, "%s", c->message);
        attend_decoding_free(d);
        return status;
    }
    d->mark = attend_ctx_mark(c);
    *out = d;
    return ATTEND_OK;
}

static int check_not_stepped(const attend_decoding *d, const char *name)
{
    return d->steps == 0 ? ATTEND_OK : attend_fail(ATTEND_BAD_USAGE, "%s: call it before the first step", name);
}

int attend_decoding_use_shortlist(attend_decoding *d)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, d);
    attend_ctx *c = d->c;
    const int status = check_not_stepped(d, "attend_decoding_use_shortlist");
    if (status != ATTEND_OK) return status;
    if (!attend_model_has_shortlist(d->m))
        return attend_fail(ATTEND_BAD_USAGE, "the model has no shortlist: convert it with training pairs to add one");
    if (!attend_output_use_shortlists(c, &d->out, d->sources, d->source))
        return attend_fail(c->status, "%s", c->message);
    d->mark = attend_ctx_mark(c);
    return ATTEND_OK;
}

int attend_decoding_set_top_k(attend_decoding *d, int k)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, d);
    const int status = check_not_stepped(d, "attend_decoding_set_top_k");
    if (status != ATTEND_OK) return status;
    if (k < 0) return attend_fail(ATTEND_BAD_USAGE, "attend_decoding_set_top_k: k is %d; it must not be negative", k);
    d->out.top_k = k > ATTEND_MAX_TOP_K ? 0 : k;
    return ATTEND_OK;
}

void attend_decoding_omit_weights(attend_decoding *d)
{
    d->aligns = false;
}

void attend_decoding_align(attend_decoding *d, const decoding_step *step, attend_var *rows)
{
    const int layer = attend_config_alignment_layer(&d->m->config);
    if (layer < 0 || !rows || !d->aligns) return;
    d->weights[layer] = attend_alignment_head_weights(d->c, d->m, d->alignment_source, rows, step->queries);
}

int attend_decoding_status(const attend_decoding *d)
{
    return d->c->status == ATTEND_OK ? ATTEND_OK : attend_fail(d->c->status, "%s", d->c->message);
}

/* ---- a step ---- */

/* Validates the arguments of a step. The number of hypotheses, or -1 and a message; nothing has changed then. */
static int check_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens)
{
    int n = 0;
    for (int b = 0; b < d->count; b++) {
        if (counts[b] < 0 || counts[b] > INT_MAX - n) {
            attend_fail(ATTEND_BAD_USAGE, "attend_decoding_step: source %d has %d hypotheses", b, counts[b]);
            return -1;
        }
        n += counts[b];
    }
    for (int b = 0, i = 0; b < d->count; b++)
        for (int j = 0; j < counts[b]; j++, i++) {
            if (parents[i] < 0 || parents[i] >= d->hypotheses || d->source_of[parents[i]] != b) {
                attend_fail(ATTEND_BAD_USAGE,
                            "attend_decoding_step: hypothesis %d of source %d cannot extend hypothesis %d, which "
                            "belongs to another source or does not "
                            "exist",
                            i, b, parents[i]);
                return -1;
            }
            if (tokens[i] < 0 || tokens[i] >= d->m->config.target_vocab) {
                attend_fail(ATTEND_BAD_USAGE, "attend_decoding_step: token %d of hypothesis %d is not in [0, %d)",
                            tokens[i], i, d->m->config.target_vocab);
                return -1;
            }
        }
    if (n == 0) attend_fail(ATTEND_BAD_USAGE, "attend_decoding_step: no source has a hypothesis left");
    return n > 0 ? n : -1;
}

int attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *tokens)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, d && counts && parents && tokens);
    attend_ctx *c = d->c;
    if (c->status != ATTEND_OK) return attend_fail(c->status, "%s", c->message);
    const int n = check_step(d, counts, parents, tokens);
    if (n < 0) return ATTEND_BAD_USAGE;
    d->stepped = false; /* the last results and weights lie after the mark */
    memset(d->weights, 0, sizeof d->weights);
    if (!hypotheses_reserve(d, n)) return no_memory(d, n);
    attend_ctx_rewind(c, d->mark);
    for (int b = 0, i = 0; b < d->count; b++)
        for (int j = 0; j < counts[b]; j++, i++) d->source_of[i] = b, d->index_of[i] = j;
    d->hypotheses = n;

    int *ones = attend_ctx_alloc(c, (size_t)n, sizeof *ones);
    for (int i = 0; ones && i < n; i++) ones[i] = 1;
    const decoding_step s = { .count = n,
                              .parents = parents,
                              .tokens = tokens,
                              .queries = attend_ragged_new(c, d->count, counts),
                              .singles = ones ? attend_ragged_new(c, n, ones) : NULL };
    attend_var *readout = s.queries && s.singles ? d->m->architecture->step(d, &s) : NULL;
    if (readout) attend_output_step(c, &d->out, readout, d->source_of);
    if (c->status == ATTEND_OK && !d->m->architecture->store(d, &s)) no_memory(d, n);
    if (c->status != ATTEND_OK) {
        memset(d->weights, 0, sizeof d->weights);
        return attend_fail(c->status, "%s", c->message);
    }
    d->stepped = true;
    d->steps++;
    return ATTEND_OK;
}

const real *attend_decoding_log_probabilities(const attend_decoding *d)
{
    ATTEND_REQUIRE(NULL, d);
    return d->stepped && !d->out.shortlists ? d->out.log_p : NULL;
}

const real *attend_decoding_row(const attend_decoding *d, int hypothesis, int *count, const int **tokens)
{
    ATTEND_REQUIRE(NULL, d && count && tokens);
    if (!d->stepped || !d->out.log_p || hypothesis < 0 || hypothesis >= d->hypotheses) return NULL;
    const device_shortlist *l = d->out.shortlists ? &d->out.shortlists[d->source_of[hypothesis]] : NULL;
    *count = l ? l->count : (int)d->out.width;
    *tokens = l ? l->tokens : NULL;
    return d->out.log_p + (size_t)hypothesis * d->out.width;
}

const real *attend_decoding_top_k(const attend_decoding *d, int hypothesis, int *count, const int **tokens)
{
    ATTEND_REQUIRE(NULL, d && count && tokens);
    if (!d->stepped || d->out.top_k == 0 || hypothesis < 0 || hypothesis >= d->hypotheses) return NULL;
    const size_t at = (size_t)hypothesis * (size_t)d->out.top_k;
    *count = d->out.best_count[hypothesis];
    *tokens = d->out.best_tokens + at;
    return d->out.best_log_p + at;
}

real attend_decoding_end_log_probability(const attend_decoding *d, int hypothesis)
{
    ATTEND_REQUIRE(0, d);
    if (!d->stepped || hypothesis < 0 || hypothesis >= d->hypotheses) return -(real)INFINITY;
    if (d->out.top_k > 0) return d->out.end_log_p[hypothesis];
    const size_t at = d->out.shortlists ? d->out.shortlists[d->source_of[hypothesis]].end : ATTEND_END;
    return d->out.log_p[(size_t)hypothesis * d->out.width + at];
}

const real *attend_decoding_weights(const attend_decoding *d, int hypothesis, int layer, int head)
{
    ATTEND_REQUIRE(NULL, d);
    if (hypothesis < 0 || hypothesis >= d->hypotheses || layer < 0 || layer > ATTEND_MAX_LAYERS) return NULL;
    const attend_var *w = d->weights[layer];
    if (!w || head < 0 || head >= w->shape[1]) return NULL;
    const size_t row = ((size_t)d->source_of[hypothesis] * (size_t)w->shape[1] + (size_t)head) * (size_t)w->shape[2] +
                       (size_t)d->index_of[hypothesis];
    const real *weights = attend_value(w);
    return weights ? weights + row * (size_t)w->shape[3] : NULL;
}
