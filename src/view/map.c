/* map.c: a model is made to say a target, step by step, and what it looked at and thought of is written down. How a side looks at itself comes out of
 * scoring the same target: steps do not give it. */
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

/* What attend_map_new gives out is the first member. */
typedef struct whole {
    attend_map map;
    attend_arena arena; /* everything it points to */
} whole;

/* One text and its tokens, the end included. */
typedef attend_pipeline side;

typedef struct maker {
    whole *w;
    const attend_model *m;
    attend_attention_kind look;
    side sides[2]; /* as far as has_side */
    attend_encoded_text texts[2];
} maker;

/* ---- memory ---- */

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for a map of attention");
}

static void *take(whole *w, size_t count, size_t size)
{
    return attend_arena_alloc(&w->arena, count * size); /* counts are those of a sentence: no product overflows */
}

static const char *copy(whole *w, const char *text, size_t size)
{
    char *to = take(w, size + 1, 1);
    if (!to) return NULL;
    if (size) memcpy(to, text, size);
    to[size] = '\0';
    return to;
}

void attend_map_free(attend_map *map)
{
    whole *w = (whole *)map;
    if (!w) return;
    attend_arena_free(&w->arena);
    attend_memory_free(w);
}

/* ---- texts to numbers ---- */

/* A language model has no source, and an encoder reads without knowing what will be said. */
static bool has_side(const maker *k, int which)
{
    return which ? k->look != ATTEND_ATTENTION_ENCODER : attend_model_config(k->m)->task == ATTEND_TASK_TRANSLATION;
}

static const char *name_of(const maker *k, int which)
{
    return !which ? "source" : has_side(k, 0) ? "target" : "text";
}

static int encode(maker *k, int which, const char *text)
{
    side *x = &k->sides[which];
    const int status = attend_pipeline_add(x, text, strlen(text), &k->texts[which]);
    if (status != ATTEND_OK) return status;
    if (x->ids.count == 0 || attend_word_count(x->text.text) == 0)
        return attend_fail(ATTEND_BAD_DATA, "the %s is empty: there is nothing to look at", name_of(k, which));
    return ATTEND_OK;
}

static int check_size(const maker *k, int which)
{
    const int count = attend_pipeline_length(&k->sides[which], &k->texts[which]);
    const int places =
        attend_config_max_tokens(attend_model_config(k->m), which) - 1; /* one is the end's, or the beginning's */
    if (count > ATTEND_MAP_MOST)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d pieces, and a map has room for %d", name_of(k, which), count,
                           ATTEND_MAP_MOST);
    if (count > places)
        return attend_fail(ATTEND_BAD_DATA, "the %s has %d pieces, and the model has places for %d", name_of(k, which),
                           count, places);
    return ATTEND_OK;
}

static int read_sides(maker *k, const char *source, const char *target, const int *words, int count)
{
    int status = attend_pipelines_from_model(k->sides, k->m);
    if (status == ATTEND_OK && has_side(k, 0)) status = encode(k, 0, source);
    if (status == ATTEND_OK && has_side(k, 1))
        status = target ? encode(k, 1, target) : attend_pipeline_add_tokens(&k->sides[1], words, count, &k->texts[1]);
    for (int i = 0; status == ATTEND_OK && i < 2; i++)
        if (has_side(k, i)) status = check_size(k, i);
    if (status == ATTEND_OK && has_side(k, 1)) status = attend_pipeline_add_end(&k->sides[1], &k->texts[1]);
    return status;
}

/* ---- pieces and words ---- */

/* A token without the spaces around it. */
static const char *token(const attend_tokenizer *t, int id)
{
    const char *spelled = attend_tokenizer_token(t, id);
    while (strncmp(spelled, ATTEND_SPACE_MARK, ATTEND_SPACE_MARK_SIZE) == 0) spelled += ATTEND_SPACE_MARK_SIZE;
    return spelled;
}

/* The place of a piece in its text without blanks around it; a part of a character is spelled as the vocabulary has it. */
static const char *piece_text(whole *w, const side *x, int i)
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

/* With the end behind it, or, as a decoder reads it, the beginning in front. */
static const attend_map_piece *pieces_of(whole *w, const side *x, bool begun)
{
    const int count = x->ids.count, first = begun ? 1 : 0;
    attend_map_piece *pieces = take(w, (size_t)count, sizeof *pieces);
    int *words = take(w, (size_t)count, sizeof *words);
    if (!pieces || !words) return NULL;
    attend_words_of_tokens(&(attend_tokenized_text){ x->text.text, x->ids.spans, count - 1 }, words);
    words[count - 1] = -1; /* the end */
    if (begun) pieces[0] = (attend_map_piece){ .text = copy(w, "<s>", 3), .id = ATTEND_BEGIN, .word = -1 };
    for (int i = first; i < count; i++)
        pieces[i] = (attend_map_piece){ .text = piece_text(w, x, i - first),
                                        .id = x->ids.ids[i - first],
                                        .word = words[i - first] };
    for (int i = 0; i < count; i++)
        if (!pieces[i].text) return NULL;
    return pieces;
}

static const char *const *words_of(whole *w, const side *x, int *count)
{
    *count = attend_word_count(x->text.text);
    const char **words = take(w, (size_t)*count + 1, sizeof *words);
    attend_span *places = take(w, (size_t)*count + 1, sizeof *places);
    if (!words || !places) return NULL;
    attend_word_spans(x->text.text, places);
    for (int i = 0; i < *count; i++) {
        words[i] = copy(w, x->text.text + places[i].begin, (size_t)(places[i].end - places[i].begin));
        if (!words[i]) return NULL;
    }
    return words;
}

static int fill_sides(maker *k)
{
    attend_map *map = &k->w->map;
    const bool begun = k->look == ATTEND_ATTENTION_DECODER;
    const side *s = &k->sides[begun], *t = &k->sides[k->look != ATTEND_ATTENTION_ENCODER];
    map->source_text = copy(k->w, s->text.text, k->texts[begun].size);
    map->source = pieces_of(k->w, s, begun);
    map->source_words = words_of(k->w, s, &map->source_word_count);
    map->source_count = s->ids.count, map->target_count = t->ids.count;
    if (s == t) {
        map->target_text = map->source_text, map->target = map->source;
        map->target_words = map->source_words, map->target_word_count = map->source_word_count;
    } else {
        map->target_text = copy(k->w, t->text.text, k->texts[1].size);
        map->target = pieces_of(k->w, t, false);
        map->target_words = words_of(k->w, t, &map->target_word_count);
    }
    return map->source_text && map->target_text && map->source && map->target && map->source_words && map->target_words
               ? ATTEND_OK
               : no_memory();
}

/* ---- forced decoding ---- */

/* The numbers of a map while they are filled. */
typedef struct numbers {
    float *weights;
    double *probability;
    attend_map_choice *choices;
} numbers;

/* The most probable words of a row, best first; of equal ones the lower number. */
static bool choose(maker *k, const real *log_p, int vocabulary, attend_map_choice *to)
{
    attend_top_k_entry entries[ATTEND_MAP_CHOICES];
    attend_top_k best = { .k = ATTEND_MAP_CHOICES, .entries = entries };
    attend_top_tokens(&best, log_p, vocabulary, NULL);
    for (int i = 0; i < ATTEND_MAP_CHOICES; i++) {
        to[i] = (attend_map_choice){ NULL, 0 };
        if (i >= best.count) continue;
        const char *spelled = token(k->sides[1].tokenizer, entries[i].index);
        to[i] = (attend_map_choice){ copy(k->w, spelled, strlen(spelled)), exp(entries[i].value) };
        if (!to[i].text) return false;
    }
    return true;
}

/* What the last step, from which word i of the target was to come, looked at. */
static void note_weights(const attend_map *map, const attend_decoding *d, int i, float *weights)
{
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    for (int each = 0; each < map->layers * map->heads; each++) {
        const real *w = attend_decoding_weights(d, 0, each / map->heads, each % map->heads);
        float *row = weights + (size_t)each * area + (size_t)i * columns;
        for (size_t j = 0; j < columns; j++) row[j] = (float)w[j];
    }
}

static int no_numbers(void)
{
    return attend_fail(ATTEND_FAILED, "the model's probabilities for it are not numbers");
}

/* .. and what it says about word i. Where the target is what a decoder reads, that word is a row further down, and the end has none. */
static int note(maker *k, const attend_decoding *d, int i, numbers *n)
{
    attend_map *map = &k->w->map;
    const int row = k->look == ATTEND_ATTENTION_DECODER ? i + 1 : i,
              vocabulary = attend_model_config(k->m)->target_vocab;
    const real *log_p = attend_decoding_log_probabilities(d);
    const double p = (double)log_p[k->sides[1].ids.ids[i]];
    if (isnan(p) || p > 1) return no_numbers();
    map->log_probability += p;
    if (k->look == ATTEND_ATTENTION_CROSS && n->weights) note_weights(map, d, i, n->weights);
    if (row == map->target_count) return ATTEND_OK;
    n->probability[row] = exp(p);
    return choose(k, log_p, vocabulary, n->choices + (size_t)row * ATTEND_MAP_CHOICES) ? ATTEND_OK : no_memory();
}

static int say(maker *k, attend_ctx *c, numbers *n)
{
    const attend_ids *source = &k->sides[0].ids, *target = &k->sides[1].ids;
    const int one = 1, parent = 0;
    attend_decoding *d = NULL;
    n->probability[0] = NAN; /* of "<s>": word 0 says otherwise, if it stands in this row */
    int status = attend_decoding_new(&d, c, k->m, 1, source->ids, &source->count);
    for (int i = 0; status == ATTEND_OK && i < target->count; i++) {
        const int word = i ? target->ids[i - 1] : ATTEND_BEGIN;
        status = attend_decoding_step(d, &one, &parent, &word);
        if (status == ATTEND_OK) status = note(k, d, i, n);
    }
    attend_decoding_free(d);
    return status;
}

/* How a side looks at itself. */
static int look_inside(maker *k, attend_ctx *c, float *weights)
{
    const attend_ids *source = &k->sides[0].ids, *target = &k->sides[1].ids;
    const int said = target->count > 0 ? target->count - 1 : 0; /* the model adds the end by itself */
    const attend_pairs pair = { .count = 1,
                                .source = source->ids,
                                .source_lengths = &source->count,
                                .target = target->ids,
                                .target_lengths = &said };
    const size_t count = attend_pairs_weight_count(&pair, attend_model_config(k->m), k->look);
    double log_p = 0;
    real *given = attend_memory_zeroed(count, sizeof *given);
    if (!given) return no_memory();
    int status = attend_model_score(c, k->m, &pair, &log_p, NULL, k->look, given);
    if (status == ATTEND_OK && isnan(log_p)) status = no_numbers();
    for (size_t i = 0; status == ATTEND_OK && i < count; i++) weights[i] = (float)given[i];
    attend_memory_free(given);
    return status;
}

static int fill_numbers(maker *k, attend_ctx *c)
{
    attend_map *map = &k->w->map;
    const size_t rows = (size_t)map->target_count;
    const bool attention = map->layers > 0, said = k->look != ATTEND_ATTENTION_ENCODER;
    numbers n = { 0 };
    if (attention)
        n.weights =
            take(k->w, (size_t)map->layers * (size_t)map->heads * rows * (size_t)map->source_count, sizeof *n.weights);
    if (said) {
        n.probability = take(k->w, rows, sizeof *n.probability);
        n.choices = take(k->w, rows * ATTEND_MAP_CHOICES, sizeof *n.choices);
    }
    if ((attention && !n.weights) || (said && (!n.probability || !n.choices))) return no_memory();
    if (said) memset(n.choices, 0, ATTEND_MAP_CHOICES * sizeof *n.choices); /* "<s>" has none */
    map->weights = n.weights, map->probability = n.probability, map->choices = n.choices;
    if (!said) map->log_probability = NAN;
    int status = said ? say(k, c, &n) : ATTEND_OK;
    if (status == ATTEND_OK && k->look != ATTEND_ATTENTION_CROSS) status = look_inside(k, c, n.weights);
    return status;
}

/* ---- all of it ---- */

static int check_look(maker *k)
{
    static const char *const lacks[] = { "a language model has no source to look at",
                                         "the model's encoder does not look at itself",
                                         "the model's decoder does not look at itself" };
    const attend_config *config = attend_model_config(k->m);
    attend_map *map = &k->w->map;
    map->look = k->look;
    map->layers = attend_config_attention_layers(config, k->look),
    map->heads = attend_config_attention_heads(config, k->look);
    if (map->layers > 0 || (k->look == ATTEND_ATTENTION_CROSS && has_side(k, 0))) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s", lacks[k->look]);
}

int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, attend_attention_kind look,
                   const char *source, const char *target, const int *target_words, int target_count, double score)
{
    *out = NULL;
    maker k = { .w = attend_memory_zeroed(1, sizeof *k.w), .m = m, .look = look };
    if (!k.w) return no_memory();
    int status = check_look(&k);
    if (status == ATTEND_OK) status = read_sides(&k, source, target, target_words, target_count);
    if (status == ATTEND_OK) status = fill_sides(&k);
    if (status == ATTEND_OK) status = fill_numbers(&k, c);
    k.w->map.forced = target && has_side(&k, 1);
    k.w->map.score = isnan(score) || !has_side(&k, 1) ? k.w->map.log_probability : score;
    for (int i = 0; i < 2; i++) attend_pipeline_free(&k.sides[i]);
    if (status == ATTEND_OK)
        *out = &k.w->map;
    else
        attend_map_free(&k.w->map);
    return status;
}
