/* rnn_teacher_forcing.c: recurrent networks over given targets. A decoder with feedback runs step by step over the
 * sentences that have not ended, and the rows of all steps are put back into the order of the targets afterwards. */
#include "model/rnn.h"

#include <string.h>

typedef struct rnn_forcing {
    teacher_forcing *f;
    decoder d;
    encoded e;
    attend_var *embedded; /* (N, E) input tokens */
} rnn_forcing;

static bool needs_weights(const teacher_forcing *f)
{
    return attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, 0);
}

/* ---- with feedback ---- */

/* The sentences that have not ended at a step. */
typedef struct running {
    int count;
    int *sentences; /* (count) their indices */
    int *rows;      /* (count) the row of each at this step */
    int *kept;      /* (count) the index of each among those of the previous step */
    const attend_ragged *queries;
} running;

static bool running_new(const teacher_forcing *f, running *r)
{
    const size_t n = (size_t)f->pairs->count;
    int *memory = attend_ctx_alloc(f->c, 3 * n, sizeof *memory);
    *r = (running){ .count = f->pairs->count };
    if (!memory) return false;
    r->sentences = memory, r->rows = memory + n, r->kept = memory + 2 * n;
    for (int i = 0; i < r->count; i++) r->sentences[i] = i;
    return true;
}

/* Advances to step t. *fewer: some sentences have ended. */
static bool running_next(const teacher_forcing *f, running *r, int t, bool *fewer)
{
    int left = 0;
    for (int i = 0; i < r->count; i++) {
        const int b = r->sentences[i];
        if (attend_ragged_length(f->targets, b) <= t) continue;
        r->sentences[left] = b;
        r->rows[left] = attend_ragged_offset(f->targets, b) + t;
        r->kept[left++] = i;
    }
    *fewer = left < r->count;
    r->count = left;
    if (r->queries && !*fewer) return true;
    int *lengths = attend_ctx_alloc(f->c, (size_t)f->pairs->count, sizeof *lengths);
    if (!lengths) return false;
    memset(lengths, 0, (size_t)f->pairs->count * sizeof *lengths);
    for (int i = 0; i < left; i++) lengths[r->sentences[i]] = 1;
    r->queries = attend_ragged_new(f->c, f->pairs->count, lengths);
    return r->queries != NULL;
}

/* Drops the states of sentences that have ended. */
static void keep_states(attend_ctx *c, const attend_model *m, const running *r, decoder_state *s)
{
    const int stepping = is_bahdanau(m) ? 1 : m->config.layers;
    for (int i = 0; i < stepping; i++) {
        s->layers[i].h = attend_gather(c, s->layers[i].h, r->kept, r->count);
        if (s->layers[i].c) s->layers[i].c = attend_gather(c, s->layers[i].c, r->kept, r->count);
    }
    if (s->feed) s->feed = attend_gather(c, s->feed, r->kept, r->count);
}

/* All steps. *contexts, if not NULL: their contexts. */
static attend_var *run_steps(rnn_forcing *run, attend_var **contexts)
{
    teacher_forcing *f = run->f;
    attend_ctx *c = f->c;
    int steps = 0;
    for (int b = 0; b < f->pairs->count; b++)
        if (attend_ragged_length(f->targets, b) > steps) steps = attend_ragged_length(f->targets, b);
    attend_var **outs = attend_ctx_alloc(c, 2 * (size_t)steps, sizeof *outs), **context = outs ? outs + steps : NULL;
    int *order =
        attend_ctx_alloc(c, (size_t)attend_ragged_rows(f->targets), sizeof *order); /* the target row of each */
    running r;
    if (!outs || !order || !running_new(f, &r)) return NULL;

    decoder_state s = { .feed = NULL };
    memcpy(s.layers, run->e.start, sizeof s.layers);
    if (f->m->config.input_feeding) s.feed = attend_constant(c, 2, (const int[]){ r.count, f->m->readout_width }, NULL);
    attend_var *input = attend_decoder_input(c, &run->d, run->embedded);
    for (int t = 0, row = 0; t < steps; t++) {
        bool fewer;
        if (!running_next(f, &r, t, &fewer)) return NULL;
        if (fewer) keep_states(c, f->m, &r, &s);
        for (int i = 0; i < r.count; i++) order[row++] = r.rows[i];
        decoder_step step = { .rows = r.queries,
                              .position = t,
                              .advantage = f->advantage,
                              .need_weights = needs_weights(f),
                              .running = r.sentences };
        outs[t] = attend_decoder_recur(c, &run->d, input, r.rows, &s, &step);
        context[t] = step.context;
        if (!outs[t]) return NULL;
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, t);
    }
    if (contexts) *contexts = attend_stack_at(c, context, steps, order);
    return attend_stack_at(c, outs, steps, order);
}

/* ---- the readout of every row ---- */

static attend_var *with_feedback(rnn_forcing *r)
{
    teacher_forcing *f = r->f;
    if (is_luong(f->m)) return run_steps(r, NULL);
    attend_var *contexts = NULL;
    attend_var *s = run_steps(r, r->d.readout_w ? &contexts : NULL);
    s = attend_decoder_layers(f->c, &r->d, 1, s, f->targets, r->e.start);
    return attend_decoder_readout(f->c, &r->d, s, contexts, r->embedded);
}

static attend_var *without_feedback(rnn_forcing *r)
{
    teacher_forcing *f = r->f;
    attend_var *s = attend_decoder_layers(f->c, &r->d, 0, r->embedded, f->targets, r->e.start);
    decoder_step step = { .rows = f->targets, .advantage = f->advantage, .need_weights = needs_weights(f) };
    if (f->m->config.attention) attend_decoder_attend(f->c, &r->d, s, NULL, &step);
    attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, 0);
    return attend_decoder_readout(f->c, &r->d, s, step.context, r->embedded);
}

attend_var *attend_rnn_teacher_forcing(teacher_forcing *f)
{
    attend_ctx *c = f->c;
    rnn_forcing r = { .f = f };
    if (!attend_rnn_encode(c, f->m, f->pairs->source, f->sources, &r.e) ||
        !attend_decoder_new(c, f->m, &r.e, f->sources, false, &r.d))
        return NULL;
    r.embedded = attend_model_embed(c, f->m, f->m->target_table, f->inputs, f->targets);
    attend_var *readout = has_feedback(f->m) ? with_feedback(&r) : without_feedback(&r);
    attend_teacher_forcing_align(f, r.e.memory, readout);
    return readout ? attend_model_dropout(c, f->m, readout, f->targets) : NULL;
}
