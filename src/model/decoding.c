/* decoding.c: one step at a time for many hypotheses. The sources stay in the context; what goes from step to step is copied out of it,
 * so that each step begins where the sources end: memory does not grow with the number of steps. */
#include "model/model.h"

#include "core/memory.h"
#include "model/output.h"
#include <attend/shortlist.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* Rows of numbers that grow when they must. */
typedef struct rows {
    real *data;
    size_t room;
    int width;
} rows;

struct attend_decoding {
    attend_ctx *c;
    const attend_model *m;
    attend_mark mark; /* behind the sources */
    const attend_ragged *sources;
    encoded e;
    decoder d;
    int count;      /* sources */
    int longest;    /* words of the longest */
    int hypotheses; /* of the last step */
    int steps;
    rows h[ATTEND_MAX_LAYERS], c_of[ATTEND_MAX_LAYERS], feed, last; /* last: weights of the step before */
    int *source_of; /* hypotheses of the last step: whose they are, and .. */
    int *place;     /* .. the how-manieth of its source */
    int *row_of;    /* (target words) zeros between steps; see word_input */
    size_t hypotheses_room;
    output_layer out;
    bool stepped; /* what is in `out` is of the last step */
    const attend_var *weights;
    const int *source; /* words of all sources; the caller's, for attend_decoding_limit */
};

/* ---- memory ---- */

static bool rows_fit(rows *r, int n)
{
    const size_t wanted = (size_t)n * (size_t)r->width;
    if (wanted <= r->room) return true;
    real *data = attend_memory_aligned(wanted * sizeof *data);
    if (!data) return false;
    attend_memory_free(r->data);
    r->data = data, r->room = wanted;
    return true;
}

static bool keep(rows *r, const attend_var *v)
{
    if (!v) return true;
    r->width = v->shape[1];
    if (!rows_fit(r, v->shape[0])) return false;
    memcpy(r->data, v->value, v->size * sizeof(real));
    return true;
}

void attend_decoding_free(attend_decoding *d)
{
    if (!d) return;
    for (int i = 0; i < ATTEND_MAX_LAYERS; i++) attend_memory_free(d->h[i].data), attend_memory_free(d->c_of[i].data);
    attend_memory_free(d->feed.data);
    attend_memory_free(d->last.data);
    attend_memory_free(d->source_of);
    attend_memory_free(d->place);
    attend_memory_free(d->row_of);
    attend_memory_free(d);
}

static bool hypotheses_fit(attend_decoding *d, int n)
{
    if ((size_t)n <= d->hypotheses_room) return true;
    int *source_of = attend_memory_zeroed((size_t)n, sizeof *source_of);
    int *place = attend_memory_zeroed((size_t)n, sizeof *place);
    if (!source_of || !place) {
        attend_memory_free(source_of);
        attend_memory_free(place);
        return false;
    }
    attend_memory_free(d->source_of);
    attend_memory_free(d->place);
    d->source_of = source_of, d->place = place, d->hypotheses_room = (size_t)n;
    return true;
}

static int no_memory(attend_decoding *d, int hypotheses)
{
    attend_ctx_fail(d->c, ATTEND_NO_MEMORY, "no memory for the states of %d hypotheses", hypotheses);
    return attend_fail(d->c->status, "%s", d->c->message);
}

/* ---- the sources ---- */

/* Encodes the sources. What the encoder left in the context besides its last layer is not wanted any more: that moves to the front, and the decoder
 * takes the place of the rest. False: the context failed. */
static bool encode(attend_decoding *d, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    encoded e;
    rows memory = { 0 };
    d->sources = attend_ragged_new(c, d->count, lengths);
    if (!d->sources || !attend_model_encode(c, d->m, source, d->sources, &e)) return false;
    bool room = keep(&memory, e.memory);
    for (int i = 0; room && i < d->m->config.layers; i++)
        room = keep(&d->h[i], e.start[i].h) && keep(&d->c_of[i], e.start[i].c);
    if (!room) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d sources", d->count);
    attend_ctx_rewind(c, (attend_mark){ 0 });
    d->sources = attend_ragged_new(c, d->count, lengths);
    if (memory.data && d->sources)
        d->e.memory = attend_constant(c, 2, (const int[]){ attend_ragged_rows(d->sources), memory.width }, memory.data);
    attend_memory_free(memory.data);
    return attend_ctx_status(c) == ATTEND_OK && attend_decoder_new(c, d->m, &d->e, d->sources, true, &d->d);
}

int attend_decoding_new(attend_decoding **out, attend_ctx *c, const attend_model *m, int count, const int *source,
                        const int *lengths)
{
    *out = NULL;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "attend_decoding_new: there are %d sources", count);
    attend_ctx_set_recording(c, false);
    attend_ctx_set_training(c, false);
    attend_ctx_reset(c);
    attend_decoding *d = attend_memory_zeroed(1, sizeof *d);
    if (d) d->row_of = attend_memory_zeroed((size_t)m->config.target_vocab, sizeof *d->row_of);
    if (!d || !d->row_of || !hypotheses_fit(d, count)) {
        attend_decoding_free(d);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for decoding");
    }
    d->c = c, d->m = m, d->count = d->hypotheses = count;
    attend_output_new(&d->out, m);
    d->source = source;
    for (int i = 0; i < count; i++) {
        d->source_of[i] = i;
        if (lengths[i] > d->longest) d->longest = lengths[i];
    }
    bool ok = encode(d, source, lengths);
    bool room = true;
    d->feed.width = m->readout_width;
    d->last.width = d->longest;
    if (ok && room && m->config.input_feeding && (room = rows_fit(&d->feed, count)))
        memset(d->feed.data, 0, (size_t)count * (size_t)d->feed.width * sizeof(real));
    if (ok && room && m->config.attention && m->config.attention->wants_previous && (room = rows_fit(&d->last, count)))
        memset(d->last.data, 0, (size_t)count * (size_t)d->last.width * sizeof(real));
    int status = ATTEND_OK;
    if (!room) status = no_memory(d, count);
    if (!ok) status = attend_fail(c->status, "%s", c->message);
    if (status != ATTEND_OK) {
        attend_decoding_free(d);
        return status;
    }
    d->mark = attend_ctx_mark(c);
    *out = d;
    return ATTEND_OK;
}

/* Both are for the time before the first step. */
static int too_late(const attend_decoding *d, const char *name)
{
    return d->steps == 0 ? ATTEND_OK : attend_fail(ATTEND_BAD_USAGE, "%s: a step was made already", name);
}

int attend_decoding_limit(attend_decoding *d)
{
    attend_ctx *c = d->c;
    const int status = too_late(d, "attend_decoding_limit");
    if (status != ATTEND_OK) return status;
    if (!attend_model_has_shortlist(d->m))
        return attend_fail(ATTEND_BAD_USAGE, "the model has no shortlist; attend convert --shortlist gives it one");
    if (!attend_output_limit(c, &d->out, d->d.output_w, d->sources, d->source))
        return attend_fail(c->status, "%s", c->message);
    d->mark = attend_ctx_mark(c);
    return ATTEND_OK;
}

int attend_decoding_keep(attend_decoding *d, int most)
{
    const int status = too_late(d, "attend_decoding_keep");
    if (status != ATTEND_OK) return status;
    if (most < 0) return attend_fail(ATTEND_BAD_USAGE, "attend_decoding_keep: %d words make no sense", most);
    d->out.keep = most > OUTPUT_MOST_KEPT ? 0 : most;
    return ATTEND_OK;
}

/* ---- a step ---- */

/* How many hypotheses there are now, or -1 and a message: the step is refused, and nothing has changed. */
static int take_hypotheses(attend_decoding *d, const int *counts, const int *parents, const int *words)
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
                attend_fail(
                    ATTEND_BAD_USAGE,
                    "attend_decoding_step: hypothesis %d of source %d cannot go on from %d, which is none of its", i, b,
                    parents[i]);
                return -1;
            }
            if (words[i] < 0 || words[i] >= d->m->config.target_vocab) {
                attend_fail(ATTEND_BAD_USAGE, "attend_decoding_step: word %d of hypothesis %d is not in [0, %d)",
                            words[i], i, d->m->config.target_vocab);
                return -1;
            }
        }
    if (n == 0) attend_fail(ATTEND_BAD_USAGE, "attend_decoding_step: no source has a hypothesis left");
    return n > 0 ? n : -1;
}

/* Rows of the step before, by parent. */
static attend_var *chosen(attend_ctx *c, const rows *r, const int *parents, int n)
{
    attend_var *v = attend_var_2d(c, n, r->width, false);
    for (int i = 0; v && i < n; i++)
        memcpy(v->value + (size_t)i * (size_t)r->width, r->data + (size_t)parents[i] * (size_t)r->width,
               (size_t)r->width * sizeof(real));
    return v;
}

static void take_states(attend_decoding *d, const int *parents, int n, const attend_ragged *queries, decoder_state *s)
{
    attend_ctx *c = d->c;
    const attend_config *o = &d->m->config;
    *s = (decoder_state){ 0 };
    for (int i = 0; i < o->layers; i++) {
        s->layers[i].h = chosen(c, &d->h[i], parents, n);
        if (d->c_of[i].data) s->layers[i].c = chosen(c, &d->c_of[i], parents, n);
    }
    if (o->input_feeding) s->feed = chosen(c, &d->feed, parents, n);
    if (!o->attention || !o->attention->wants_previous) return;
    int most = 0;
    for (int b = 0; b < d->count; b++)
        if (attend_ragged_length(queries, b) > most) most = attend_ragged_length(queries, b);
    s->previous = attend_constant(c, 4, (const int[]){ d->count, 1, most, d->longest }, NULL);
    for (int i = 0; s->previous && i < n; i++)
        memcpy(s->previous->value + ((size_t)d->source_of[i] * (size_t)most + (size_t)d->place[i]) * (size_t)d->longest,
               d->last.data + (size_t)parents[i] * (size_t)d->longest, (size_t)d->longest * sizeof(real));
}

static bool keep_states(attend_decoding *d, const decoder_state *s)
{
    bool ok = true;
    for (int i = 0; ok && i < d->m->config.layers; i++)
        ok = keep(&d->h[i], s->layers[i].h) && keep(&d->c_of[i], s->layers[i].c);
    if (ok) ok = keep(&d->feed, s->feed);
    if (!ok || !s->previous) return ok;
    if (!rows_fit(&d->last, d->hypotheses)) return false;
    const size_t most = (size_t)s->previous->shape[2], longest = (size_t)d->longest;
    for (int i = 0; i < d->hypotheses; i++)
        memcpy(d->last.data + (size_t)i * longest,
               s->previous->value + ((size_t)d->source_of[i] * most + (size_t)d->place[i]) * longest,
               longest * sizeof(real));
    return true;
}

/* W y + bw of the first layer for the words of a step, each different word once; *which: the row of each hypothesis. */
static attend_var *word_input(attend_decoding *d, const int *words, int n, int **which)
{
    attend_ctx *c = d->c;
    int *different = attend_take(c, (size_t)n, sizeof *different), *at = attend_take(c, (size_t)n, sizeof *at);
    int count = 0;
    if (!different || !at) return NULL;
    for (int i = 0; i < n; i++) {
        if (d->row_of[words[i]] == 0) different[count++] = words[i], d->row_of[words[i]] = count;
        at[i] = d->row_of[words[i]] - 1;
    }
    for (int i = 0; i < count; i++) d->row_of[different[i]] = 0;
    *which = at;
    attend_var *y = attend_gather(c, attend_use(c, d->m->target_table), different, count);
    return y ? attend_decoder_input(c, &d->d, y) : NULL;
}

/* The layers, from states s to states s; returns the readout. */
static attend_var *run(attend_decoding *d, const int *ids, attend_var *words, const attend_ragged *singles,
                       decoder_state *s, decoder_step *step)
{
    attend_ctx *c = d->c;
    const decoder *x = &d->d;
    if (model_luong(d->m)) return attend_decoder_recur(c, x, attend_decoder_input(c, x, words), NULL, s, step);
    attend_var *h;
    if (model_bahdanau(d->m)) {
        int *which = NULL;
        attend_var *input = word_input(d, ids, d->hypotheses, &which);
        h = input ? attend_decoder_recur(c, x, input, which, s, step) : NULL;
        h = attend_decoder_layers(c, x, 1, h, singles, s->layers);
    } else {
        h = attend_decoder_layers(c, x, 0, words, singles, s->layers);
    }
    return attend_decoder_readout(c, x, h, step->context, words);
}

int attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *words)
{
    attend_ctx *c = d->c;
    if (c->status != ATTEND_OK) return attend_fail(c->status, "%s", c->message);
    const int n = take_hypotheses(d, counts, parents, words);
    if (n < 0) return ATTEND_BAD_USAGE;
    d->stepped = false, d->weights = NULL; /* what is there lies behind the mark */
    if (!hypotheses_fit(d, n)) return no_memory(d, n);
    attend_ctx_rewind(c, d->mark);
    for (int b = 0, i = 0; b < d->count; b++)
        for (int j = 0; j < counts[b]; j++, i++) d->source_of[i] = b, d->place[i] = j;
    d->hypotheses = n;

    int *ones = attend_take(c, (size_t)n, sizeof *ones);
    for (int i = 0; ones && i < n; i++) ones[i] = 1;
    const attend_ragged *singles = ones ? attend_ragged_new(c, n, ones) : NULL;
    decoder_step step = { .rows = attend_ragged_new(c, d->count, counts),
                          .position = d->steps,
                          .one_position = true,
                          .want_weights = d->m->config.attention != NULL };
    decoder_state s;
    if (step.rows) take_states(d, parents, n, step.rows, &s);
    attend_var *y = singles ? attend_model_embed(c, d->m, d->m->target_table, words, singles) : NULL;
    attend_var *readout = y ? run(d, words, y, singles, &s, &step) : NULL;
    if (readout) attend_output_step(c, &d->out, &d->d, readout, d->source_of);
    if (c->status != ATTEND_OK) return attend_fail(c->status, "%s", c->message);
    if (!keep_states(d, &s)) return no_memory(d, n);
    d->stepped = true;
    d->weights = step.weights;
    d->steps++;
    return ATTEND_OK;
}

const real *attend_decoding_log_probabilities(const attend_decoding *d)
{
    return d->stepped && !d->out.limits ? d->out.log_p : NULL;
}

const real *attend_decoding_row(const attend_decoding *d, int hypothesis, int *count, const int **words)
{
    if (!d->stepped || !d->out.log_p || hypothesis < 0 || hypothesis >= d->hypotheses) return NULL;
    const output_limit *l = d->out.limits ? &d->out.limits[d->source_of[hypothesis]] : NULL;
    *count = l ? l->count : (int)d->out.width;
    *words = l ? l->words : NULL;
    return d->out.log_p + (size_t)hypothesis * d->out.width;
}

const real *attend_decoding_best(const attend_decoding *d, int hypothesis, int *count, const int **words)
{
    if (!d->stepped || d->out.keep == 0 || hypothesis < 0 || hypothesis >= d->hypotheses) return NULL;
    const size_t at = (size_t)hypothesis * (size_t)d->out.keep;
    *count = d->out.best_count[hypothesis];
    *words = d->out.best_words + at;
    return d->out.best_log_p + at;
}

real attend_decoding_end(const attend_decoding *d, int hypothesis)
{
    if (!d->stepped || hypothesis < 0 || hypothesis >= d->hypotheses) return -(real)INFINITY;
    if (d->out.keep > 0) return d->out.end_log_p[hypothesis];
    const size_t at = d->out.limits ? d->out.limits[d->source_of[hypothesis]].end : ATTEND_END;
    return d->out.log_p[(size_t)hypothesis * d->out.width + at];
}

const real *attend_decoding_weights(const attend_decoding *d, int hypothesis, int head)
{
    const attend_var *w = d->weights;
    if (!w || hypothesis < 0 || hypothesis >= d->hypotheses || head < 0 || head >= w->shape[1]) return NULL;
    const size_t row = ((size_t)d->source_of[hypothesis] * (size_t)w->shape[1] + (size_t)head) * (size_t)w->shape[2] +
                       (size_t)d->place[hypothesis];
    return w->value + row * (size_t)w->shape[3];
}
