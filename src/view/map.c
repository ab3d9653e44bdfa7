/* map.c: attention maps by forced decoding. The decoder runs step by step along the target; cross-attention weights,
 * the probability of each token and the best candidates are recorded. Self-attention weights come from
 * attend_model_score on the same pair, because decoding steps do not return them. */
#include <attend/view.h>

#include "core/arena.h"
#include "core/memory.h"
#include "core/status.h"
#include "decode/ensemble.h"
#include "decode/top_tokens.h"
#include "model/model.h"
#include "text/pipeline.h"
#include "text/tokenizer.h"
#include "text/unknowns.h"
#include <math.h>
#include <string.h>

typedef attend_real real;

/* attend_map_new returns a pointer to `map`, the first member. */
typedef struct owned_map {
    attend_map map;
    attend_arena arena; /* all memory that the map points to */
} owned_map;

typedef struct map_builder {
    owned_map *owned;
    const attend_model *m;
    attend_attention_kind kind;
    attend_unit unit;
    attend_pipeline sides[2];     /* source, target: one text and its tokens with ATTEND_END; empty unless has_side */
    attend_encoded_text texts[2]; /* of each side */
    attend_unknown_list unknowns[2];
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

/* which: 0 source, 1 target. A language model has no source; the encoder's self-attention needs no target. */
static bool has_side(const map_builder *b, int which)
{
    return which ? b->kind != ATTEND_ATTENTION_ENCODER : attend_model_config(b->m)->task == ATTEND_TASK_TRANSLATION;
}

static const char *name_of(const map_builder *b, int which)
{
    return !which ? "source" : has_side(b, 0) ? "target" : "text";
}

static int encode(map_builder *b, int which, const char *text)
{
    attend_pipeline *x = &b->sides[which];
    if (attend_pipeline_exceeds(x, text, strlen(text), ATTEND_MAP_MAX_TOKENS))
        return attend_fail(ATTEND_BAD_DATA, "the %s is too long; a map has at most %d tokens", name_of(b, which),
                           ATTEND_MAP_MAX_TOKENS);
    const int status = attend_pipeline_add(x, text, strlen(text), &b->texts[which]);
    if (status != ATTEND_OK) return status;
    if (x->ids.count == 0 || attend_word_count(x->text.text, strlen(x->text.text)) == 0)
        return attend_fail(ATTEND_BAD_DATA, "the %s is empty", name_of(b, which));
    return ATTEND_OK;
}

static int check_size(const map_builder *b, int which)
{
    const int count = attend_pipeline_length(&b->sides[which], &b->texts[which]);
    const int max = attend_config_max_tokens(attend_model_config(b->m), which) - 1; /* one for "</s>" or "<s>" */
    if (count > ATTEND_MAP_MAX_TOKENS)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d tokens; a map has at most %d", name_of(b, which), count,
                           ATTEND_MAP_MAX_TOKENS);
    if (count > max)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d tokens; the model has positions for %d", name_of(b, which),
                           count, max);
    return ATTEND_OK;
}

/* Attention is not finer than tokens: characters are units only where they are tokens. */
static void set_units(map_builder *b)
{
    attend_pipelines_set_unit(b->sides, b->unit);
    for (int i = 0; i < 2; i++) {
        if (!b->sides[i].tokenizer || b->sides[i].unit != ATTEND_UNIT_CHARACTER) continue;
        const attend_token_kind kind = attend_tokenizer_kind(b->sides[i].tokenizer);
        if (kind != ATTEND_TOKENS_CHAR && kind != ATTEND_TOKENS_JAMO) b->sides[i].unit = ATTEND_UNIT_PIECE;
    }
}

static int read_sides(map_builder *b, const char *source, const char *target, const int *ids, int count)
{
    int status = attend_pipelines_from_model(b->sides, b->m);
    if (status == ATTEND_OK) set_units(b);
    if (status == ATTEND_OK && ((has_side(b, 0) && !source) || (has_side(b, 1) && !target && !ids && count > 0)))
        status = attend_fail(ATTEND_BAD_USAGE, "a map needs a source and a target, and one is NULL");
    if (status == ATTEND_OK && has_side(b, 0)) status = encode(b, 0, source);
    if (status == ATTEND_OK && has_side(b, 1))
        status = target ? encode(b, 1, target) : attend_pipeline_add_tokens(&b->sides[1], ids, count, &b->texts[1]);
    for (int i = 0; status == ATTEND_OK && i < 2; i++)
        if (has_side(b, i)) status = check_size(b, i);
    for (int i = 0; status == ATTEND_OK && i < 2; i++) /* of what the user wrote */
        if (has_side(b, i) && (i == 0 || target))
            status = attend_pipeline_unknowns(&b->sides[i], &b->texts[i], &b->unknowns[i]);
    if (status == ATTEND_OK && has_side(b, 1)) status = attend_pipeline_add_end(&b->sides[1], &b->texts[1]);
    return status;
}

/* ---- tokens and words ---- */

/* The text of a vocabulary entry without leading spaces. */
static const char *token_spelling(const attend_tokenizer *t, int id)
{
    const char *spelled = attend_tokenizer_token(t, id);
    while (strncmp(spelled, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) == 0) spelled += ATTEND_SPACE_MARK_SIZE;
    return spelled;
}

/* The part of the text that token i covers, without surrounding white space. If it is not valid UTF-8, because the
 * token is a single byte of a character, the spelling in the vocabulary. */
static const char *token_text(owned_map *w, const attend_pipeline *x, int i)
{
    if (x->ids.ids[i] == ATTEND_END) return copy(w, "</s>", 4);
    const attend_span token_span = x->ids.spans[i];
    const char *text = x->text.text + token_span.begin;
    size_t begin = 0, end = 0;
    attend_span word;
    for (size_t at = 0; attend_word_next(text, (size_t)(token_span.end - token_span.begin), &at, &word); end = at)
        if (end == 0) begin = (size_t)word.begin;
    if (attend_utf8_valid(text + begin, end - begin) == end - begin) return copy(w, text + begin, end - begin);
    const char *spelled = token_spelling(x->tokenizer, x->ids.ids[i]);
    return copy(w, spelled, strlen(spelled));
}

static bool is_unknown(const attend_unknown_list *l, attend_span token)
{
    for (int i = 0; i < l->count; i++)
        if (l->items[i].span.begin < token.end && token.begin < l->items[i].span.end) return true;
    return false;
}

/* The tokens of a side followed by "</s>" or, as a decoder reads them, preceded by "<s>". */
static const attend_map_token *copy_tokens(owned_map *w, const attend_pipeline *x, const attend_unknown_list *unknowns,
                                           bool shifted)
{
    const int count = x->ids.count, first = shifted ? 1 : 0;
    attend_map_token *tokens = allocate(w, (size_t)count, sizeof *tokens);
    int *words = allocate(w, (size_t)count, sizeof *words);
    if (!tokens || !words) return NULL;
    attend_units_of_spans(x->unit, x->text.text, strlen(x->text.text), x->ids.spans, count - 1, words);
    words[count - 1] = -1; /* "</s>" */
    if (shifted) tokens[0] = (attend_map_token){ .text = copy(w, "<s>", 3), .id = ATTEND_BEGIN, .word = -1 };
    for (int i = first; i < count; i++)
        tokens[i] = (attend_map_token){ .text = token_text(w, x, i - first),
                                        .id = x->ids.ids[i - first],
                                        .word = words[i - first],
                                        .unknown = is_unknown(unknowns, x->ids.spans[i - first]) };
    for (int i = 0; i < count; i++)
        if (!tokens[i].text) return NULL;
    return tokens;
}

/* The tokens of a side that are not white space alone, without "<s>" and "</s>". */
static const char *const *copy_pieces(owned_map *w, const attend_pipeline *x, int *count)
{
    const int tokens = x->ids.count - 1;
    const char **pieces = allocate(w, (size_t)x->ids.count, sizeof *pieces);
    int *units = allocate(w, (size_t)x->ids.count, sizeof *units);
    *count = 0;
    if (!pieces || !units) return NULL;
    attend_units_of_spans(x->unit, x->text.text, strlen(x->text.text), x->ids.spans, tokens, units);
    for (int i = 0; i < tokens; i++) {
        if (units[i] < 0) continue;
        if (!(pieces[units[i]] = token_text(w, x, i))) return NULL;
        *count = units[i] + 1;
    }
    return pieces;
}

/* The words of a side, or the other units of its attention. */
static const char *const *copy_words(owned_map *w, const attend_pipeline *x, int *count)
{
    if (x->unit == ATTEND_UNIT_PIECE) return copy_pieces(w, x, count);
    const char *text = x->text.text;
    const size_t size = strlen(text);
    *count = attend_unit_count(x->unit, text, size);
    const char **words = allocate(w, (size_t)*count + 1, sizeof *words);
    attend_span word;
    if (!words) return NULL;
    for (size_t at = 0, i = 0; attend_unit_next(x->unit, text, size, &at, &word); i++) {
        words[i] = copy(w, text + word.begin, at - (size_t)word.begin);
        if (!words[i]) return NULL;
    }
    return words;
}

static int fill_sides(map_builder *b)
{
    attend_map *map = &b->owned->map;
    const bool is_decoder = b->kind == ATTEND_ATTENTION_DECODER, is_encoder = b->kind == ATTEND_ATTENTION_ENCODER;
    const attend_pipeline *s = &b->sides[is_decoder], *t = &b->sides[!is_encoder];
    map->source_text = copy(b->owned, s->text.text, b->texts[is_decoder].size);
    map->source = copy_tokens(b->owned, s, &b->unknowns[is_decoder], is_decoder);
    map->source_words = copy_words(b->owned, s, &map->source_word_count);
    map->source_count = s->ids.count, map->target_count = t->ids.count;
    map->source_unit = s->unit, map->target_unit = t->unit;
    if (s == t) {
        map->target_text = map->source_text, map->target = map->source;
        map->target_words = map->source_words, map->target_word_count = map->source_word_count;
    } else {
        map->target_text = copy(b->owned, t->text.text, b->texts[1].size);
        map->target = copy_tokens(b->owned, t, &b->unknowns[1], false);
        map->target_words = copy_words(b->owned, t, &map->target_word_count);
    }
    return map->source_text && map->target_text && map->source && map->target && map->source_words && map->target_words
               ? ATTEND_OK
               : no_memory();
}

/* ---- forced decoding ---- */

/* The arrays of a map, writable. */
typedef struct map_arrays {
    float *weights;
    double *probability;
    attend_map_candidate *candidates;
} map_arrays;

/* The most probable tokens, best first; equal ones by id. */
static bool take_candidates(map_builder *b, const real *log_p, int vocabulary, attend_map_candidate *to)
{
    attend_top_k_entry entries[ATTEND_MAP_CANDIDATES];
    attend_top_k best = { .k = ATTEND_MAP_CANDIDATES, .entries = entries };
    attend_top_tokens(&best, log_p, vocabulary, NULL);
    for (int i = 0; i < ATTEND_MAP_CANDIDATES; i++) {
        to[i] = (attend_map_candidate){ NULL, 0 };
        if (i >= best.count) continue;
        const char *spelled = token_spelling(b->sides[1].tokenizer, entries[i].index);
        to[i] = (attend_map_candidate){ copy(b->owned, spelled, strlen(spelled)), exp(entries[i].value) };
        if (!to[i].text) return false;
    }
    return true;
}

/* The cross-attention weights of the last step, which predicts target token i: the mean over the models. Rows that
 * align the token before are moved at the end. */
static int record_weights(const attend_map *map, const attend_ensemble *e, int i, float *weights)
{
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    for (int each = 0; each < map->layers * map->heads; each++)
        for (int k = 0; k < e->count; k++) {
            const real *w = attend_decoding_weights(e->decodings[k], 0, each / map->heads, each % map->heads);
            float *row = weights + (size_t)each * area + (size_t)i * columns;
            if (!w) { /* the kind of attention is that of the model */
                const int status = attend_ensemble_status(e);
                return status == ATTEND_OK ? attend_fail(ATTEND_FAILED, "the model has no attention weights") : status;
            }
            for (size_t j = 0; j < columns; j++) row[j] = (k ? row[j] : 0) + (float)w[j] / (float)e->count;
        }
    return ATTEND_OK;
}

/* Moves the rows of maps that are read shifted (attend_alignment) to the tokens that they align: those of the alignment
 * head, and all of them if the model's alignment is shifted. */
static void shift_rows(const map_builder *b, float *weights)
{
    const attend_map *map = &b->owned->map;
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    const bool all = attend_model_alignment(b->m).shifted &&
                     !attend_alignment_has_null(attend_model_alignment(b->m), attend_model_config(b->m));
    for (int each = 0; each < map->layers * map->heads; each++, weights += area)
        if (all || each / map->heads == attend_config_alignment_layer(attend_model_config(b->m)))
            memmove(weights, weights + columns, (area - columns) * sizeof *weights);
}

static int non_finite(void)
{
    return attend_fail(ATTEND_FAILED, "the model computes non-finite probabilities for this pair");
}

/* Records the prediction of target token i by the last step. Its row is i; in a decoder's map, whose rows begin with
 * "<s>", it is i + 1, and "</s>" has no row. */
static int record_step(map_builder *b, const attend_ensemble *e, int i, map_arrays *a)
{
    attend_map *map = &b->owned->map;
    const int row = b->kind == ATTEND_ATTENTION_DECODER ? i + 1 : i,
              vocabulary = attend_model_config(b->m)->target_vocab;
    const real *log_p = attend_ensemble_log_probabilities(e, 0);
    const double p = (double)log_p[b->sides[1].ids.ids[i]];
    if (!isfinite(p) || p > 1) return non_finite();
    map->log_probability += p;
    const bool has_weights = b->kind == ATTEND_ATTENTION_CROSS && a->weights;
    const int status = has_weights ? record_weights(map, e, i, a->weights) : ATTEND_OK;
    if (status != ATTEND_OK || row == map->target_count) return status;
    a->probability[row] = exp(p);
    return take_candidates(b, log_p, vocabulary, a->candidates + (size_t)row * ATTEND_MAP_CANDIDATES) ? ATTEND_OK
                                                                                                      : no_memory();
}

static int decode(map_builder *b, attend_ctx *c, map_arrays *a)
{
    const attend_ids *source = &b->sides[0].ids, *target = &b->sides[1].ids;
    const int one = 1, parent = 0;
    const attend_model *models[ATTEND_MAX_MEMBERS];
    attend_ctx *contexts[ATTEND_MAX_MEMBERS] = { c };
    const int count = attend_model_list_members(b->m, models);
    attend_ensemble e = { 0 };
    int status = ATTEND_OK;
    a->probability[0] = NAN; /* row 0 is "<s>" in a decoder's map; otherwise record_step overwrites it */
    for (int i = 1; status == ATTEND_OK && i < count; i++) {
        status = attend_ctx_new(&contexts[i]);
        if (status == ATTEND_OK) status = attend_ctx_set_compute(contexts[i], c->compute.precision);
    }
    if (status == ATTEND_OK) status = attend_ensemble_new(&e, contexts, models, count, 1, source->ids, &source->count);
    for (int i = 0; status == ATTEND_OK && i < target->count; i++) {
        const int token = i ? target->ids[i - 1] : ATTEND_BEGIN;
        status = attend_ensemble_step(&e, &one, &parent, &token);
        if (status == ATTEND_OK) status = record_step(b, &e, i, a);
    }
    attend_ensemble_free(&e);
    for (int i = 1; i < count; i++) attend_ctx_free(contexts[i]);
    return status;
}

/* The self-attention weights of one side. */
static int record_self_attention(map_builder *b, attend_ctx *c, float *weights)
{
    const attend_ids *source = &b->sides[0].ids, *target = &b->sides[1].ids;
    const int length = target->count > 0 ? target->count - 1 : 0; /* the model adds ATTEND_END itself */
    const attend_pairs pair = { .count = 1,
                                .source = source->ids,
                                .source_lengths = &source->count,
                                .target = target->ids,
                                .target_lengths = &length };
    const size_t count = attend_pairs_weight_count(&pair, attend_model_config(b->m), b->kind);
    double log_p = 0;
    real *computed = attend_memory_zeroed(count, sizeof *computed);
    if (!computed) return no_memory();
    int status = attend_model_score(c, b->m, &pair, &log_p, NULL, b->kind, computed);
    if (status == ATTEND_OK && !isfinite(log_p)) status = non_finite();
    for (size_t i = 0; status == ATTEND_OK && i < count; i++) weights[i] = (float)computed[i];
    attend_memory_free(computed);
    return status;
}

static int fill_arrays(map_builder *b, attend_ctx *c)
{
    attend_map *map = &b->owned->map;
    const size_t rows = (size_t)map->target_count;
    const bool has_attention = map->layers > 0, has_target = b->kind != ATTEND_ATTENTION_ENCODER;
    map_arrays a = { 0 };
    if (has_attention)
        a.weights = allocate(b->owned, (size_t)map->layers * (size_t)map->heads * rows * (size_t)map->source_count,
                             sizeof *a.weights);
    if (has_target) {
        a.probability = allocate(b->owned, rows, sizeof *a.probability);
        a.candidates = allocate(b->owned, rows * ATTEND_MAP_CANDIDATES, sizeof *a.candidates);
    }
    if ((has_attention && !a.weights) || (has_target && (!a.probability || !a.candidates))) return no_memory();
    if (has_target) memset(a.candidates, 0, ATTEND_MAP_CANDIDATES * sizeof *a.candidates); /* "<s>" has none */
    map->weights = a.weights, map->probability = a.probability, map->candidates = a.candidates;
    if (!has_target) map->log_probability = NAN;
    int status = has_target ? decode(b, c, &a) : ATTEND_OK;
    if (status == ATTEND_OK && b->kind == ATTEND_ATTENTION_CROSS && has_attention) shift_rows(b, a.weights);
    if (status == ATTEND_OK && b->kind != ATTEND_ATTENTION_CROSS) status = record_self_attention(b, c, a.weights);
    return status;
}

/* ---- the map ---- */

static int check_kind(map_builder *b)
{
    static const char *const missing[] = { "a language model has no source and no cross-attention",
                                           "the model's encoder has no self-attention",
                                           "the model's decoder has no self-attention" };
    const attend_config *config = attend_model_config(b->m);
    attend_map *map = &b->owned->map;
    map->kind = b->kind;
    map->layers = attend_config_attention_layers(config, b->kind),
    map->heads = attend_config_attention_heads(config, b->kind);
    if (map->layers > 0 || (b->kind == ATTEND_ATTENTION_CROSS && has_side(b, 0))) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s", missing[b->kind]);
}

bool attend_map_word_is_unknown(const attend_map *map, bool target, int word)
{
    ATTEND_REQUIRE(false, map);
    const attend_map_token *tokens = target ? map->target : map->source;
    for (int i = 0; i < (target ? map->target_count : map->source_count); i++)
        if (tokens[i].word == word && word >= 0 && tokens[i].unknown) return true;
    return false;
}

int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, attend_attention_kind kind, attend_unit unit,
                   const char *source, const char *target, const int *target_ids, int target_count, double score)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE,
                   out && c && m && (unsigned)kind <= ATTEND_ATTENTION_DECODER && attend_unit_name(unit));
    *out = NULL;
    map_builder b = { .owned = attend_memory_zeroed(1, sizeof *b.owned), .m = m, .kind = kind, .unit = unit };
    if (!b.owned) return no_memory();
    int status = check_kind(&b);
    if (status == ATTEND_OK) status = read_sides(&b, source, target, target_ids, target_count);
    if (status == ATTEND_OK) status = fill_sides(&b);
    if (status == ATTEND_OK) status = fill_arrays(&b, c);
    b.owned->map.forced = target && has_side(&b, 1);
    b.owned->map.score = isnan(score) || !has_side(&b, 1) ? b.owned->map.log_probability : score;
    for (int i = 0; i < 2; i++) {
        attend_pipeline_free(&b.sides[i]);
        attend_unknown_list_free(&b.unknowns[i]);
    }
    if (status == ATTEND_OK)
        *out = &b.owned->map;
    else
        attend_map_free(&b.owned->map);
    return status;
}
