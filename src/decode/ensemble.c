#include "decode/ensemble.h"

#include "core/memory.h"
#include "core/status.h"
#include <math.h>

typedef attend_real real;

void attend_ensemble_free(attend_ensemble *v)
{
    for (int i = 0; v->decodings && i < v->count; i++) attend_decoding_free(v->decodings[i]);
    attend_memory_free(v->decodings);
    attend_memory_free(v->log_p);
    attend_memory_free(v->row);
    *v = (attend_ensemble){ 0 };
}

static int check(const attend_model *const *models, int count)
{
    const attend_config *first = attend_model_config(models[0]);
    for (int i = 1; i < count; i++) {
        const attend_config *other = attend_model_config(models[i]);
        if (other->task != first->task)
            return attend_fail(ATTEND_BAD_USAGE, "model %d is %s and model 1 is %s: they cannot search together", i + 1,
                               other->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model" : "for translation",
                               first->task == ATTEND_TASK_LANGUAGE_MODEL ? "a language model" : "for translation");
        if (other->source_vocab != first->source_vocab || other->target_vocab != first->target_vocab)
            return attend_fail(ATTEND_BAD_USAGE,
                               "model %d has %d source and %d target words, and model 1 has %d and %d; models that "
                               "search together must share their vocabularies",
                               i + 1, other->source_vocab, other->target_vocab, first->source_vocab,
                               first->target_vocab);
    }
    return ATTEND_OK;
}

int attend_ensemble_new(attend_ensemble *v, attend_ctx *const *contexts, const attend_model *const *models,
                        int model_count, int count, const int *source, const int *lengths)
{
    if (model_count < 1) return attend_fail(ATTEND_BAD_USAGE, "a search needs a model, and there are %d", model_count);
    int status = check(models, model_count);
    if (status != ATTEND_OK) return status;
    v->models = models, v->count = model_count;
    v->vocabulary = attend_model_config(models[0])->target_vocab;
    v->decodings = attend_memory_zeroed((size_t)model_count, sizeof *v->decodings);
    v->log_p = attend_memory_zeroed((size_t)model_count, sizeof *v->log_p);
    if (model_count > 1) v->row = attend_memory_zeroed((size_t)v->vocabulary, sizeof *v->row);
    if (!v->decodings || !v->log_p || (model_count > 1 && !v->row))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d models", model_count);
    for (int i = 0; status == ATTEND_OK && i < model_count; i++) {
        v->attending += attend_config_attention_layers(attend_model_config(models[i]), ATTEND_ATTENTION_CROSS) > 0;
        status = attend_decoding_new(&v->decodings[i], contexts[i], models[i], count, source, lengths);
    }
    return status;
}

int attend_ensemble_keep_best(attend_ensemble *v, int most, bool shortlist)
{
    enum { A_FEW = 32 }; /* what attend_decoding_set_top_k keeps at most */
    int status = ATTEND_OK;
    if (v->count > 1 || most > A_FEW) return ATTEND_OK;
    if (shortlist) status = attend_decoding_use_shortlist(v->decodings[0]);
    if (status == ATTEND_OK) status = attend_decoding_set_top_k(v->decodings[0], most);
    if (status == ATTEND_OK) v->keep = most;
    return status;
}

int attend_ensemble_step(attend_ensemble *v, const int *counts, const int *parents, const int *words)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < v->count; i++) {
        status = attend_decoding_step(v->decodings[i], counts, parents, words);
        v->log_p[i] = attend_decoding_log_probabilities(v->decodings[i]);
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

/* The mean at a place. Equal models give what one gives, to the bit: the mean of ones is 1. */
static real mean_at(const attend_ensemble *v, size_t at)
{
    real most = v->log_p[0][at], sum = 0;
    if (v->count == 1) return most;
    for (int i = 1; i < v->count; i++)
        if (v->log_p[i][at] > most) most = v->log_p[i][at];
    if (most == -INFINITY) return most;
    for (int i = 0; i < v->count; i++) sum += exp_of(v->log_p[i][at] - most);
    return most + log_of(sum / (real)v->count);
}

const real *attend_ensemble_best(const attend_ensemble *v, int hypothesis, int *count, const int **words)
{
    return attend_decoding_top_k(v->decodings[0], hypothesis, count, words);
}

real attend_ensemble_end(const attend_ensemble *v, int hypothesis)
{
    return v->count == 1 ? attend_decoding_end_log_probability(v->decodings[0], hypothesis)
                         : attend_ensemble_token(v, hypothesis, ATTEND_END);
}

const real *attend_ensemble_log_probabilities(const attend_ensemble *v, int hypothesis)
{
    const size_t first = (size_t)hypothesis * (size_t)v->vocabulary;
    if (v->count == 1) return v->log_p[0] + first;
    for (int i = 0; i < v->vocabulary; i++) v->row[i] = mean_at(v, first + (size_t)i);
    return v->row;
}

real attend_ensemble_token(const attend_ensemble *v, int hypothesis, int word)
{
    return mean_at(v, (size_t)hypothesis * (size_t)v->vocabulary + (size_t)word);
}

/* ---- attention ---- */

void attend_ensemble_weights(const attend_ensemble *v, int hypothesis, int length, real *sums)
{
    for (int i = 0; i < v->count; i++) {
        const attend_config *config = attend_model_config(v->models[i]);
        const attend_alignment a = attend_model_alignment(v->models[i]);
        const real share = (real)(attend_alignment_map_count(a, config) * v->attending);
        for (int l = 0; l < attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS); l++)
            for (int h = 0; h < attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS); h++) {
                const real *w =
                    attend_alignment_includes(a, l, h) ? attend_decoding_weights(v->decodings[i], hypothesis, l, h) : NULL;
                for (int j = 0; w && j < length; j++) sums[j] += w[j] / share;
            }
    }
}
