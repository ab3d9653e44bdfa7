/* scoring.c: the probability of given targets: the loss without recording, a part of the pairs at a time. */
#include "model/model.h"
#include "core/memory.h"
#include "core/status.h"
#include <math.h>

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

/* Scores with one model. */
static int score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                 real *row_log_probability, attend_attention_kind kind, real *weights)
{
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

/* ---- ensembles ---- */

/* log of the mean of the members' p of a row; `rows` apart. */
static double mean_log_p(const real *log_p, int members, size_t rows)
{
    double max = (double)log_p[0], sum = 0;
    for (int k = 1; k < members; k++) max = fmax(max, (double)log_p[(size_t)k * rows]);
    if (!isfinite(max)) return max;
    for (int k = 0; k < members; k++) sum += exp((double)log_p[(size_t)k * rows] - max);
    return max + log(sum / members);
}

/* log_p: (members, rows), for the probabilities of each member; own: for its weights, NULL: not needed. */
static int score_members(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, real *log_p, size_t rows,
                         attend_attention_kind kind, real *own, real *weights)
{
    const int members = attend_model_member_count(m);
    const size_t count = own ? attend_pairs_weight_count(pairs, &m->config, kind) : 0;
    int status = ATTEND_OK;
    for (size_t i = 0; i < count; i++) weights[i] = 0;
    for (int k = 0; status == ATTEND_OK && k < members; k++) {
        status = score(c, attend_model_member(m, k), pairs, NULL, log_p + (size_t)k * rows, kind, own);
        for (size_t i = 0; i < count; i++) weights[i] += own[i] / (real)members;
    }
    return status;
}

static int score_ensemble(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                          real *row_log_probability, attend_attention_kind kind, real *weights)
{
    const int members = attend_model_member_count(m);
    const size_t rows = (size_t)attend_pairs_rows(pairs);
    real *log_p = attend_memory_zeroed((size_t)members * rows + 1, sizeof *log_p);
    real *own =
        weights ? attend_memory_zeroed(attend_pairs_weight_count(pairs, &m->config, kind) + 1, sizeof *own) : NULL;
    int status = log_p && (own || !weights)
                     ? score_members(c, m, pairs, log_p, rows, kind, own, weights)
                     : attend_fail(ATTEND_NO_MEMORY, "no memory to score %d pairs", pairs->count);
    size_t row = 0;
    for (int i = 0; status == ATTEND_OK && i < pairs->count; i++) {
        double sum = 0;
        for (int t = 0; t <= pairs->target_lengths[i]; t++, row++) {
            const double x = mean_log_p(log_p + row, members, rows);
            sum += x;
            if (row_log_probability) row_log_probability[row] = (real)x;
        }
        if (log_probability) log_probability[i] = sum;
    }
    attend_memory_free(log_p);
    attend_memory_free(own);
    return status;
}

int attend_model_score(attend_ctx *c, const attend_model *m, const attend_pairs *pairs, double *log_probability,
                       real *row_log_probability, attend_attention_kind kind, real *weights)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c && m && pairs && (unsigned)kind <= ATTEND_ATTENTION_DECODER);
    const int status = attend_pairs_check(pairs);
    if (status != ATTEND_OK) return status;
    return attend_model_member_count(m) > 1
               ? score_ensemble(c, m, pairs, log_probability, row_log_probability, kind, weights)
               : score(c, m, pairs, log_probability, row_log_probability, kind, weights);
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
           (weights ? (ARENA_GROWTH + (attend_model_member_count(m) > 1 ? 2 : 1)) * maps * source * rows * sizeof(real)
                    : 0); /* on the tape, and collected */
}
