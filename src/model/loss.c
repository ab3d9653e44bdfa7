/* loss.c: the loss with teacher forcing. Rows are the tokens of all targets, sentence after sentence. */
#include "model/model.h"

#include "core/status.h"
#include <string.h>

/* ---- rows ---- */

static bool make_rows(teacher_forcing *f)
{
    attend_ctx *c = f->c;
    const attend_pairs *p = f->pairs;
    if (p->count == 0) attend_ctx_fail(c, ATTEND_BAD_USAGE, "the loss needs at least one pair");
    if (attend_pairs_check(p) != ATTEND_OK || attend_sources_check(f->m, p->source_lengths, p->count) != ATTEND_OK)
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s", attend_message());
    if (c->status != ATTEND_OK) return false;
    int *lengths = attend_ctx_alloc(c, (size_t)p->count, sizeof *lengths);
    for (int i = 0; lengths && i < p->count; i++) lengths[i] = p->target_lengths[i] + 1;
    f->sources = lengths ? attend_ragged_new(c, p->count, p->source_lengths) : NULL;
    f->targets = f->sources ? attend_ragged_new(c, p->count, lengths) : NULL;
    const size_t rows = (size_t)attend_ragged_rows(f->targets);
    int *inputs = f->targets ? attend_ctx_alloc(c, 2 * rows, sizeof *inputs) : NULL;
    if (!inputs) return false;
    int *outputs = inputs + rows;
    const int *token = p->target;
    for (int i = 0, row = 0; i < p->count; i++) {
        inputs[row] = ATTEND_BEGIN;
        for (int t = 0; t < p->target_lengths[i]; t++, row++) outputs[row] = inputs[row + 1] = *token++;
        outputs[row++] = ATTEND_END;
    }
    f->inputs = inputs, f->outputs = outputs;
    return true;
}

/* ---- weights ---- */

static int source_length(const teacher_forcing *f, int b)
{
    return f->pairs->source_lengths[b];
}

/* Guided alignment trains the penultimate layer, whose weights align tokens best (Garg et al. 2019). */
static bool is_guided(const teacher_forcing *f, attend_attention_kind kind, int layer)
{
    const int layers = attend_config_attention_layers(&f->m->config, ATTEND_ATTENTION_CROSS);
    return f->options->guidance != 0 && f->pairs->link_count > 0 && kind == ATTEND_ATTENTION_CROSS &&
           layer == (layers > 1 ? layers - 2 : 0);
}

bool attend_teacher_forcing_needs_weights(const teacher_forcing *f, attend_attention_kind kind, int layer)
{
    return (f->options->weights && f->options->weights_kind == kind) || is_guided(f, kind, layer);
}

/* Copies weights (B, H, Tq, Tk), whose first query is token `first` of each sentence, to the caller's array. */
static void report_weights(const teacher_forcing *f, int layer, const attend_var *weights, int first)
{
    const attend_attention_kind kind = f->options->weights_kind;
    const size_t layers = (size_t)attend_config_attention_layers(&f->m->config, kind);
    const size_t heads = (size_t)weights->shape[1], queries = (size_t)weights->shape[2],
                 keys = (size_t)weights->shape[3];
    const attend_ragged *queries_of = kind == ATTEND_ATTENTION_ENCODER ? f->sources : f->targets;
    const attend_ragged *keys_of = kind == ATTEND_ATTENTION_DECODER ? f->targets : f->sources;
    real *to = f->options->weights;
    const real *from = attend_value(weights);
    for (int b = 0; from && b < f->pairs->count; b++) {
        const int rows = attend_ragged_length(queries_of, b);
        const size_t m = (size_t)attend_ragged_length(keys_of, b), map = (size_t)rows * m;
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < queries && first + (int)i < rows; i++)
                memcpy(to + ((size_t)layer * heads + h) * map + ((size_t)first + i) * m,
                       from + (((size_t)b * heads + h) * queries + i) * keys, m * sizeof *to);
        to += layers * heads * map;
    }
}

/* The links of target tokens [first, last) of a pair as a distribution over source tokens for each. */
static bool fill_expected(teacher_forcing *f, int b, int first, int last, size_t keys, real *expected)
{
    const attend_pairs *p = f->pairs;
    for (int i = 0; i < p->link_count; i++) {
        const attend_link l = p->links[i];
        if (l.pair - p->first_pair != b) continue;
        if (l.target < 0 || l.target >= p->target_lengths[b] || l.source < 0 || l.source >= source_length(f, b)) {
            attend_ctx_fail(
                f->c, ATTEND_BAD_DATA,
                "a link of pair %d joins target token %d and source token %d, but the pair has %d and %d tokens",
                l.pair, l.target, l.source, p->target_lengths[b], source_length(f, b));
            return false;
        }
        if (l.target >= first && l.target < last) expected[(size_t)(l.target - first) * keys + (size_t)l.source] = 1;
    }
    for (int i = first; i < last; i++) {
        real *row = expected + (size_t)(i - first) * keys, sum = 0;
        for (size_t j = 0; j < keys; j++) sum += row[j];
        for (size_t j = 0; sum > 1 && j < keys; j++) row[j] /= sum;
    }
    return true;
}

static void guide(teacher_forcing *f, attend_var *weights, int first)
{
    const int queries = weights->shape[2];
    const size_t keys = (size_t)weights->shape[3];
    const size_t size = (size_t)f->pairs->count * (size_t)queries * keys;
    real *expected = attend_ctx_alloc(f->c, size, sizeof *expected);
    if (expected && size) memset(expected, 0, size * sizeof *expected);
    for (int b = 0; expected && b < f->pairs->count; b++)
        if (!fill_expected(f, b, first, first + queries, keys, expected + (size_t)b * (size_t)queries * keys)) return;
    if (!expected) return;
    attend_var *loss = attend_alignment_loss(f->c, weights, expected, f->options->scale * f->options->guidance);
    f->guiding = f->guiding ? attend_add(f->c, f->guiding, loss) : loss;
}

void attend_teacher_forcing_weights(teacher_forcing *f, attend_attention_kind kind, int layer, attend_var *weights,
                                    int first)
{
    if (!weights) return;
    if (f->options->weights && f->options->weights_kind == kind) report_weights(f, layer, weights, first);
    if (is_guided(f, kind, layer)) guide(f, weights, first);
}

/* REINFORCE: the loss of each pair above the baseline. */
static void fill_advantage(const teacher_forcing *f, const real *nll)
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
    ATTEND_REQUIRE_IN(c, c && m && pairs && (!options || (unsigned)options->weights_kind <= ATTEND_ATTENTION_DECODER));
    static const attend_loss_options defaults = ATTEND_LOSS_OPTIONS_INIT;
    teacher_forcing f = { .c = c, .m = m, .pairs = pairs, .options = options ? options : &defaults };
    if (attend_ctx_status(c) != ATTEND_OK || !make_rows(&f)) return NULL;
    real *nll = f.options->nll;
    if (m->config.attention && m->config.selection == ATTEND_SELECT_HARD && m->config.estimator == ATTEND_REINFORCE) {
        f.advantage = attend_ctx_alloc(c, (size_t)pairs->count, sizeof *f.advantage);
        if (!nll) nll = attend_ctx_alloc(c, (size_t)attend_ragged_rows(f.targets), sizeof *nll);
        if (!f.advantage || !nll) return NULL;
    }
    attend_var *readout = m->architecture->teacher_forcing(&f);
    if (!readout) return NULL;
    attend_var *logits = attend_linear(c, readout, attend_parameter(c, m->output_w), attend_parameter(c, m->output_b));
    attend_var *loss = attend_cross_entropy(c, logits, f.outputs, f.options->label_smoothing, f.options->scale, nll);
    if (loss) fill_advantage(&f, nll);
    return f.guiding ? attend_add(c, loss, f.guiding) : loss;
}

/* ---- shared by the architectures ---- */

attend_var *attend_model_dropout(attend_ctx *c, const attend_model *m, attend_var *x, const attend_ragged *sentences)
{
    if (m->config.dropout == 0) return x;
    return m->config.dropout_along_time ? attend_dropout_shared(c, x, sentences, m->config.dropout)
                                        : attend_dropout(c, x, m->config.dropout);
}

attend_var *attend_model_embed(attend_ctx *c, const attend_model *m, attend_param *table, const int *tokens,
                               const attend_ragged *sentences)
{
    attend_var *x = attend_gather(c, attend_parameter(c, table), tokens, attend_ragged_rows(sentences));
    return attend_model_dropout(c, m, x, sentences);
}
