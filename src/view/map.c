/* map.c: attention maps by forced decoding. The decoder is run step by step over the target, and its cross-attention
 * weights, the probability of each token and the best candidates are recorded. Self-attention weights come from scoring
 * the same pair, because decoding steps do not give them. */
#include <attend/view.h>

#include "core/arena.h"
#include "core/memory.h"
#include "core/status.h"
#include "decode/top_tokens.h"
#include "decode/word_links.h"
#include "text/pipeline.h"
#include "text/tokenizer.h"
#include <math.h>
#include <string.h>

typedef attend_real real;

/* What attend_map_new returns is the first member. */
typedef struct owned_map {
    attend_map map;
    attend_arena arena; /* everything it points to */
} owned_map;

typedef struct map_builder {
    owned_map *w;
    const attend_model *m;
    attend_attention_kind kind;
    attend_pipeline sides[2];     /* source, target: one text and its tokens with ATTEND_END; empty unless has_side */
    attend_encoded_text texts[2]; /* of each side */
} map_builder;

/* ---- memory ---- */

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for an attention map");
}

static void *allocate(owned_map *w, size_t count, size_t size)
{
    return attend_arena_alloc(&w->arena, count * size); /* sentences are short: the product does not overflow */
}

static const char *copy(owned_map *w, const char *text, size_t size)
{
    char *to = allocate(w, size + 1, 1);
    if (!to) return NULL;
    if (size) memcpy(to, text, size);
    to[size] = '\0';
    return to;
}

void attend_map_free(attend_map *map)
{
    owned_map *w = (owned_map *)map;
    if (!w) return;
    attend_arena_free(&w->arena);
    attend_memory_free(w);
}

/* ---- texts to tokens ---- */

/* A language model has no source, and an encoder's self-attention does not depend on the target. */
static bool has_side(const map_builder *k, int which)
{
    return which ? k->kind != ATTEND_ATTENTION_ENCODER : attend_model_config(k->m)->task == ATTEND_TASK_TRANSLATION;
}

static const char *name_of(const map_builder *k, int which)
{
    return !which ? "source" : has_side(k, 0) ? "target" : "text";
}

static int encode(map_builder *k, int which, const char *text)
{
    attend_pipeline *x = &k->sides[which];
    const int status = attend_pipeline_add(x, text, strlen(text), &k->texts[which]);
    if (status != ATTEND_OK) return status;
    if (x->ids.count == 0 || attend_word_count(x->text.text) == 0)
        return attend_fail(ATTEND_BAD_DATA, "the %s is empty", name_of(k, which));
    return ATTEND_OK;
}

static int check_size(const map_builder *k, int which)
{
    const int count = attend_pipeline_length(&k->sides[which], &k->texts[which]);
    const int max = attend_config_max_tokens(attend_model_config(k->m), which) - 1; /* one for "</s>" or "<s>" */
    if (count > ATTEND_MAP_MAX_TOKENS)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d tokens; a map has at most %d", name_of(k, which), count,
                           ATTEND_MAP_MAX_TOKENS);
    if (count > max)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d tokens; the model has positions for %d", name_of(k, which),
                           count, max);
    return ATTEND_OK;
}

static int read_sides(map_builder *k, const char *source, const char *target, const int *ids, int count)
{
    int status = attend_pipelines_from_model(k->sides, k->m);
    if (status == ATTEND_OK && ((has_side(k, 0) && !source) || (has_side(k, 1) && !target && !ids && count > 0)))
        status = attend_fail(ATTEND_BAD_USAGE, "a map needs a source and a target, and one is NULL");
    if (status == ATTEND_OK && has_side(k, 0)) status = encode(k, 0, source);
    if (status == ATTEND_OK && has_side(k, 1))
        status = target ? encode(k, 1, target) : attend_pipeline_add_tokens(&k->sides[1], ids, count, &k->texts[1]);
    for (int i = 0; status == ATTEND_OK && i < 2; i++)
        if (has_side(k, i)) status = check_size(k, i);
    if (status == ATTEND_OK && has_side(k, 1)) status = attend_pipeline_add_end(&k->sides[1], &k->texts[1]);
    return status;
}

/* ---- tokens and words ---- */

/* The text of a vocabulary entry without leading spaces. */
static const char *token(const attend_tokenizer *t, int id)
{
    const char *spelled = attend_tokenizer_token(t, id);
    while (strncmp(spelled, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) == 0) spelled += ATTEND_SPACE_MARK_SIZE;
    return spelled;
}

/* The part of the text that token i covers, without surrounding spaces. A part of a character is written as the
 * vocabulary spells it. */
static const char *token_text(owned_map *w, const attend_pipeline *x, int i)
{
    attend_span s = x->ids.spans[i];
    const char *text = x->text.text;
    if (x->ids.ids[i] == ATTEND_END) return copy(w, "</s>", 4);
    while (s.begin < s.end && attend_is_blank(text[s.begin])) s.begin++;
    while (s.begin < s.end && attend_is_blank(text[s.end - 1])) s.end--;
    const size_t size = (size_t)(s.end - s.begin);
    if (attend_utf8_valid(text + s.begin, size) == size) return copy(w, text + s.begin, size);
    const char *spelled = token(x->tokenizer, x->ids.ids[i]);
    return copy(w, spelled, strlen(spelled));
}

/* The tokens of a side followed by "</s>" or, as a decoder reads them, preceded by "<s>". */
static const attend_map_token *copy_tokens(owned_map *w, const attend_pipeline *x, bool shifted)
{
    const int count = x->ids.count, first = shifted ? 1 : 0;
    attend_map_token *tokens = allocate(w, (size_t)count, sizeof *tokens);
    int *words = allocate(w, (size_t)count, sizeof *words);
    if (!tokens || !words) return NULL;
    attend_words_of_tokens(&(attend_tokenized_text){ x->text.text, x->ids.spans, count - 1 }, words);
    words[count - 1] = -1; /* "</s>" */
    if (shifted) tokens[0] = (attend_map_token){ .text = copy(w, "<s>", 3), .id = ATTEND_BEGIN, .word = -1 };
    for (int i = first; i < count; i++)
        tokens[i] = (attend_map_token){ .text = token_text(w, x, i - first),
                                        .id = x->ids.ids[i - first],
                                        .word = words[i - first] };
    for (int i = 0; i < count; i++)
        if (!tokens[i].text) return NULL;
    return tokens;
}

static const char *const *copy_words(owned_map *w, const attend_pipeline *x, int *count)
{
    *count = attend_word_count(x->text.text);
    const char **words = allocate(w, (size_t)*count + 1, sizeof *words);
    attend_span *spans = allocate(w, (size_t)*count + 1, sizeof *spans);
    if (!words || !spans) return NULL;
    attend_word_spans(x->text.text, spans);
    for (int i = 0; i < *count; i++) {
        words[i] = copy(w, x->text.text + spans[i].begin, (size_t)(spans[i].end - spans[i].begin));
        if (!words[i]) return NULL;
    }
    return words;
}

static int fill_sides(map_builder *k)
{
    attend_map *map = &k->w->map;
    const bool is_decoder = k->kind == ATTEND_ATTENTION_DECODER;
    const attend_pipeline *s = &k->sides[is_decoder], *t = &k->sides[k->kind != ATTEND_ATTENTION_ENCODER];
    map->source_text = copy(k->w, s->text.text, k->texts[is_decoder].size);
    map->source = copy_tokens(k->w, s, is_decoder);
    map->source_words = copy_words(k->w, s, &map->source_word_count);
    map->source_count = s->ids.count, map->target_count = t->ids.count;
    if (s == t) {
        map->target_text = map->source_text, map->target = map->source;
        map->target_words = map->source_words, map->target_word_count = map->source_word_count;
    } else {
        map->target_text = copy(k->w, t->text.text, k->texts[1].size);
        map->target = copy_tokens(k->w, t, false);
        map->target_words = copy_words(k->w, t, &map->target_word_count);
    }
    return map->source_text && map->target_text && map->source && map->target && map->source_words && map->target_words
               ? ATTEND_OK
               : no_memory();
}

/* ---- forced decoding ---- */

/* The arrays of a map while they are filled. */
typedef struct map_arrays {
    float *weights;
    double *probability;
    attend_map_candidate *candidates;
} map_arrays;

/* The most probable tokens, best first; equal ones by id. */
static bool take_candidates(map_builder *k, const real *log_p, int vocabulary, attend_map_candidate *to)
{
    attend_top_k_entry entries[ATTEND_MAP_CANDIDATES];
    attend_top_k best = { .k = ATTEND_MAP_CANDIDATES, .entries = entries };
    attend_top_tokens(&best, log_p, vocabulary, NULL);
    for (int i = 0; i < ATTEND_MAP_CANDIDATES; i++) {
        to[i] = (attend_map_candidate){ NULL, 0 };
        if (i >= best.count) continue;
        const char *spelled = token(k->sides[1].tokenizer, entries[i].index);
        to[i] = (attend_map_candidate){ copy(k->w, spelled, strlen(spelled)), exp(entries[i].value) };
        if (!to[i].text) return false;
    }
    return true;
}

/* The cross-attention weights of the last step, which predicts target token i. */
static void record_weights(const attend_map *map, const attend_decoding *d, int i, float *weights)
{
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    for (int each = 0; each < map->layers * map->heads; each++) {
        const real *w = attend_decoding_weights(d, 0, each / map->heads, each % map->heads);
        float *row = weights + (size_t)each * area + (size_t)i * columns;
        for (size_t j = 0; j < columns; j++) row[j] = (float)w[j];
    }
}

static int non_finite(void)
{
    return attend_fail(ATTEND_FAILED, "the model computes non-finite probabilities for this pair");
}

/* Records what the last step predicts for target token i. In a decoder's map, whose rows begin with "<s>", the token
 * has row i + 1 and "</s>" has none. */
static int record_step(map_builder *k, const attend_decoding *d, int i, map_arrays *a)
{
    attend_map *map = &k->w->map;
    const int row = k->kind == ATTEND_ATTENTION_DECODER ? i + 1 : i,
              vocabulary = attend_model_config(k->m)->target_vocab;
    const real *log_p = attend_decoding_log_probabilities(d);
    const double p = (double)log_p[k->sides[1].ids.ids[i]];
    if (!isfinite(p) || p > 1) return non_finite();
    map->log_probability += p;
    if (k->kind == ATTEND_ATTENTION_CROSS && a->weights) record_weights(map, d, i, a->weights);
    if (row == map->target_count) return ATTEND_OK;
    a->probability[row] = exp(p);
    return take_candidates(k, log_p, vocabulary, a->candidates + (size_t)row * ATTEND_MAP_CANDIDATES) ? ATTEND_OK
                                                                                                      : no_memory();
}

static int decode(map_builder *k, attend_ctx *c, map_arrays *a)
{
    const attend_ids *source = &k->sides[0].ids, *target = &k->sides[1].ids;
    const int one = 1, parent = 0;
    attend_decoding *d = NULL;
    a->probability[0] = NAN; /* of "<s>", if row 0 is that; else token 0 replaces it */
    int status = attend_decoding_new(&d, c, k->m, 1, source->ids, &source->count);
    for (int i = 0; status == ATTEND_OK && i < target->count; i++) {
        const int token = i ? target->ids[i - 1] : ATTEND_BEGIN;
        status = attend_decoding_step(d, &one, &parent, &token);
        if (status == ATTEND_OK) status = record_step(k, d, i, a);
    }
    attend_decoding_free(d);
    return status;
}

/* The self-attention weights of one side. */
static int record_self_attention(map_builder *k, attend_ctx *c, float *weights)
{
    const attend_ids *source = &k->sides[0].ids, *target = &k->sides[1].ids;
    const int length = target->count > 0 ? target->count - 1 : 0; /* the model adds ATTEND_END itself */
    const attend_pairs pair = { .count = 1,
                                .source = source->ids,
                                .source_lengths = &source->count,
                                .target = target->ids,
                                .target_lengths = &length };
    const size_t count = attend_pairs_weight_count(&pair, attend_model_config(k->m), k->kind);
    double log_p = 0;
    real *given = attend_memory_zeroed(count, sizeof *given);
    if (!given) return no_memory();
    int status = attend_model_score(c, k->m, &pair, &log_p, NULL, k->kind, given);
    if (status == ATTEND_OK && !isfinite(log_p)) status = non_finite();
    for (size_t i = 0; status == ATTEND_OK && i < count; i++) weights[i] = (float)given[i];
    attend_memory_free(given);
    return status;
}

static int fill_arrays(map_builder *k, attend_ctx *c)
{
    attend_map *map = &k->w->map;
    const size_t rows = (size_t)map->target_count;
    const bool has_attention = map->layers > 0, has_target = k->kind != ATTEND_ATTENTION_ENCODER;
    map_arrays a = { 0 };
    if (has_attention)
        a.weights = allocate(k->w, (size_t)map->layers * (size_t)map->heads * rows * (size_t)map->source_count,
                             sizeof *a.weights);
    if (has_target) {
        a.probability = allocate(k->w, rows, sizeof *a.probability);
        a.candidates = allocate(k->w, rows * ATTEND_MAP_CANDIDATES, sizeof *a.candidates);
    }
    if ((has_attention && !a.weights) || (has_target && (!a.probability || !a.candidates))) return no_memory();
    if (has_target) memset(a.candidates, 0, ATTEND_MAP_CANDIDATES * sizeof *a.candidates); /* "<s>" has none */
    map->weights = a.weights, map->probability = a.probability, map->candidates = a.candidates;
    if (!has_target) map->log_probability = NAN;
    int status = has_target ? decode(k, c, &a) : ATTEND_OK;
    if (status == ATTEND_OK && k->kind != ATTEND_ATTENTION_CROSS) status = record_self_attention(k, c, a.weights);
    return status;
}

/* ---- the map ---- */

static int check_kind(map_builder *k)
{
    static const char *const missing[] = { "a language model has no source and no cross-attention",
                                           "the model's encoder has no self-attention",
                                           "the model's decoder has no self-attention" };
    const attend_config *config = attend_model_config(k->m);
    attend_map *map = &k->w->map;
    map->kind = k->kind;
    map->layers = attend_config_attention_layers(config, k->kind),
    map->heads = attend_config_attention_heads(config, k->kind);
    if (map->layers > 0 || (k->kind == ATTEND_ATTENTION_CROSS && has_side(k, 0))) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s", missing[k->kind]);
}

int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, attend_attention_kind kind,
                   const char *source, const char *target, const int *target_ids, int target_count, double score)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && c && m && (unsigned)kind <= ATTEND_ATTENTION_DECODER);
    *out = NULL;
    map_builder k = { .w = attend_memory_zeroed(1, sizeof *k.w), .m = m, .kind = kind };
    if (!k.w) return no_memory();
    int status = check_kind(&k);
    if (status == ATTEND_OK) status = read_sides(&k, source, target, target_ids, target_count);
    if (status == ATTEND_OK) status = fill_sides(&k);
    if (status == ATTEND_OK) status = fill_arrays(&k, c);
    k.w->map.forced = target && has_side(&k, 1);
    k.w->map.score = isnan(score) || !has_side(&k, 1) ? k.w->map.log_probability : score;
    for (int i = 0; i < 2; i++) attend_pipeline_free(&k.sides[i]);
    if (status == ATTEND_OK)
        *out = &k.w->map;
    else
        attend_map_free(&k.w->map);
    return status;
}
