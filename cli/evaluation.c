#include "evaluation.h"

#include <attend/parse.h>
#include <attend/status.h>
#include <attend/utf8.h>
#include <attend/words.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "out of memory computing scores");
}

void evaluation_free(evaluation *e)
{
    test_set_free(&e->test_set);
    for (int i = 0; i < MAX_SYSTEMS; i++) text_lines_free(&e->systems[i]);
    free(e->lengths);
    e->lengths = NULL;
}

const char *const evaluation_bleu_tokenizers[] = { "13a", "none", "char", NULL };

/* Names of scores where lines are words. The kind of the first depends on the data. */
static const struct {
    const char *name;
    attend_metric_kind kind;
} word_level_names[] = { { "word-error", ATTEND_LINE_ERROR },
                         { "phoneme-error", ATTEND_WER },
                         { "character-error", ATTEND_CER } };
enum { WORD_LEVEL_NAMES = sizeof word_level_names / sizeof *word_level_names };

/* Selects the metric of a name; false: there is none. */
static bool select_metric(evaluation *e, const char *name)
{
    attend_metric_kind kind;
    for (int i = 0; i < WORD_LEVEL_NAMES; i++)
        if (strcmp(word_level_names[i].name, name) == 0) {
            if (i == 0)
                e->wants_word_error = true;
            else
                e->selected[word_level_names[i].kind] = true;
            return true;
        }
    if (!attend_metric_find(name, &kind)) return false;
    e->by_word = false;
    return e->selected[kind] = true;
}

int evaluation_set_metrics(evaluation *e, const verb *v, const char *names, attend_bleu_tokens tokens, bool ignore_case)
{
    const char *all[METRICS + WORD_LEVEL_NAMES];
    for (int i = 0; i < WORD_LEVEL_NAMES; i++) all[METRICS + i] = word_level_names[i].name;
    for (int i = 0; i < METRICS; i++) {
        all[i] = attend_metric_name((attend_metric_kind)i);
        e->selected[i] = false;
        e->options[i] =
            (attend_metric_options){ .kind = (attend_metric_kind)i, .tokens = tokens, .lowercase = ignore_case };
    }
    e->wants_word_error = false, e->selects_default = !names, e->by_word = true;
    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[32];
        const size_t size = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", size < sizeof name ? (int)size : (int)sizeof name, at);
        if (!select_metric(e, name)) {
            const char *closest = attend_closest_word(name, all, METRICS + WORD_LEVEL_NAMES);
            return usage_error(v, "unknown metric '%s'%s%s%s", name, closest ? "; did you mean '" : "",
                               closest ? closest : "", closest ? "'?" : "");
        }
    }
    return 0;
}

/* ---- what the lines are ---- */

typedef struct text_size {
    double lines, words, characters;
} text_size;

static void add_size(text_size *s, const char *text)
{
    s->lines++;
    s->words += attend_word_count(text, strlen(text));
    s->characters += attend_unit_count(ATTEND_UNIT_CHARACTER, text, strlen(text));
}

static bool has_single_words(const text_size *s)
{
    return s->lines > 0 && s->words < ATTEND_SINGLE_WORDS * s->lines;
}

void evaluation_fit_metrics(evaluation *e, bool all)
{
    const double max_symbol = 3; /* characters of a phoneme, on average */
    const test_set *g = &e->test_set;
    text_size source = { 0 }, target = { 0 };
    for (int i = 0; i < g->count; i++) {
        if (g->sources.count) add_size(&source, g->sources.items[i]);
        add_size(&target, g->references[g->begin[i]]);
    }
    e->has_phonemes =
        has_single_words(&source) && !has_single_words(&target) && target.characters <= max_symbol * target.words;
    e->is_word_level = has_single_words(&target) || e->has_phonemes;
    e->by_word &= e->is_word_level;
    if (e->wants_word_error) e->selected[e->is_word_level ? ATTEND_LINE_ERROR : ATTEND_WER] = true;
    if (!e->selects_default) return;
    for (int i = 0; i < METRICS; i++) e->selected[i] = all || !e->is_word_level;
    e->selected[ATTEND_LINE_ERROR] = e->is_word_level;
    if (e->is_word_level) e->selected[e->has_phonemes ? ATTEND_WER : ATTEND_CER] = true;
}

int evaluation_metric_at(const evaluation *e, int k)
{
    if (!e->by_word) return k;
    return k == 0 ? ATTEND_LINE_ERROR : k - 1; /* the last kind */
}

const char *evaluation_score_text(const evaluation *e, char text[EVALUATION_SCORE], double score)
{
    snprintf(text, EVALUATION_SCORE, e->by_word ? "%.1f %%" : "%.2f", score);
    return text;
}

const char *evaluation_length_name(const evaluation *e)
{
    static const char *const names[][2] = { [ATTEND_UNIT_WORD] = { "words of the reference", "words of the source" },
                                            [ATTEND_UNIT_PIECE] = { "tokens of the reference", "tokens of the source" },
                                            [ATTEND_UNIT_CHARACTER] = { "characters of the reference",
                                                                        "characters of the source" } };
    return names[e->unit][e->test_set.sources.count > 0];
}

void evaluation_bucket_name(const bucket *b, char *text, size_t size)
{
    if (b->from == 0 && b->to == INT_MAX)
        snprintf(text, size, "any");
    else if (b->from == 0)
        snprintf(text, size, "up to %d", b->to);
    else if (b->to == INT_MAX)
        snprintf(text, size, "%d and more", b->from);
    else if (b->from == b->to)
        snprintf(text, size, "%d", b->from);
    else
        snprintf(text, size, "%d to %d", b->from, b->to);
}

void evaluation_metric_title(const evaluation *e, int metric, char *text, size_t size)
{
    const char *name = !e->by_word                                ? NULL
                       : metric == ATTEND_LINE_ERROR              ? "word error"
                       : metric == ATTEND_WER && e->has_phonemes  ? "phoneme error"
                       : metric == ATTEND_CER && !e->has_phonemes ? "character error"
                                                                  : NULL;
    if (name) {
        snprintf(text, size, "%s", name);
        return;
    }
    attend_metric_signature(&e->options[metric], 1, text, size);
    text[strcspn(text, "|")] = '\0';
}

/* ---- lengths ---- */

/* The text whose length counts for line i. */
static const char *measured_text(const evaluation *e, int i)
{
    const test_set *s = &e->test_set;
    return s->sources.count ? s->sources.items[i] : s->references[s->begin[i]];
}

/* Characters if most lines are a single word. */
static attend_unit fitting_unit(const evaluation *e)
{
    double words = 0;
    for (int i = 0; i < e->test_set.count; i++)
        words += attend_word_count(measured_text(e, i), strlen(measured_text(e, i)));
    return words < ATTEND_SINGLE_WORDS * e->test_set.count ? ATTEND_UNIT_CHARACTER : ATTEND_UNIT_WORD;
}

static int measure(evaluation *e)
{
    const int count = e->test_set.count;
    attend_ids ids = { 0 };
    int status = ATTEND_OK;
    e->lengths = calloc((size_t)count + 1, sizeof *e->lengths);
    if (!e->lengths) return no_memory();
    if (e->unit == ATTEND_UNIT_AUTO) e->unit = fitting_unit(e);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const char *text = measured_text(e, i);
        if (e->unit != ATTEND_UNIT_PIECE) {
            e->lengths[i] = attend_unit_count(e->unit, text, strlen(text));
            continue;
        }
        ids.count = 0;
        status = attend_tokenizer_encode(e->tokenizer, text, strlen(text), &ids, 0, 0, 0);
        e->lengths[i] = ids.count;
    }
    attend_ids_free(&ids);
    return status;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Up to eight ranges of a round width, up to the 99th percentile of the lengths. Ranges with few lines are merged
 * with their neighbours. */
static int choose_bounds(const evaluation *e, int *bounds, int *count)
{
    static const int widths[] = { 1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 40, 50, 100, 200, 500, 1000, 10000, 1000000 };
    enum { STEPS = 8, WIDTHS = sizeof widths / sizeof *widths };
    const int n = e->test_set.count, min_lines = n / 50 > 20 ? n / 50 : 20;
    int *sorted = malloc(((size_t)n + 1) * sizeof *sorted), width = widths[WIDTHS - 1];
    if (!sorted) return no_memory();
    memcpy(sorted, e->lengths, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    const int max_length = sorted[n - 1 - n / 100];
    for (int i = WIDTHS - 1; i >= 0; i--)
        if (max_length <= STEPS * widths[i]) width = widths[i];
    *count = 0;
    int below = 0, taken = 0; /* lines up to the bound; lines in earlier ranges */
    for (int k = 1; k < STEPS; k++) {
        while (below < n && sorted[below] <= k * width) below++;
        if (below - taken < min_lines || n - below < min_lines) continue;
        bounds[(*count)++] = k * width;
        taken = below;
    }
    free(sorted);
    return ATTEND_OK;
}

static int read_bounds(const char *text, int *bounds, int *count)
{
    *count = 0;
    for (const char *s = text;; s++) {
        const char *end;
        long long bound;
        if (!attend_parse_integer(s, &end, &bound) || (*end && *end != ',') || bound < 1 || bound > INT_MAX / 2 ||
            (*count && bound <= bounds[*count - 1]) || *count == MAX_BUCKETS - 1)
            return attend_fail(
                ATTEND_BAD_USAGE,
                "--by-length '%s' is neither 'auto' nor a list of increasing lengths such as 10,20,30 (at most %d)",
                text, MAX_BUCKETS - 1);
        bounds[(*count)++] = (int)bound;
        if (!*end) return ATTEND_OK;
        s = end;
    }
}

int evaluation_set_buckets(evaluation *e, const char *text)
{
    int bounds[MAX_BUCKETS], count = 0;
    int status = measure(e);
    if (status == ATTEND_OK)
        status = strcmp(text, "auto") == 0 ? choose_bounds(e, bounds, &count) : read_bounds(text, bounds, &count);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i <= count; i++)
        e->buckets[i] = (bucket){ .from = i ? bounds[i - 1] + 1 : 0, .to = i < count ? bounds[i] : INT_MAX };
    e->bucket_count = count + 1;
    return ATTEND_OK;
}

static bool holds(const evaluation *e, const bucket *b, int line)
{
    return b == &e->whole || (e->lengths[line] >= b->from && e->lengths[line] <= b->to);
}

/* ---- scores ---- */

/* The failure of a metric at line i, with the file and line that it is about: a reference that fails with any translation, else
 * the translation. One that a model made has no line; its source has. */
static int name_line(const evaluation *e, int metric, const text_lines *system, int i)
{
    char why[256], place[TEXT_PLACE];
    snprintf(why, sizeof why, "%s", attend_message());
    const test_set *s = &e->test_set;
    const bool is_from_file = i < system->origin_count;
    text_lines_place(is_from_file ? system : &s->sources, i, place);
    for (int k = s->begin[i]; k < s->begin[i + 1]; k++) {
        attend_metric_sums ignored = { { 0 } };
        if (attend_metric_add(&e->options[metric], &ignored, "", &s->references[k], 1) == ATTEND_OK) continue;
        test_set_reference_place(s, k, place);
        return attend_fail(ATTEND_BAD_DATA, "%s: %s", place, why);
    }
    return attend_fail(ATTEND_BAD_DATA, "%s%s: %s", is_from_file ? "" : "the translation of ", place, why);
}

int evaluation_check_references(const evaluation *e)
{
    enum { SHORT = 1 << 16 }; /* no metric refuses a reference of fewer bytes; most tests need not look closer */
    static const text_lines none;
    const test_set *s = &e->test_set;
    for (int metric = 0; metric < METRICS; metric++)
        for (int i = 0; e->selected[metric] && i < s->count; i++)
            for (int k = s->begin[i]; k < s->begin[i + 1]; k++) {
                attend_metric_sums ignored = { { 0 } };
                if (strlen(s->references[k]) < SHORT - 1) continue;
                const int status = attend_metric_add(&e->options[metric], &ignored, "", &s->references[k], 1);
                if (status != ATTEND_OK) return status == ATTEND_BAD_DATA ? name_line(e, metric, &none, i) : status;
            }
    return ATTEND_OK;
}

/* The sums of each line, for one system. */
static int add_lines(const evaluation *e, int metric, int system, attend_metric_sums *sums)
{
    const test_set *s = &e->test_set;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < s->count; i++) {
        sums[i] = (attend_metric_sums){ 0 };
        status = attend_metric_add(&e->options[metric], &sums[i], e->systems[system].items[i],
                                   s->references + s->begin[i], s->begin[i + 1] - s->begin[i]);
        if (status == ATTEND_BAD_DATA) status = name_line(e, metric, &e->systems[system], i);
    }
    return status;
}

/* Scores the lines of a range, for all systems. work[k] has room for all lines. */
static int score_bucket(const evaluation *e, int metric, attend_metric_sums *const *sums,
                        attend_metric_sums *const *work, bucket *b)
{
    int n = 0, status = ATTEND_OK;
    for (int i = 0; i < e->test_set.count; i++) {
        if (!holds(e, b, i)) continue;
        for (int k = 0; k < e->system_count; k++) work[k][n] = sums[k][i];
        n++;
    }
    b->lines = n;
    for (int k = 0; status == ATTEND_OK && k < e->system_count; k++) {
        attend_interval *out = &b->scores[k][metric];
        attend_metric_sums all = { 0 };
        for (int i = 0; i < n; i++) attend_metric_merge(&all, &work[k][i]);
        *out = (attend_interval){ .score = attend_metric_score(&e->options[metric], &all), .p = 1 };
        if (e->samples > 0 && n > 0)
            status = attend_metric_bootstrap(&e->options[metric], work[k], e->system_count > 1 ? work[1 - k] : NULL, n,
                                             e->samples, e->seed, out);
    }
    return status;
}

int evaluation_run(evaluation *e)
{
    attend_metric_sums *sums[MAX_SYSTEMS] = { NULL, NULL }, *work[MAX_SYSTEMS] = { NULL, NULL };
    int status = ATTEND_OK;
    for (int k = 0; k < e->system_count; k++) {
        sums[k] = calloc((size_t)e->test_set.count + 1, sizeof **sums);
        work[k] = calloc((size_t)e->test_set.count + 1, sizeof **work);
        if (!sums[k] || !work[k]) status = no_memory();
    }
    for (int metric = 0; status == ATTEND_OK && metric < METRICS; metric++) {
        if (!e->selected[metric]) continue;
        for (int k = 0; status == ATTEND_OK && k < e->system_count; k++) status = add_lines(e, metric, k, sums[k]);
        if (status == ATTEND_OK) status = score_bucket(e, metric, sums, work, &e->whole);
        for (int b = 0; status == ATTEND_OK && b < e->bucket_count; b++)
            status = score_bucket(e, metric, sums, work, &e->buckets[b]);
    }
    for (int k = 0; k < MAX_SYSTEMS; k++) free(sums[k]), free(work[k]);
    return status;
}
