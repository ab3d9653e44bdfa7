/* translator.c: creates translators and runs them. */
#include "decode/translator.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/tape.h"
#include "decode/ensemble_check.h"
#include "decode/search.h"
#include "decode/word_links.h"
#include "model/model.h"

/* ---- creating ---- */

static int check_options(const attend_translator_options *o)
{
    if (!attend_unit_name(o->unit)) return attend_fail(ATTEND_BAD_USAGE, "there is no unit number %d", (int)o->unit);
    if (o->threads >= 1 && o->threads <= 1024 && o->batch_tokens >= 1 && o->max_tokens >= 1)
        return attend_search_check_options(&o->search);
    return attend_fail(ATTEND_BAD_USAGE,
                       "invalid options: threads %d (1 to 1024), batch_tokens %d and max_tokens %d (at least 1)",
                       o->threads, o->batch_tokens, o->max_tokens);
}

static int check(const attend_model *const *models, int count, const attend_translator_options *o)
{
    bool has_attention = false;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "a translator needs at least one model; %d given", count);
    const int status = check_options(o);
    if (status != ATTEND_OK) return status;
    const attend_task task = attend_model_config(models[0])->task;
    for (int i = 0; i < count; i++) {
        const attend_config *config = attend_model_config(models[i]);
        has_attention |= attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
        if (config->task != task)
            return attend_fail(ATTEND_BAD_USAGE,
                               "an ensemble cannot contain both a language model and a translation model");
    }
    if (task == ATTEND_TASK_LANGUAGE_MODEL && (o->replace_unknown || o->search.shortlist))
        return attend_fail(ATTEND_BAD_USAGE,
                           "replacing unknown words and shortlists need a source, and a language model has none");
    if (!has_attention && o->replace_unknown)
        return attend_fail(ATTEND_BAD_USAGE, "replacing unknown words needs attention, and the model has none");
    return attend_models_check_ensemble(models, count);
}

/* One position of a model is taken by the end of a source, or the beginning of a target. */
static void limit_tokens(translator_setup *s, const attend_model *m)
{
    for (int side = 0; side < 2; side++) {
        const int max = attend_config_max_tokens(attend_model_config(m), side) - 1;
        if (max < s->max_tokens[side]) s->max_tokens[side] = max;
    }
}

/* Divides the memory limit. If the usual batches are larger than the share of a thread, fewer threads have larger
 * shares. */
static int limit_memory(translator_setup *s, int *threads)
{
    enum { USUAL = 25, MIN_BATCH = 200 }; /* tokens of a line, and of the least batch that is not slow */
    int status = attend_memory_limit_set(&s->limit, s->o.memory, s->models, s->model_count, *threads);
    const double line = attend_search_estimate(&s->o.search, s->models, s->model_count, USUAL, 0).work;
    while (status == ATTEND_OK && *threads > 1 && s->limit.share < line * MIN_BATCH / USUAL)
        status = attend_memory_limit_set(&s->limit, s->o.memory, s->models, s->model_count, --*threads);
    return status;
}

int attend_translator_setup_new(translator_setup *s, const attend_model *const *models, int model_count,
                                const attend_translator_options *options, int *threads)
{
    int count = 0;
    for (int i = 0; i < model_count; i++) count += attend_model_member_count(models[i]);
    s->models = attend_memory_zeroed((size_t)count + ATTEND_MAX_MEMBERS, sizeof *s->models);
    if (!s->models) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    for (int i = 0; i < model_count; i++)
        s->model_count += attend_model_list_members(models[i], s->models + s->model_count);
    int status = check(s->models, s->model_count, options);
    if (status != ATTEND_OK) return status;
    s->o = *options;
    s->max_tokens[0] = s->max_tokens[1] = s->o.max_tokens;
    s->has_null = true;
    for (int i = 0; i < s->model_count; i++) {
        const attend_model *m = s->models[i];
        limit_tokens(s, m);
        s->has_null &= attend_alignment_has_null(attend_model_alignment(m), attend_model_config(m));
    }
    s->is_language_model = attend_model_config(models[0])->task == ATTEND_TASK_LANGUAGE_MODEL;
    return limit_memory(s, threads);
}

void attend_translator_setup_finish(translator_setup *s, const attend_pipeline sides[2])
{
    if (attend_tokenizer_kind(sides[ATTEND_TARGET].tokenizer) != ATTEND_TOKENS_WORD)
        s->o.replace_unknown = false; /* no token is unknown */
    if (s->o.replace_unknown) s->o.search.weights = true;
}

void attend_translator_setup_free(translator_setup *s)
{
    attend_memory_free(s->models);
}

static int fill(attend_translator *t)
{
    const size_t contexts = (size_t)t->threads * (size_t)t->setup.model_count;
    t->contexts = attend_memory_zeroed(contexts, sizeof *t->contexts);
    if (!t->contexts) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    int status = attend_pipelines_from_model(t->sides, t->setup.models[0]);
    attend_pipelines_set_unit(t->sides, t->setup.o.unit);
    if (status == ATTEND_OK) status = attend_pool_new(&t->pool, t->threads);
    for (size_t i = 0; status == ATTEND_OK && i < contexts; i++) {
        status = attend_ctx_new(&t->contexts[i]);
        if (status == ATTEND_OK) status = attend_ctx_set_compute(t->contexts[i], t->setup.o.compute);
        if (status == ATTEND_OK) attend_ctx_set_pool(t->contexts[i], t->pool);
    }
    return status;
}

int attend_translator_new_ensemble(attend_translator **out, const attend_model *const *models, int model_count,
                                   const attend_translator_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && models && options);
    *out = NULL;
    attend_translator *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    t->threads = options->threads;
    int status = attend_translator_setup_new(&t->setup, models, model_count, options, &t->threads);
    if (status == ATTEND_OK) status = fill(t);
    if (status != ATTEND_OK) {
        attend_translator_free(t);
        return status;
    }
    attend_translator_setup_finish(&t->setup, t->sides);
    *out = t;
    return ATTEND_OK;
}

int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && m && options);
    return attend_translator_new_ensemble(out, &m, 1, options);
}

/* Frees the results of the last run; most memory is kept for the next. */
static void clear_results(attend_translator *t)
{
    for (int i = 0; i < t->count; i++) attend_translator_line_free(&t->lines[i]);
    for (int i = 0; i < t->batch_count; i++) attend_search_result_free(t->batches[i].search);
    t->count = t->order_count = t->batch_count = 0;
    for (int side = 0; side < 2; side++) attend_pipeline_clear(&t->sides[side]);
}

void attend_translator_free(attend_translator *t)
{
    if (!t) return;
    clear_results(t);
    for (int i = 0; t->contexts && i < t->threads * t->setup.model_count; i++) attend_ctx_free(t->contexts[i]);
    attend_memory_free(t->contexts);
    attend_pool_free(t->pool);
    for (int side = 0; side < 2; side++) attend_pipeline_free(&t->sides[side]);
    attend_translator_setup_free(&t->setup);
    attend_memory_free(t->lines);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    attend_memory_free(t);
}

/* ---- running ---- */

/* The lines of a run, and their prefixes (NULL: none). */
typedef struct translator_input {
    int count;
    const char *const *lines, *const *prefixes;
    const size_t *sizes, *prefix_sizes;
} translator_input;

static int reserve_lines(attend_translator *t, int count)
{
    if (count <= t->room) return ATTEND_OK;
    translator_line *lines = attend_memory_zeroed((size_t)count, sizeof *lines);
    uint64_t *order = attend_memory_zeroed((size_t)count, sizeof *order);
    translator_batch *batches = attend_memory_zeroed((size_t)count, sizeof *batches);
    if (!lines || !order || !batches) {
        attend_memory_free(lines);
        attend_memory_free(order);
        attend_memory_free(batches);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d lines", count);
    }
    attend_memory_free(t->lines);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    t->lines = lines, t->order = order, t->batches = batches, t->room = count;
    return ATTEND_OK;
}

double attend_translator_estimate(translator_line *line, const attend_search_options *options)
{
    const translator_setup *s = line->texts.setup;
    if (!line->needs_search) return 0;
    const attend_search_bytes bytes =
        attend_search_estimate(options, s->models, s->model_count, line->source.count, line->prefix.count);
    line->work = bytes.work;
    if (bytes.work + bytes.kept <= s->limit.all) return bytes.kept;
    line->fault = attend_memory_limit_fault;
    line->needs_search = false;
    line->work = 0;
    return 0;
}

/* Encodes all lines, or, if `some`, as many as fit into memory together, but at least one. */
static int add_lines(attend_translator *t, const translator_input *in, bool some)
{
    const attend_memory_limit *limit = &t->setup.limit;
    double kept = 0;
    int status = reserve_lines(t, in->count);
    for (int i = 0; status == ATTEND_OK && i < in->count; i++) {
        translator_line *line = &t->lines[i];
        status = attend_translator_encode((translator_texts){ &t->setup, t->sides }, line, t->line_number, in->lines[i],
                                          in->sizes[i], in->prefixes ? in->prefixes[i] : NULL,
                                          in->prefixes ? in->prefix_sizes[i] : 0);
        if (status != ATTEND_OK) break;
        kept += attend_translator_estimate(line, &t->setup.o.search);
        if (some && i > 0 && (kept > limit->results || line->work > limit->share)) break; /* for the next run */
        attend_translator_write_empty(line);
        t->count = i + 1, t->line_number++;
        if (some && line->work > limit->share) break; /* alone */
    }
    return status;
}

static int run(attend_translator *t, const translator_input *in, bool some)
{
    clear_results(t);
    if (t->setup.is_language_model && in->prefixes)
        return attend_fail(ATTEND_BAD_USAGE, "a language model continues its lines and takes no other prefixes");
    const int status = add_lines(t, in, some);
    return status == ATTEND_OK ? attend_translator_decode(t) : status;
}

void attend_translator_set_line(attend_translator *t, uint64_t number)
{
    ATTEND_REQUIRE_VOID(t);
    t->line_number = number;
}

int attend_translator_run_from(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && ((lines && sizes) || count < 1) && (!prefixes || prefix_sizes));
    return run(t, &(translator_input){ count, lines, prefixes, sizes, prefix_sizes }, false);
}

int attend_translator_run_some(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes, int *done)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && ((lines && sizes) || count < 1) && (!prefixes || prefix_sizes) && done);
    *done = 0;
    const int status = run(t, &(translator_input){ count, lines, prefixes, sizes, prefix_sizes }, true);
    *done = t->count;
    return status;
}

int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && ((lines && sizes) || count < 1));
    return attend_translator_run_from(t, count, lines, sizes, NULL, NULL);
}

/* ---- results ---- */

const attend_line_result *attend_translator_result(const attend_translator *t, int line)
{
    ATTEND_REQUIRE(NULL, t);
    return line >= 0 && line < t->count ? &t->lines[line].result : NULL;
}

const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t, bool target)
{
    ATTEND_REQUIRE(NULL, t);
    return t->sides[target || t->setup.is_language_model].tokenizer;
}

int attend_hypothesis_links(const attend_line_result *r, const attend_hypothesis *h, attend_word_link *links, int room)
{
    ATTEND_REQUIRE(0, r && h && (links || room < 1));
    if (!r->source || !h->weights) return 0;
    const attend_tokenized_text source = { .text = r->source_text,
                                           .spans = r->source_spans,
                                           .count = attend_pipeline_source_length(r->source_count),
                                           .unit = r->source_unit };
    const attend_tokenized_text target = {
        .text = h->text, .spans = h->spans, .count = h->count, .unit = r->target_unit
    };
    return attend_word_links(&source, &target, h->weights, r->source_count, r->has_null, links, room);
}
