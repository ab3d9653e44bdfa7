/* translator.c: lines to batches of similar length, batches to threads, results back in the order of the lines. */
#include <attend/translator.h>

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include "core/tape.h"
#include "decode/ensemble_check.h"
#include "decode/word_links.h"
#include "decode/detokenize.h"
#include "text/buffers.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts as numbers: the lines, and what translations begin with. */
typedef struct side {
    attend_ids ids;     /* of all lines */
    attend_string text; /* in normal form C, each with a '\0' behind */
} side;

/* Where a line's part of a side lies. */
typedef struct place {
    int first, count;
    size_t text, size; /* bytes */
} place;

/* A line, and what became of it. */
typedef struct job {
    place source, prefix;
    bool wanted;     /* there is something to do */
    uint64_t number; /* of all lines this translator was given */
    const char *fault;
    attend_search_result *found; /* its batch's, .. */
    int place;                   /* .. where it is this one; or .. */
    attend_search_result *own;   /* .. its own */
    attend_hypothesis *list;
    attend_span *spans; /* of all hypotheses, one after another, as .. */
    attend_string text; /* .. their texts are */
    attend_line_result result;
} job;

typedef struct batch {
    int first, count; /* of `order` */
    attend_search_result *found;
    int status;
    char message[256];
} batch;

struct attend_translator {
    const attend_model **models;
    int model_count;
    int most[2]; /* words of a source, or of a prefix: by max_tokens, and by what the models can take */
    bool alone;  /* language models: lines are prefixes, and there are no sources */
    attend_translator_options o;
    attend_tokenizer *tokenizers[2]; /* the same twice, of language models */
    attend_pool *pool;
    attend_ctx **contexts; /* (threads, models) */
    side sides[2];         /* lines, prefixes */
    attend_string line;    /* one text in normal form */
    uint64_t number;       /* of the first line of the run */
    job *jobs;
    int count, room;
    uint64_t *order; /* lines with words, short ones first: see by_key */
    int ordered;
    batch *batches;
    int batch_count;
};

/* ---- memory ---- */

/* Arrays stay for the next run, unless one line made them large. */
static void side_clear(side *x)
{
    enum { LARGE = 1 << 20 };
    x->ids.count = 0, x->text.size = 0;
    if (x->ids.room > LARGE) attend_ids_free(&x->ids);
    if (x->text.room > LARGE) attend_string_free(&x->text);
}

static void forget(attend_translator *t)
{
    for (int i = 0; i < t->count; i++) {
        attend_memory_free(t->jobs[i].list);
        attend_memory_free(t->jobs[i].spans);
        attend_string_free(&t->jobs[i].text);
        attend_search_result_free(t->jobs[i].own);
    }
    for (int i = 0; i < t->batch_count; i++) attend_search_result_free(t->batches[i].found);
    t->count = t->ordered = t->batch_count = 0;
    for (int i = 0; i < 2; i++) side_clear(&t->sides[i]);
    if (t->line.room > 1 << 20) attend_string_free(&t->line);
}

void attend_translator_free(attend_translator *t)
{
    if (!t) return;
    forget(t);
    for (int i = 0; t->contexts && i < t->o.threads * t->model_count; i++) attend_ctx_free(t->contexts[i]);
    attend_memory_free(t->contexts);
    attend_pool_free(t->pool);
    if (t->tokenizers[0] != t->tokenizers[1]) attend_tokenizer_free(t->tokenizers[0]);
    attend_tokenizer_free(t->tokenizers[1]);
    for (int i = 0; i < 2; i++) {
        attend_ids_free(&t->sides[i].ids);
        attend_string_free(&t->sides[i].text);
    }
    attend_string_free(&t->line);
    attend_memory_free(t->models);
    attend_memory_free(t->jobs);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    attend_memory_free(t);
}

static int check(const attend_model *const *models, int count, const attend_translator_options *o)
{
    bool attention = false, alone = false;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "a translator needs a model, and there are %d", count);
    if (o->threads < 1 || o->threads > 1024 || o->batch_tokens < 1 || o->max_tokens < 1)
        return attend_fail(ATTEND_BAD_USAGE,
                           "threads %d (1 to 1024), batch tokens %d and most words %d (1 and more) make no sense",
                           o->threads, o->batch_tokens, o->max_tokens);
    for (int i = 0; i < count; i++) {
        const attend_config *config = attend_model_config(models[i]);
        attention |= attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
        alone |= config->task == ATTEND_TASK_LANGUAGE_MODEL;
        if (config->task != attend_model_config(models[0])->task)
            return attend_fail(ATTEND_BAD_USAGE, "a language model and one for translation cannot work together");
    }
    if (alone && (o->replace_unknown || o->search.shortlist))
        return attend_fail(ATTEND_BAD_USAGE,
                           "replacing unknown words and shortlists go by the words of a source, and a language model "
                           "has none");
    if (!attention && o->replace_unknown)
        return attend_fail(ATTEND_BAD_USAGE, "replacing unknown words needs attention, and this model has none");
    return attend_models_check_ensemble(models, count);
}

static int fill(attend_translator *t, const attend_model *const *models)
{
    const size_t contexts = (size_t)t->o.threads * (size_t)t->model_count;
    t->models = attend_memory_zeroed((size_t)t->model_count, sizeof *t->models);
    t->contexts = attend_memory_zeroed(contexts, sizeof *t->contexts);
    if (!t->models || !t->contexts) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    t->most[0] = t->most[1] = t->o.max_tokens;
    for (int i = 0; i < t->model_count; i++) {
        t->models[i] = models[i];
        for (int which = 0; which < 2; which++) { /* one place is the end's, or the beginning's */
            const int most = attend_config_max_tokens(attend_model_config(models[i]), which) - 1;
            if (most < t->most[which]) t->most[which] = most;
        }
    }
    t->alone = attend_model_config(models[0])->task == ATTEND_TASK_LANGUAGE_MODEL;
    int status = t->alone ? ATTEND_OK : attend_tokenizer_from_model(&t->tokenizers[0], models[0], "source");
    if (status == ATTEND_OK) status = attend_tokenizer_from_model(&t->tokenizers[1], models[0], "target");
    if (t->alone) t->tokenizers[0] = t->tokenizers[1];
    if (status == ATTEND_OK) status = attend_pool_new(&t->pool, t->o.threads);
    for (size_t i = 0; status == ATTEND_OK && i < contexts; i++) status = attend_ctx_new(&t->contexts[i]);
    return status;
}

int attend_translator_new_ensemble(attend_translator **out, const attend_model *const *models, int model_count,
                                   const attend_translator_options *options)
{
    *out = NULL;
    int status = check(models, model_count, options);
    if (status != ATTEND_OK) return status;
    attend_translator *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    t->o = *options, t->model_count = model_count;
    status = fill(t, models);
    if (status != ATTEND_OK) {
        attend_translator_free(t);
        return status;
    }
    if (attend_tokenizer_kind(t->tokenizers[1]) != ATTEND_TOKENS_WORD)
        t->o.replace_unknown = false; /* there are none */
    if (t->o.replace_unknown) t->o.search.weights = true;
    *out = t;
    return ATTEND_OK;
}

int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options)
{
    return attend_translator_new_ensemble(out, &m, 1, options);
}

static bool room_for(attend_translator *t, int count)
{
    if (count <= t->room) return true;
    job *jobs = attend_memory_zeroed((size_t)count, sizeof *jobs);
    uint64_t *order = attend_memory_zeroed((size_t)count, sizeof *order);
    batch *batches = attend_memory_zeroed((size_t)count, sizeof *batches);
    if (!jobs || !order || !batches) {
        attend_memory_free(jobs);
        attend_memory_free(order);
        attend_memory_free(batches);
        return false;
    }
    attend_memory_free(t->jobs);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    t->jobs = jobs, t->order = order, t->batches = batches, t->room = count;
    return true;
}

/* ---- lines to batches ---- */

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t') return false;
    return true;
}

/* Adds a text to a side; *fault says what is wrong with it, and then nothing was added. */
static int add_text(attend_translator *t, int which, const char *text, size_t size, place *p, const char **fault)
{
    side *x = &t->sides[which];
    *p = (place){ .first = x->ids.count, .text = x->text.size };
    int status = attend_normalize(&t->line, text, size);
    if (status == ATTEND_BAD_DATA) {
        *fault = which && !t->alone ? "its prefix is not UTF-8" : "it is not UTF-8";
        return ATTEND_OK;
    }
    p->size = t->line.size;
    if (status == ATTEND_OK) status = attend_string_add(&x->text, t->line.text, t->line.size);
    if (status == ATTEND_OK) status = attend_string_add(&x->text, "", 1);
    if (status == ATTEND_OK)
        status = attend_tokenizer_encode(t->tokenizers[which], t->line.text, t->line.size, &x->ids, 0, 0, 0);
    if (status != ATTEND_OK) return status;
    p->count = x->ids.count - p->first;
    if (p->count <= t->most[which]) return ATTEND_OK;
    *fault = which && !t->alone                 ? "its prefix is too long"
             : t->most[which] < t->o.max_tokens ? "it is too long for the model"
                                                : "it is too long (max-words)";
    x->ids.count = p->first, x->text.size = p->text, p->count = 0;
    return ATTEND_OK;
}

/* A language model's line is what its text begins with. */
static int encode_alone(attend_translator *t, job *j, const char *text, size_t size)
{
    const int status = is_blank(text, size) ? ATTEND_OK : add_text(t, 1, text, size, &j->prefix, &j->fault);
    j->wanted = status == ATTEND_OK && !j->fault;
    return status;
}

static int encode(attend_translator *t, job *j, const char *text, size_t size, const char *prefix, size_t prefix_size)
{
    *j = (job){ .number = t->number++ };
    if (t->alone) return encode_alone(t, j, text, size);
    if (is_blank(text, size)) return ATTEND_OK;
    int status = add_text(t, 0, text, size, &j->source, &j->fault);
    if (status == ATTEND_OK && !j->fault && prefix_size > 0)
        status = add_text(t, 1, prefix, prefix_size, &j->prefix, &j->fault);
    j->wanted = status == ATTEND_OK && !j->fault && j->source.count > 0;
    if (!j->wanted) {
        j->source.count = 0;
        return status;
    }
    const size_t end = t->sides[0].text.size - j->source.text - 1;
    j->source.count++;
    return attend_ids_add(&t->sides[0].ids, ATTEND_END, end, end);
}

/* A length above a line number: sorted, short lines come first, and of equal ones the earlier. */
static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int line_of(const attend_translator *t, int i)
{
    return (int)(t->order[i] & UINT32_MAX);
}

/* What a line counts for. How long a language model goes on nobody knows: about a sentence. */
static int tokens_of(const attend_translator *t, const job *j)
{
    enum { SENTENCE = 20 };
    return t->alone ? j->prefix.count + SENTENCE : j->source.count;
}

/* Batches of at most batch_tokens, and of few lines so small that every thread has one. */
static void cut(attend_translator *t)
{
    int64_t all = 0, tokens = 0;
    for (int i = 0; i < t->count; i++) {
        if (!t->jobs[i].wanted) continue;
        t->order[t->ordered++] = (uint64_t)tokens_of(t, &t->jobs[i]) << 32 | (uint32_t)i;
        all += tokens_of(t, &t->jobs[i]);
    }
    if (t->ordered) qsort(t->order, (size_t)t->ordered, sizeof *t->order, by_key);
    const int64_t share = (all + t->o.threads - 1) / t->o.threads;
    const int64_t most = share < t->o.batch_tokens ? share : t->o.batch_tokens;
    for (int i = 0; i < t->ordered; i++) {
        const int more = tokens_of(t, &t->jobs[line_of(t, i)]);
        if (i == 0 || tokens + more > most) {
            t->batches[t->batch_count++] = (batch){ .first = i };
            tokens = 0;
        }
        t->batches[t->batch_count - 1].count++;
        tokens += more;
    }
}

/* ---- a batch ---- */

static const attend_span *spans_of(const attend_translator *t, int which, const place *p)
{
    return t->sides[which].ids.spans + p->first;
}

static const char *text_of(const attend_translator *t, int which, const place *p)
{
    return t->sides[which].text.text + p->text;
}

/* The source word a row of weights looks at most, or what the dictionary has for it. */
static attend_substitution word_instead(const attend_translator *t, const job *j, const attend_real *weights)
{
    const attend_tokenized_text source = { text_of(t, 0, &j->source), spans_of(t, 0, &j->source), j->source.count - 1 };
    attend_span at;
    if (attend_most_attended_word(&source, weights, 1, j->source.count, &at) < 0)
        return (attend_substitution){ NULL, 0 };
    const attend_substitution own = { source.text + at.begin, (size_t)(at.end - at.begin) };
    const char *other = t->o.dictionary ? attend_dictionary_find(t->o.dictionary, own.text, own.size) : NULL;
    return other ? (attend_substitution){ other, strlen(other) } : own;
}

/* What stands for words that are not known: in the prefix what the user wrote, behind it what replaces them. */
static void stand_in(const attend_translator *t, const job *j, const attend_translation *x,
                     attend_substitution *instead)
{
    for (int i = 0; i < x->count; i++) {
        instead[i] = (attend_substitution){ NULL, 0 };
        if (x->words[i] != ATTEND_UNKNOWN) continue;
        if (i < j->prefix.count) {
            const attend_span at = spans_of(t, 1, &j->prefix)[i];
            instead[i] = (attend_substitution){ text_of(t, 1, &j->prefix) + at.begin, (size_t)(at.end - at.begin) };
        } else if (t->o.replace_unknown && x->weights) {
            instead[i] = word_instead(t, j, x->weights + (size_t)i * (size_t)j->source.count);
        }
    }
}

/* One translation behind the texts and spans that are there; *start is where its text begins. */
static int spell_one(attend_translator *t, job *j, const attend_translation *x, attend_span *spans, size_t *start)
{
    attend_substitution *instead = attend_memory_zeroed((size_t)x->count, sizeof *instead);
    if (!instead) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translation of %d words", x->count);
    *start = j->text.size;
    stand_in(t, j, x, instead);
    int status = attend_detokenize(t->tokenizers[1], x->words, x->count, instead, &j->text, spans);
    for (size_t k = *start; status == ATTEND_OK && k < j->text.size;
         k++) /* a line stays one, whatever bytes a model makes */
        if (j->text.text[k] == '\n' || j->text.text[k] == '\0') j->text.text[k] = ' ';
    if (status == ATTEND_OK) status = attend_string_add(&j->text, "", 1); /* the end of this one */
    attend_memory_free(instead);
    return status;
}

/* Bytes of a translation that its prefix gave. Pieces lose nothing of it; words have one space between them. */
static size_t given_of(const attend_translator *t, const job *j, const attend_span *spans)
{
    if (j->prefix.count == 0) return 0;
    if (attend_tokenizer_kind(t->tokenizers[1]) == ATTEND_TOKENS_WORD) return (size_t)spans[j->prefix.count - 1].end;
    return j->prefix.size;
}

/* The texts of a line's translations. */
static int spell(attend_translator *t, job *j)
{
    const int count = attend_search_result_count(j->found, j->place);
    size_t words = 0, at = 0;
    for (int i = 0; i < count; i++) words += (size_t)attend_search_result_at(j->found, j->place, i)->count;
    j->list = attend_memory_zeroed((size_t)count, sizeof *j->list);
    j->spans = attend_memory_zeroed(words, sizeof *j->spans);
    size_t *starts = attend_memory_zeroed((size_t)count, sizeof *starts);
    int status = j->list && j->spans && starts ? ATTEND_OK
                                               : attend_fail(ATTEND_NO_MEMORY, "no memory for %d translations", count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_translation *x = attend_search_result_at(j->found, j->place, i);
        status = spell_one(t, j, x, j->spans + at, &starts[i]);
        if (status != ATTEND_OK) break;
        j->list[i] = (attend_hypothesis){ .given = given_of(t, j, j->spans + at),
                                          .score = x->score,
                                          .log_probability = x->log_probability,
                                          .words = x->words,
                                          .count = x->count,
                                          .spans = j->spans + at,
                                          .weights = x->weights };
        at += (size_t)x->count;
    }
    for (int i = 0; status == ATTEND_OK && i < count; i++)
        j->list[i].text = j->text.text + starts[i]; /* it moves no more */
    attend_memory_free(starts);
    if (status == ATTEND_OK && t->alone) j->result = (attend_line_result){ .list = j->list, .count = count };
    if (status == ATTEND_OK && !t->alone)
        j->result = (attend_line_result){ .list = j->list,
                                          .count = count,
                                          .source = t->sides[0].ids.ids + j->source.first,
                                          .source_count = j->source.count,
                                          .source_text = text_of(t, 0, &j->source),
                                          .source_spans = spans_of(t, 0, &j->source) };
    return status;
}

/* Searches for the lines [first, first + count) of the order. */
static int find(attend_translator *t, attend_ctx *const *contexts, int first, int count, attend_search_result **found)
{
    size_t totals[2] = { 0, 0 }, at[2] = { 0, 0 };
    for (int i = 0; i < count; i++) {
        const job *j = &t->jobs[line_of(t, first + i)];
        totals[0] += (size_t)j->source.count, totals[1] += (size_t)j->prefix.count;
    }
    int *words[2], *lengths = attend_memory_zeroed(2 * (size_t)count, sizeof *lengths);
    uint64_t *streams = attend_memory_zeroed((size_t)count, sizeof *streams);
    for (int k = 0; k < 2; k++) words[k] = attend_memory_zeroed(totals[k], sizeof *words[k]);
    int status = words[0] && words[1] && lengths && streams
                     ? ATTEND_OK
                     : attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const job *j = &t->jobs[line_of(t, first + i)];
        const place *places[2] = { &j->source, &j->prefix };
        for (int k = 0; k < 2; k++) {
            if (places[k]->count)
                memcpy(words[k] + at[k], t->sides[k].ids.ids + places[k]->first,
                       (size_t)places[k]->count * sizeof *words[k]);
            lengths[k * count + i] = places[k]->count;
            at[k] += (size_t)places[k]->count;
        }
        streams[i] = j->number;
    }
    const attend_search_sources sources = { .count = count,
                                            .words = words[0],
                                            .lengths = lengths,
                                            .prefix = totals[1] ? words[1] : NULL,
                                            .prefix_lengths = totals[1] && lengths ? lengths + count : NULL,
                                            .streams = streams };
    if (status == ATTEND_OK)
        status = attend_search_ensemble(found, contexts, t->models, t->model_count, &t->o.search, &sources);
    for (int k = 0; k < 2; k++) attend_memory_free(words[k]);
    attend_memory_free(lengths);
    attend_memory_free(streams);
    return status;
}

/* A line alone, whose batch failed because of one of its lines. */
static int run_alone(attend_translator *t, attend_ctx *const *contexts, int i)
{
    job *j = &t->jobs[line_of(t, i)];
    int status = find(t, contexts, i, 1, &j->own);
    j->found = j->own, j->place = 0;
    if (status == ATTEND_OK) return spell(t, j);
    if (status != ATTEND_FAILED) return status;
    j->result.fault = j->fault = "the model's probabilities for it are not numbers";
    return ATTEND_OK;
}

static int translate_batch(attend_translator *t, attend_ctx *const *contexts, batch *b)
{
    int status = find(t, contexts, b->first, b->count, &b->found);
    if (status == ATTEND_FAILED) {
        status = ATTEND_OK;
        for (int i = 0; status == ATTEND_OK && i < b->count; i++) status = run_alone(t, contexts, b->first + i);
        return status;
    }
    for (int i = 0; status == ATTEND_OK && i < b->count; i++) {
        job *j = &t->jobs[line_of(t, b->first + i)];
        j->found = b->found, j->place = i;
        status = spell(t, j);
    }
    return status;
}

/* And what became of it; messages are a thread's own. */
static void run_batch(attend_translator *t, attend_ctx *const *contexts, batch *b)
{
    b->status = translate_batch(t, contexts, b);
    if (b->status != ATTEND_OK) snprintf(b->message, sizeof b->message, "%s", attend_message());
}

/* Long batches first, so that no thread ends up with the longest alone. */
static void run_worker(void *user, int worker)
{
    attend_translator *t = user;
    for (int i = t->batch_count - 1 - worker; i >= 0; i -= t->o.threads)
        run_batch(t, t->contexts + worker * t->model_count, &t->batches[i]);
}

/* A batch alone: all threads share its products. */
static void run_one(attend_translator *t)
{
    for (int i = 0; i < t->model_count; i++) t->contexts[i]->pool = t->pool;
    run_batch(t, t->contexts, &t->batches[0]);
    for (int i = 0; i < t->model_count; i++) t->contexts[i]->pool = NULL;
}

/* ---- all lines ---- */

int attend_translator_run_from(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes)
{
    static const attend_hypothesis nothing = { .text = "" };
    forget(t);
    if (t->alone && prefixes)
        return attend_fail(ATTEND_BAD_USAGE,
                           "lines are what a language model's text begins with: there are no prefixes");
    if (!room_for(t, count)) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d lines", count);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        status =
            encode(t, &t->jobs[i], lines[i], sizes[i], prefixes ? prefixes[i] : NULL, prefixes ? prefix_sizes[i] : 0);
        t->jobs[i].result = (attend_line_result){ .list = &nothing, .count = 1, .fault = t->jobs[i].fault };
        t->count = i + 1;
    }
    if (status != ATTEND_OK) return status;
    cut(t);
    if (t->batch_count == 1)
        run_one(t);
    else
        attend_pool_run(t->pool, t->o.threads, run_worker, t);
    for (int i = 0; i < t->batch_count; i++)
        if (t->batches[i].status != ATTEND_OK) return attend_fail(t->batches[i].status, "%s", t->batches[i].message);
    return ATTEND_OK;
}

int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes)
{
    return attend_translator_run_from(t, count, lines, sizes, NULL, NULL);
}

const attend_line_result *attend_translator_result(const attend_translator *t, int line)
{
    return line >= 0 && line < t->count ? &t->jobs[line].result : NULL;
}

const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t, bool target)
{
    return t->tokenizers[target];
}

int attend_hypothesis_links(const attend_line_result *r, const attend_hypothesis *h, attend_word_link *links, int room)
{
    if (!r->source || !h->weights) return 0;
    const attend_tokenized_text source = { r->source_text, r->source_spans,
                                           r->source_count - 1 }; /* its end is no word */
    const attend_tokenized_text target = { h->text, h->spans, h->count };
    return attend_word_links(&source, &target, h->weights, r->source_count, links, room);
}
