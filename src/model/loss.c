/* loss.c: teacher forcing. Rows are the words of all targets, sentence after sentence; where the decoder has feedback its steps run over
 * the sentences that are still going, and the rows of all steps are put back into that order afterwards. */
#include "model/model.h"

#include <string.h>

/* One run over some pairs. */
typedef struct forcing {
    attend_ctx *c;
    const attend_model *m;
    const attend_pairs *pairs;
    const attend_loss_options *options;
    const attend_ragged *sources, *targets;
    const int *inputs, *outputs; /* words of each row: what goes in, what should come out */
    decoder d;
    encoded e;
    attend_var *words;   /* (N, E) embedded inputs */
    double *advantage;   /* (B), of REINFORCE; NULL otherwise */
    attend_var *guiding; /* the guided-alignment loss so far, or NULL */
} forcing;

static bool wants_weights(const forcing *f)
{
    return f->options->weights || (f->options->guidance != 0 && f->pairs->link_count > 0);
}

/* ---- rows ---- */

static bool take_rows(forcing *f)
{
    attend_ctx *c = f->c;
    const attend_pairs *p = f->pairs;
    if (p->count == 0) attend_ctx_fail(c, ATTEND_BAD_USAGE, "there are no pairs");
    if (attend_pairs_check(p) != ATTEND_OK) attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s", attend_message());
    if (c->status != ATTEND_OK) return false;
    int *lengths = attend_take(c, (size_t)p->count, sizeof *lengths);
    for (int i = 0; lengths && i < p->count; i++) lengths[i] = p->target_lengths[i] + 1;
    f->sources = lengths ? attend_ragged_new(c, p->count, p->source_lengths) : NULL;
    f->targets = f->sources ? attend_ragged_new(c, p->count, lengths) : NULL;
    const size_t rows = (size_t)attend_ragged_rows(f->targets);
    int *inputs = f->targets ? attend_take(c, 2 * rows, sizeof *inputs) : NULL;
    if (!inputs) return false;
    int *outputs = inputs + rows;
    const int *word = p->target;
    for (int i = 0, row = 0; i < p->count; i++) {
        inputs[row] = ATTEND_BEGIN;
        for (int t = 0; t < p->target_lengths[i]; t++, row++) outputs[row] = inputs[row + 1] = *word++;
        outputs[row++] = ATTEND_END;
    }
    f->inputs = inputs, f->outputs = outputs;
    return true;
}

/* ---- weights ---- */

static int source_length(const forcing *f, int b)
{
    return f->pairs->source_lengths[b];
}

/* Weights (B, H, Tq, Tk) whose first query is target word `first` of each sentence, to where the caller wants them. */
static void report_weights(const forcing *f, const attend_var *weights, int first)
{
    if (!f->options->weights || !weights) return;
    const size_t heads = (size_t)weights->shape[1], queries = (size_t)weights->shape[2],
                 keys = (size_t)weights->shape[3];
    real *to = f->options->weights;
    for (int b = 0; b < f->pairs->count; b++) {
        const size_t m = (size_t)source_length(f, b);
        const int words = attend_ragged_length(f->targets, b);
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < queries && first + (int)i < words; i++)
                memcpy(to + (h * (size_t)words + (size_t)first + i) * m,
                       weights->value + (((size_t)b * heads + h) * queries + i) * keys, m * sizeof *to);
        to += heads * (size_t)words * m;
    }
}

/* Links of a pair that lead to target words [first, last), as shares of each word. */
static bool fill_wanted(forcing *f, int b, int first, int last, size_t keys, real *wanted)
{
    const attend_pairs *p = f->pairs;
    for (int i = 0; i < p->link_count; i++) {
        const attend_link l = p->links[i];
        if (l.pair - p->first_pair != b) continue;
        if (l.target < 0 || l.target >= p->target_lengths[b] || l.source < 0 || l.source >= source_length(f, b)) {
            attend_ctx_fail(f->c, ATTEND_BAD_DATA,
                            "a link of pair %d leads from word %d to word %d, but the pair has %d and %d words", l.pair,
                            l.target, l.source, p->target_lengths[b], source_length(f, b));
            return false;
        }
        if (l.target >= first && l.target < last) wanted[(size_t)(l.target - first) * keys + (size_t)l.source] = 1;
    }
    for (int i = first; i < last; i++) {
        real *row = wanted + (size_t)(i - first) * keys, sum = 0;
        for (size_t j = 0; j < keys; j++) sum += row[j];
        for (size_t j = 0; sum > 1 && j < keys; j++) row[j] /= sum;
    }
    return true;
}

static void guide(forcing *f, attend_var *weights, int first)
{
    if (f->options->guidance == 0 || f->pairs->link_count == 0 || !weights) return;
    const int queries = weights->shape[2];
    const size_t keys = (size_t)weights->shape[3];
    real *wanted = attend_take_zeros(f->c, (size_t)f->pairs->count * (size_t)queries * keys);
    for (int b = 0; wanted && b < f->pairs->count; b++)
        if (!fill_wanted(f, b, first, first + queries, keys, wanted + (size_t)b * (size_t)queries * keys)) return;
    if (!wanted) return;
    attend_var *loss = attend_alignment_loss(f->c, weights, wanted, f->options->scale * f->options->guidance);
    f->guiding = f->guiding ? attend_add(f->c, f->guiding, loss) : loss;
}

static void use_weights(forcing *f, attend_var *weights, int first)
{
    report_weights(f, weights, first);
    guide(f, weights, first);
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
static attend_var *run_steps(forcing *f, attend_var **contexts)
{
    attend_ctx *c = f->c;
    int steps = 0;
    for (int b = 0; b < f->pairs->count; b++)
        if (attend_ragged_length(f->targets, b) > steps) steps = attend_ragged_length(f->targets, b);
    attend_var **outs = attend_take(c, 2 * (size_t)steps, sizeof *outs), **looks = outs ? outs + steps : NULL;
    int *places = attend_take(c, (size_t)attend_ragged_rows(f->targets), sizeof *places); /* of rows, step after step */
    running r;
    if (!outs || !places || !running_new(f, &r)) return NULL;

    decoder_state s = { .feed = NULL };
    memcpy(s.layers, f->e.start, sizeof s.layers);
    if (f->m->config.input_feeding) s.feed = attend_constant(c, 2, (const int[]){ r.count, f->m->readout_width }, NULL);
    attend_var *input = attend_decoder_input(c, &f->d, f->words);
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
        outs[t] = attend_decoder_recur(c, &f->d, input, r.rows, &s, &step);
        looks[t] = step.context;
        if (!outs[t]) return NULL;
        use_weights(f, step.weights, t);
    }
    if (contexts) *contexts = attend_stack_at(c, looks, steps, places);
    return attend_stack_at(c, outs, steps, places);
}

/* ---- the readout of every row ---- */

static attend_var *with_feedback(forcing *f)
{
    if (model_luong(f->m)) return run_steps(f, NULL);
    attend_var *contexts = NULL;
    attend_var *s = run_steps(f, f->d.readout_w ? &contexts : NULL);
    s = attend_decoder_layers(f->c, &f->d, 1, s, f->targets, f->e.start);
    return attend_decoder_readout(f->c, &f->d, s, contexts, f->words);
}

static attend_var *without_feedback(forcing *f)
{
    attend_var *s = attend_decoder_layers(f->c, &f->d, 0, f->words, f->targets, f->e.start);
    decoder_step step = { .rows = f->targets, .advantage = f->advantage, .want_weights = wants_weights(f) };
    if (f->m->config.attention) attend_decoder_look(f->c, &f->d, s, NULL, &step);
    use_weights(f, step.weights, 0);
    return attend_decoder_readout(f->c, &f->d, s, step.context, f->words);
}

/* What each pair lost more than was expected, for REINFORCE. */
static void fill_advantage(const forcing *f, const real *nll)
{
    for (int b = 0; f->advantage && b < f->pairs->count; b++) {
        double loss = 0;
        for (int t = 0; t < attend_ragged_length(f->targets, b); t++) loss += (double)*nll++;
        f->advantage[b] = f->options->scale * (loss - f->options->baseline * attend_ragged_length(f->targets, b));
    }
}

attend_var *attend_model_loss(attend_ctx *c, const attend_model *m, const attend_pairs *pairs,
                              const attend_loss_options *options)
{
    static const attend_loss_options usual = ATTEND_LOSS_OPTIONS_INIT;
    forcing f = { .c = c, .m = m, .pairs = pairs, .options = options ? options : &usual };
    if (attend_ctx_status(c) != ATTEND_OK || !take_rows(&f)) return NULL;
    real *nll = f.options->nll;
    if (m->config.attention && m->config.selection == ATTEND_SELECT_HARD && m->config.estimator == ATTEND_REINFORCE) {
        f.advantage = attend_take(c, (size_t)pairs->count, sizeof *f.advantage);
        if (!nll) nll = attend_take_reals(c, (size_t)attend_ragged_rows(f.targets));
        if (!f.advantage || !nll) return NULL;
    }
    if (!attend_model_encode(c, m, pairs->source, f.sources, &f.e) ||
        !attend_decoder_new(c, m, &f.e, f.sources, false, &f.d))
        return NULL;
    f.words = attend_model_embed(c, m, m->target_table, f.inputs, f.targets);
    attend_var *readout = model_feedback(m) ? with_feedback(&f) : without_feedback(&f);
    attend_var *logits = attend_decoder_output(c, &f.d, readout, f.targets);
    attend_var *loss = attend_cross_entropy(c, logits, f.outputs, f.options->label_smoothing, f.options->scale, nll);
    if (loss) fill_advantage(&f, nll);
    return f.guiding ? attend_add(c, loss, f.guiding) : loss;
}
