/* scoring.c: the probability of given targets: the loss without recording, a part of the pairs at a time. */
#include "model/model.h"
#include "core/status.h"

/* The size of a part: enough rows to run at full speed, but little memory. */
enum { PART_LOGITS = 16 << 20, PART_NUMBERS = 32 << 20, NUMBERS_PER_ROW = 32 /* times the width, in every layer */ };

/* Activations of one row of a source or target. */
static int64_t numbers_per_row(const attend_config *o)
{
    return NUMBERS_PER_ROW * (int64_t)o->hidden * (o->layers + o->decoder_layers);
}

/* The number of pairs in the part that begins with `first`, limited by the logits of target rows and by the activations
 * of all rows. */
static int part_size(const attend_model *m, const attend_pairs *pairs, int first)
{
    const attend_config *o = &m->config;
    const int64_t logits = PART_LOGITS / o->target_vocab, rows = PART_NUMBERS / numbers_per_row(o);
    int64_t targets = 0, both = 0;
    int count = 0;
    for (; first + count < pairs->count; count++) {
        targets += (int64_t)pairs->target_lengths[first + count] + 1;
        both += (int64_t)pairs->target_lengths[first + count] + 1 + pairs->source_lengths[first + count];
        if (count > 0 && (targets > logits || both > rows)) break;
    }
    return count;
}

int attend_model_score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                       real *row_log_probability, attend_attention_kind kind, real *weights)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c && m && pairs && (unsigned)kind <= ATTEND_ATTENTION_DECODER);
    const int checked = attend_pairs_check(pairs);
    if (checked != ATTEND_OK) return checked;
    attend_ctx_set_recording(c, false);
    attend_ctx_set_training(c, false);
    for (int first = 0, count; first < pairs->count; first += count) {
        count = part_size(m, pairs, first);
        attend_pairs part = attend_pairs_slice(pairs, first, count);
        part.link_count = 0;
        attend_ctx_reset(c);
        const int rows = attend_pairs_rows(&part);
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        options.nll = attend_ctx_alloc(c, (size_t)rows, sizeof *options.nll);
        options.weights = weights, options.weights_kind = kind;
        if (!attend_model_loss(c, m, &part, &options)) return attend_fail(c->status, "%s", c->message);
        for (int i = 0, row = 0; i < count; i++) {
            double sum = 0;
            for (int t = 0; t <= part.target_lengths[i]; t++, row++) {
                sum -= (double)options.nll[row];
                if (row_log_probability) *row_log_probability++ = -options.nll[row];
            }
            if (log_probability) log_probability[first + i] = sum;
        }
        if (weights) weights += attend_pairs_weight_count(&part, &m->config, kind);
    }
    return ATTEND_OK;
}

/* ---- estimates of memory ---- */

enum { ARENA_GROWTH = 2 }; /* an arena doubles, so that up to half of it may be unused */

double attend_model_bytes(const attend_model *m)
{
    enum { COPIES = 3 }; /* the weights, and two packed copies */
    return COPIES * (double)attend_params_size(m->params) * sizeof(real);
}

double attend_model_row_bytes(const attend_model *m)
{
    return ARENA_GROWTH * (double)numbers_per_row(&m->config) * sizeof(real);
}

double attend_model_score_bytes(const attend_model *m, int source, int target, bool weights)
{
    const attend_config *o = &m->config;
    const double rows = target + 1.0, maps = attend_config_attention_layers(o, ATTEND_ATTENTION_CROSS) *
                                             (double)attend_config_attention_heads(o, ATTEND_ATTENTION_CROSS);
    const double logits = ARENA_GROWTH * rows * o->target_vocab * sizeof(real);
    return logits + (source + rows) * attend_model_row_bytes(m) +
           (weights ? (ARENA_GROWTH + 1) * maps * source * rows * sizeof(real) : 0); /* on the tape, and collected */
}
