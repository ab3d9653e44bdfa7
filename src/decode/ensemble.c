#include "decode/ensemble.h"

#include "core/memory.h"
#include "core/status.h"
#include "model/model.h"
#include <math.h>

typedef attend_real real;

void attend_ensemble_free(attend_ensemble *e)
{
    for (int i = 0; e->decodings && i < e->count; i++) attend_decoding_free(e->decodings[i]);
    attend_memory_free(e->decodings);
    attend_memory_free(e->log_p);
    attend_memory_free(e->row);
    *e = (attend_ensemble){ 0 };
}

static int check(const attend_model *const *models, int count)
{
    const attend_config *first = attend_model_config(models[0]);
    for (int i = 1; i < count; i++) {
        const attend_config *other = attend_model_config(models[i]);
        if (other->task != first->task)
            return attend_fail(ATTEND_BAD_USAGE, "model %d is %s and model 1 is %s: they cannot form an ensemble",
                               i + 1,
                               other->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model" : "a translation model",
                               first->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model" : "a translation model");
        if (other->source_vocab != first->source_vocab || other->target_vocab != first->target_vocab)
            return attend_fail(
                ATTEND_BAD_USAGE,
                "model %d has %d source and %d target tokens, and model 1 has %d and %d; the models of an "
                "ensemble must have the same vocabularies",
                i + 1, other->source_vocab, other->target_vocab, first->source_vocab, first->target_vocab);
    }
    return ATTEND_OK;
}

int attend_ensemble_new(attend_ensemble *e, attend_ctx *const *contexts, const attend_model *const *models,
                        int model_count, int count, const int *source, const int *lengths)
{
    if (model_count < 1)
        return attend_fail(ATTEND_BAD_USAGE, "a search needs at least one model; %d given", model_count);
    int status = check(models, model_count);
    if (status != ATTEND_OK) return status;
    e->models = models, e->count = model_count;
    e->vocabulary = attend_model_config(models[0])->target_vocab;
    e->decodings = attend_memory_zeroed((size_t)model_count, sizeof *e->decodings);
    e->log_p = attend_memory_zeroed((size_t)model_count, sizeof *e->log_p);
    if (model_count > 1) e->row = attend_memory_zeroed((size_t)e->vocabulary, sizeof *e->row);
    if (!e->decodings || !e->log_p || (model_count > 1 && !e->row))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d models", model_count);
    for (int i = 0; status == ATTEND_OK && i < model_count; i++) {
        e->attending += attend_config_attention_layers(attend_model_config(models[i]), ATTEND_ATTENTION_CROSS) > 0;
        status = attend_decoding_new(&e->decodings[i], contexts[i], models[i], count, source, lengths);
    }
    return status;
}

void attend_ensemble_omit_weights(attend_ensemble *e)
{
    for (int i = 0; i < e->count; i++) attend_decoding_omit_weights(e->decodings[i]);
}

int attend_ensemble_keep_best(attend_ensemble *e, int max, bool shortlist)
{
    int status = ATTEND_OK;
    if (e->count > 1 || max > ATTEND_MAX_TOP_K) return ATTEND_OK;
    if (shortlist) status = attend_decoding_use_shortlist(e->decodings[0]);
    if (status == ATTEND_OK) status = attend_decoding_set_top_k(e->decodings[0], max);
    if (status == ATTEND_OK) e->keep = max;
    return status;
}

int attend_ensemble_step(attend_ensemble *e, const int *counts, const int *parents, const int *tokens)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < e->count; i++) {
        status = attend_decoding_step(e->decodings[i], counts, parents, tokens);
        e->log_p[i] = attend_decoding_log_probabilities(e->decodings[i]);
    }
    return status;
}

/* ---- probabilities ---- */

static real exp_of(real x)
{
    return sizeof(real) == sizeof(float) ? (real)expf((float)x) : (real)exp((double)x);
}

static real log_of(real x)
{
    return sizeof(real) == sizeof(float) ? (real)logf((float)x) : (real)log((double)x);
}

/* log of the mean of the models' p at an index. The maximum is factored out, so that equal models give exactly the
 * result of one: the mean of exp(0) is 1. */
static real mean_at(const attend_ensemble *e, size_t at)
{
    real max = e->log_p[0][at], sum = 0;
    if (e->count == 1) return max;
    for (int i = 1; i < e->count; i++)
        if (e->log_p[i][at] > max) max = e->log_p[i][at];
    if (max == -INFINITY) return max;
    for (int i = 0; i < e->count; i++) sum += exp_of(e->log_p[i][at] - max);
    return max + log_of(sum / (real)e->count);
}

const real *attend_ensemble_best(const attend_ensemble *e, int hypothesis, int *count, const int **tokens)
{
    return attend_decoding_top_k(e->decodings[0], hypothesis, count, tokens);
}

real attend_ensemble_end(const attend_ensemble *e, int hypothesis)
{
    return e->count == 1 ? attend_decoding_end_log_probability(e->decodings[0], hypothesis)
                         : attend_ensemble_token(e, hypothesis, ATTEND_END);
}

const real *attend_ensemble_log_probabilities(const attend_ensemble *e, int hypothesis)
{
    const size_t first = (size_t)hypothesis * (size_t)e->vocabulary;
    if (e->count == 1) return e->log_p[0] + first;
    for (int i = 0; i < e->vocabulary; i++) e->row[i] = mean_at(e, first + (size_t)i);
    return e->row;
}

real attend_ensemble_token(const attend_ensemble *e, int hypothesis, int token)
{
    return mean_at(e, (size_t)hypothesis * (size_t)e->vocabulary + (size_t)token);
}

int attend_ensemble_status(const attend_ensemble *e)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < e->count; i++) status = attend_decoding_status(e->decodings[i]);
    return status;
}

/* ---- attention ---- */

void attend_ensemble_weights(const attend_ensemble *e, int hypothesis, int length, bool shifted, real *sums)
{
    for (int i = 0; i < e->count; i++) {
        const attend_config *config = attend_model_config(e->models[i]);
        const attend_alignment a = attend_model_alignment(e->models[i]);
        if (a.shifted != shifted) continue;
        const real share = (real)(attend_alignment_map_count(a, config) * e->attending);
        for (int l = 0; l < attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS); l++)
            for (int h = 0; h < attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS); h++) {
                const real *w = attend_alignment_includes(a, config, l, h)
                                    ? attend_decoding_weights(e->decodings[i], hypothesis, l, h)
                                    : NULL;
                for (int j = 0; w && j < length; j++) sums[j] += w[j] / share;
            }
    }
}
