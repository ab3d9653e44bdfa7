/* validation.c: loss and score on the validation pairs, and their consequences. The loss is the cross-entropy of the
 * targets; metrics other than perplexity translate the sources greedily and compare texts. Chunks of a fixed number
 * of pairs run on threads and ranks and are added up in order, so that the result does not depend on their number. */
#include "train/training_run.h"

#include "core/memory.h"
#include "op/packed_weights.h"
#include "train/pair_block.h"
#include "train/team.h"
#include <attend/device.h>
#include <attend/search.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = 32 };

typedef struct chunk_result {
    double nll;
    uint64_t rows;
    attend_metric_sums sums;
    int status;
    char message[256];
} chunk_result;

typedef struct validation {
    training_run *run;
    attend_metric_options metric;
    bool translate;
    uint64_t pairs;
    int chunks, end; /* end: of the chunks that this rank runs */
    chunk_result *results;
    atomic_int next; /* chunk to run */
} validation;

static int chunk_read(const validation *v, int number, pair_block *p)
{
    const uint64_t first = (uint64_t)number * CHUNK, left = v->pairs - first;
    return attend_pair_block_read(p, v->run->valid, first, left < CHUNK ? (int)left : CHUNK);
}

/* Pairs from `first` on that take no more memory than a shard of training does. */
static int part_size(const validation *v, const attend_pairs *pairs, int first)
{
    int count = 0, tokens = 0;
    for (; first + count < pairs->count; count++) {
        tokens += pairs->source_lengths[first + count] + pairs->target_lengths[first + count] + 1;
        if (count > 0 && tokens > v->run->options.shard_tokens) break;
    }
    return count;
}

static int add_loss(const validation *v, attend_ctx *c, const pair_block *p, chunk_result *r)
{
    double log_probability[CHUNK];
    int status = ATTEND_OK;
    for (int first = 0, count; status == ATTEND_OK && first < p->pairs.count; first += count) {
        count = part_size(v, &p->pairs, first);
        const attend_pairs part = attend_pairs_slice(&p->pairs, first, count);
        status = attend_model_score(c, v->run->model, &part, log_probability, NULL, ATTEND_ATTENTION_CROSS, NULL);
        for (int i = 0; status == ATTEND_OK && i < count; i++) r->nll -= log_probability[i];
    }
    r->rows = (uint64_t)attend_pairs_rows(&p->pairs);
    return status;
}

/* Compares one translation with the text of the file. */
static int add_text(const validation *v, uint64_t number, const attend_translation *translation, attend_string *output,
                    chunk_result *r)
{
    attend_text_pair text;
    attend_string reference = { 0 }, room = { 0 };
    output->size = 0;
    int status = attend_corpus_text(v->run->valid, number, &room, &text);
    if (status == ATTEND_OK)
        status =
            attend_tokenizer_decode(v->run->tokenizers[ATTEND_TARGET], translation->tokens, translation->count, output);
    if (status == ATTEND_OK)
        status =
            attend_tokenizer_normalize(v->run->tokenizers[ATTEND_TARGET], text.target, text.target_size, &reference);
    const char *const references[1] = { reference.text ? reference.text : "" };
    if (status == ATTEND_OK)
        status = attend_metric_add(&v->metric, &r->sums, output->text ? output->text : "", references, 1);
    attend_string_free(&reference);
    attend_string_free(&room);
    return status;
}

static int add_translations(const validation *v, attend_ctx *c, int number, const pair_block *p, chunk_result *r)
{
    attend_search_options options = ATTEND_SEARCH_OPTIONS_INIT;
    attend_search_result *result = NULL;
    attend_string output = { 0 };
    options.beam = 1;
    int status =
        attend_search(&result, c, v->run->model, &options, p->pairs.count, p->pairs.source, p->pairs.source_lengths);
    /* Probabilities that are not finite: as if those of the target were not. A fault of the device stays an error. */
    if (status == ATTEND_FAILED && attend_device_check() == ATTEND_OK) {
        r->nll = NAN;
        return ATTEND_OK;
    }
    for (int i = 0; status == ATTEND_OK && i < p->pairs.count; i++)
        status = add_text(v, (uint64_t)number * CHUNK + (uint64_t)i, attend_search_result_at(result, i, 0), &output, r);
    attend_string_free(&output);
    attend_search_result_free(result);
    return status;
}

/* One thread, with its own context: one chunk after another. Threads that find none help with the others' operations. */
static void run_worker(void *user, int worker)
{
    validation *v = user;
    attend_ctx *c = v->run->team->contexts[worker];
    for (int i; (i = atomic_fetch_add(&v->next, 1)) < v->end;) {
        pair_block p;
        chunk_result *r = &v->results[i];
        r->status = chunk_read(v, i, &p);
        if (r->status == ATTEND_OK) r->status = add_loss(v, c, &p, r);
        if (r->status == ATTEND_OK && v->translate && isfinite(r->nll)) r->status = add_translations(v, c, i, &p, r);
        if (r->status != ATTEND_OK) snprintf(r->message, sizeof r->message, "%s", attend_message());
        attend_pair_block_free(&p);
    }
}

static attend_metric_kind kind_of(attend_valid_metric metric)
{
    switch (metric) {
    case ATTEND_VALID_BLEU:
        return ATTEND_BLEU;
    case ATTEND_VALID_CHRF:
        return ATTEND_CHRF;
    case ATTEND_VALID_WER:
        return ATTEND_WER;
    case ATTEND_VALID_CER:
        return ATTEND_CER;
    case ATTEND_VALID_LINE_ERROR:
        return ATTEND_LINE_ERROR;
    case ATTEND_VALID_EXACT:
        return ATTEND_EXACT;
    default:
        return ATTEND_TOKEN_ACCURACY;
    }
}

/* The chunks are divided among ranks. */
static int first_chunk(const validation *v, int ranks, int rank)
{
    return (int)((int64_t)v->chunks * rank / ranks);
}

static int exchange_results(validation *v, attend_ranks *ranks)
{
    const int count = attend_ranks_count(ranks);
    if (count == 1) return ATTEND_OK;
    size_t *offsets = attend_memory_zeroed((size_t)count + 1, sizeof *offsets);
    if (!offsets) return attend_fail(ATTEND_NO_MEMORY, "no memory to validate %d chunks", v->chunks);
    for (int r = 0; r <= count; r++) offsets[r] = (size_t)first_chunk(v, count, r) * sizeof *v->results;
    const int status = attend_ranks_all_gather(ranks, v->results, offsets);
    attend_memory_free(offsets);
    return status;
}

int attend_training_measure(training_run *run, double *loss, double *score)
{
    validation v = { .run = run,
                     .metric = { .kind = kind_of(run->options.valid_metric) },
                     .translate = run->options.valid_metric != ATTEND_VALID_LOSS,
                     .pairs = attend_corpus_count(run->valid).pairs };
    v.chunks = (int)((v.pairs + CHUNK - 1) / CHUNK);
    v.results = attend_memory_zeroed((size_t)v.chunks, sizeof *v.results);
    if (!v.results) return attend_fail(ATTEND_NO_MEMORY, "no memory to validate %d chunks", v.chunks);
    attend_pool *pool = run->team->pool;
    attend_params_repack(attend_model_params(run->model), pool);
    const int ranks = attend_ranks_count(run->options.ranks), rank = attend_ranks_rank(run->options.ranks);
    const int first = first_chunk(&v, ranks, rank);
    v.end = first_chunk(&v, ranks, rank + 1);
    atomic_store(&v.next, first);
    const int own = v.end - first;
    if (own > 0)
        attend_pool_run(pool, attend_pool_threads(pool) < own ? attend_pool_threads(pool) : own, run_worker, &v);
    double nll = 0, rows = 0;
    attend_metric_sums sums = { { 0 } };
    int status = exchange_results(&v, run->options.ranks);
    for (int i = 0; status == ATTEND_OK && i < v.chunks; i++) {
        const chunk_result *r = &v.results[i];
        if (r->status != ATTEND_OK) status = attend_fail(r->status, "%s", r->message);
        nll += r->nll, rows += (double)r->rows;
        for (int k = 0; k < ATTEND_METRIC_NUMBERS; k++) sums.n[k] += r->sums.n[k];
    }
    attend_memory_free(v.results);
    *loss = nll / rows;
    if (!isfinite(*loss))
        *score = NAN; /* some sources were not translated */
    else
        *score = v.translate ? attend_metric_score(&v.metric, &sums) : exp(*loss);
    return status;
}

bool attend_training_is_better(const training_run *run, double score)
{
    const attend_valid_metric metric = run->options.valid_metric;
    const bool lower_is_better = metric == ATTEND_VALID_LOSS || !attend_metric_higher_is_better(kind_of(metric));
    return isnan(run->state.best) || (lower_is_better ? score < run->state.best : score > run->state.best);
}

static int log_result(training_run *run, double loss, double score, bool better)
{
    attend_json_writer w = attend_training_log_begin(&run->log, run->state.update);
    attend_json_put_key(&w, "valid_loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "valid_perplexity"), attend_json_put_number(&w, 4, exp(loss));
    attend_json_put_key(&w, "valid_score"), attend_json_put_number(&w, 4, score);
    attend_json_put_key(&w, "better"), attend_json_put_bool(&w, better);
    return attend_training_log_end(&run->log, &w);
}

static int reduce_rate_on_plateau(training_run *run)
{
    training_state *s = &run->state;
    const attend_schedule *schedule = &run->options.schedule;
    if (schedule->kind != ATTEND_SCHEDULE_PLATEAU || ++s->validations_since_reduction < schedule->patience)
        return ATTEND_OK;
    const double before = attend_schedule_rate(schedule, s->update + 1, s->rate_reductions);
    s->rate_reductions++, s->validations_since_reduction = 0;
    const double rate = attend_schedule_rate(schedule, s->update + 1, s->rate_reductions);
    if (rate == before) return ATTEND_OK; /* the minimum */
    attend_training_notice(run, "update %llu: no better model for %d validations; the learning rate is now %.3g",
                           (unsigned long long)s->update, schedule->patience, s->rate_factor * rate);
    attend_json_writer w = attend_training_log_begin(&run->log, s->update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "learning rate reduced");
    attend_json_put_key(&w, "rate"), attend_json_put_short(&w, 6, s->rate_factor * rate);
    return attend_training_log_end(&run->log, &w);
}

int attend_training_validate(training_run *run, bool *better, bool *diverged)
{
    training_state *s = &run->state;
    double loss = 0, score = 0;
    *diverged = false;
    const double start = attend_training_time();
    int status = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK) status = attend_training_measure(run, &loss, &score);
    const int restored = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK) status = restored;
    run->clock.validation_seconds += attend_training_time() - start;
    if (status != ATTEND_OK) return status;
    s->valid_loss = loss, s->valid_score = score;
    *better = isfinite(score) && attend_training_is_better(run, score);
    status = log_result(run, loss, score, *better);
    if (*better) {
        s->best = score, s->best_update = s->update;
        s->validations_since_best = s->validations_since_reduction = 0;
        return status == ATTEND_OK ? attend_training_save_model(run, "") : status;
    }
    *diverged = !isfinite(loss);
    if (*diverged) return status;
    s->validations_since_best++;
    return status == ATTEND_OK ? reduce_rate_on_plateau(run) : status;
}
