/* rnn_teacher_forcing.c: recurrent networks over given targets. Where the decoder has feedback its steps run over the sentences that are still
 * going, and the rows of all steps are put back into the order of words afterwards. */
#include "model/rnn.h"

#include <string.h>

typedef struct rnn_forcing {
    forcing *f;
    decoder d;
    encoded e;
    attend_var *words; /* (N, E) embedded inputs */
} rnn_forcing;

static bool wants_weights(const forcing *f)
{
    return attend_teacher_forcing_wants(f, ATTEND_ATTENTION_CROSS, 0);
}

/* ---- with feedback ---- */

/* The sentences that are still going at a step, and where their rows are. */
typedef struct running {
    int count;
    int *sentences; /* which */
    int *rows;      /* row of this step, of each */
    int *kept;      /* its place among those of the step before */
    const attend_ragged *queries;
} running;

static bool running_new(const forcing *f, running *r)
{
    const size_t n = (size_t)f->pairs->count;
    int *memory = attend_take(f->c, 3 * n, sizeof *memory);
    *r = (running){ .count = f->pairs->count };
    if (!memory) return false;
    r->sentences = memory, r->rows = memory + n, r->kept = memory + 2 * n;
    for (int i = 0; i < r->count; i++) r->sentences[i] = i;
    return true;
}

/* On to step t; *fewer: some have ended. */
static bool running_next(const forcing *f, running *r, int t, bool *fewer)
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
    int *lengths = attend_take(f->c, (size_t)f->pairs->count, sizeof *lengths);
    if (!lengths) return false;
    memset(lengths, 0, (size_t)f->pairs->count * sizeof *lengths);
    for (int i = 0; i < left; i++) lengths[r->sentences[i]] = 1;
    r->queries = attend_ragged_new(f->c, f->pairs->count, lengths);
    return r->queries != NULL;
}

/* The states of those that go on. */
static void keep_states(attend_ctx *c, const attend_model *m, const running *r, decoder_state *s)
{
    const int stepping = model_bahdanau(m) ? 1 : m->config.layers;
    for (int i = 0; i < stepping; i++) {
        s->layers[i].h = attend_gather(c, s->layers[i].h, r->kept, r->count);
        if (s->layers[i].c) s->layers[i].c = attend_gather(c, s->layers[i].c, r->kept, r->count);
    }
    if (s->feed) s->feed = attend_gather(c, s->feed, r->kept, r->count);
}

/* The steps; *contexts, if not NULL, receives what they looked at. */
static attend_var *run_steps(rnn_forcing *run, attend_var **contexts)
{
    forcing *f = run->f;
    attend_ctx *c = f->c;
    int steps = 0;
    for (int b = 0; b < f->pairs->count; b++)
        if (attend_ragged_length(f->targets, b) > steps) steps = attend_ragged_length(f->targets, b);
    attend_var **outs = attend_take(c, 2 * (size_t)steps, sizeof *outs), **looks = outs ? outs + steps : NULL;
    int *places = attend_take(c, (size_t)attend_ragged_rows(f->targets), sizeof *places); /* of rows, step after step */
    running r;
    if (!outs || !places || !running_new(f, &r)) return NULL;

    decoder_state s = { .feed = NULL };
    memcpy(s.layers, run->e.start, sizeof s.layers);
    if (f->m->config.input_feeding) s.feed = attend_constant(c, 2, (const int[]){ r.count, f->m->readout_width }, NULL);
    attend_var *input = attend_decoder_input(c, &run->d, run->words);
    for (int t = 0, row = 0; t < steps; t++) {
        bool fewer;
        if (!running_next(f, &r, t, &fewer)) return NULL;
        if (fewer) keep_states(c, f->m, &r, &s);
        for (int i = 0; i < r.count; i++) places[row++] = r.rows[i];
        decoder_step step = { .rows = r.queries,
                              .position = t,
                              .advantage = f->advantage,
                              .want_weights = wants_weights(f),
                              .running = r.sentences };
        outs[t] = attend_decoder_recur(c, &run->d, input, r.rows, &s, &step);
        looks[t] = step.context;
        if (!outs[t]) return NULL;
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, t);
    }
    if (contexts) *contexts = attend_stack_at(c, looks, steps, places);
    return attend_stack_at(c, outs, steps, places);
}

/* ---- the readout of every row ---- */

static attend_var *with_feedback(rnn_forcing *r)
{
    forcing *f = r->f;
    if (model_luong(f->m)) return run_steps(r, NULL);
    attend_var *contexts = NULL;
    attend_var *s = run_steps(r, r->d.readout_w ? &contexts : NULL);
    s = attend_decoder_layers(f->c, &r->d, 1, s, f->targets, r->e.start);
    return attend_decoder_readout(f->c, &r->d, s, contexts, r->words);
}

static attend_var *without_feedback(rnn_forcing *r)
{
    forcing *f = r->f;
    attend_var *s = attend_decoder_layers(f->c, &r->d, 0, r->words, f->targets, r->e.start);
    decoder_step step = { .rows = f->targets, .advantage = f->advantage, .want_weights = wants_weights(f) };
    if (f->m->config.attention) attend_decoder_attend(f->c, &r->d, s, NULL, &step);
    attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, 0);
    return attend_decoder_readout(f->c, &r->d, s, step.context, r->words);
}

attend_var *attend_rnn_teacher_forcing(forcing *f)
{
    attend_ctx *c = f->c;
    rnn_forcing r = { .f = f };
    if (!attend_model_encode(c, f->m, f->pairs->source, f->sources, &r.e) ||
        !attend_decoder_new(c, f->m, &r.e, f->sources, false, &r.d))
        return NULL;
    r.words = attend_model_embed(c, f->m, f->m->target_table, f->inputs, f->targets);
    attend_var *readout = model_feedback(f->m) ? with_feedback(&r) : without_feedback(&r);
    return readout ? attend_model_dropout(c, f->m, readout, f->targets) : NULL;
}
