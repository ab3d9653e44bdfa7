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

/* Guided alignment trains the alignment head or, without one, the penultimate layer, whose weights align tokens best
 * (Garg et al. 2019). */
static int guided_layer(const attend_config *c)
{
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS);
    return c->alignment_head ? layers - 1 : layers > 1 ? layers - 2 : 0;
}

static bool is_guided(const teacher_forcing *f, attend_attention_kind kind, int layer)
{
    return f->options->guidance != 0 && f->pairs->link_count > 0 && kind == ATTEND_ATTENTION_CROSS &&
           layer == guided_layer(&f->m->config);
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

/* The links of a pair as a distribution over its source tokens for each of the rows [first, last). Row i aligns target
 * token i - shift. With has_null, a token without a link is aligned with the source's end, unless no token of the pair
 * has a link. */
typedef struct expected_rows {
    int first, last, shift;
    bool has_null;
    size_t keys;
} expected_rows;

static bool has_valid_tokens(const teacher_forcing *f, attend_link l, int b)
{
    const attend_pairs *p = f->pairs;
    if (l.target >= 0 && l.target < p->target_lengths[b] && l.source >= 0 && l.source < source_length(f, b))
        return true;
    attend_ctx_fail(f->c, ATTEND_BAD_DATA,
                    "a link of pair %d joins target token %d and source token %d, but the pair has %d and %d tokens",
                    l.pair, l.target, l.source, p->target_lengths[b], source_length(f, b));
    return false;
}

/* Divides a row by its sum. Returns whether it has any link. */
static bool normalize_row(real *row, size_t keys)
{
    real sum = 0;
    for (size_t j = 0; j < keys; j++) sum += row[j];
    for (size_t j = 0; sum > 1 && j < keys; j++) row[j] /= sum;
    return sum > 0;
}

/* links: `count` of them, of pair b. */
static bool fill_expected(teacher_forcing *f, const expected_rows *e, int b, const attend_link *links, int count,
                          real *expected)
{
    for (int i = 0; i < count; i++) {
        const int row = links[i].target + e->shift;
        if (!has_valid_tokens(f, links[i], b)) return false;
        if (row >= e->first && row < e->last)
            expected[(size_t)(row - e->first) * e->keys + (size_t)links[i].source] = 1;
    }
    const int end = source_length(f, b) - 1, rows = f->pairs->target_lengths[b] + e->shift;
    for (int i = e->first; i < e->last; i++) {
        real *row = expected + (size_t)(i - e->first) * e->keys;
        const bool has_token = i >= e->shift && i < rows;
        if (!normalize_row(row, e->keys) && has_token && e->has_null && count > 0 && end >= 0) row[end] = 1;
    }
    return true;
}

static void guide(teacher_forcing *f, attend_var *weights, int first)
{
    const attend_pairs *p = f->pairs;
    const bool has_head = f->m->config.alignment_head;
    const expected_rows e = { .first = first,
                              .last = first + weights->shape[2],
                              .shift = has_head ? 1 : 0,
                              .has_null = has_head,
                              .keys = (size_t)weights->shape[3] };
    const size_t area = (size_t)weights->shape[2] * e.keys, size = (size_t)p->count * area;
    real *expected = attend_ctx_alloc(f->c, size, sizeof *expected);
    if (!expected) return;
    if (size) memset(expected, 0, size * sizeof *expected);
    for (int b = 0, next = 0; b < p->count; b++) { /* links are sorted by pair */
        const int begin = next;
        while (next < p->link_count && p->links[next].pair - p->first_pair == b) next++;
        if (!fill_expected(f, &e, b, p->links + begin, next - begin, expected + (size_t)b * area)) return;
    }
    attend_var *loss = attend_alignment_loss(f->c, weights, expected, f->options->scale * f->options->guidance);
    f->guiding = f->guiding ? attend_add(f->c, f->guiding, loss) : loss;
}

void attend_teacher_forcing_align(teacher_forcing *f, attend_var *memory, attend_var *rows)
{
    const int layer = attend_config_alignment_layer(&f->m->config);
    if (layer < 0 || !rows || !attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, layer)) return;
    const attend_source *source = attend_alignment_head_source(f->c, f->m, memory, f->sources);
    attend_var *weights = source ? attend_alignment_head_weights(f->c, f->m, source, rows, f->targets) : NULL;
    attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, layer, weights, 0);
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
