/* map.c: a model is made to say a target, step by step, and what it looked at and thought of is written down. */
#include <attend/view.h>

#include "core/arena.h"
#include "core/memory.h"
#include "core/status.h"
#include "decode/links.h"
#include "decode/spell.h"
#include "text/arrays.h"
#include "text/tokenizer.h"
#include <math.h>
#include <string.h>

typedef attend_real real;

/* What attend_map_new gives out is the first member. */
typedef struct whole {
    attend_map map;
    attend_arena arena; /* everything it points to */
} whole;

/* A side while it becomes pieces. */
typedef struct side {
    attend_tokenizer *tokenizer;
    attend_string text; /* in normal form C */
    attend_ids ids;     /* with the end */
} side;

typedef struct maker {
    whole *w;
    side sides[2];
} maker;

/* ---- memory ---- */

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for a map of attention");
}

static void *take(whole *w, size_t count, size_t size)
{
    return attend_arena_take(&w->arena, count * size); /* counts are those of a sentence: no product overflows */
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

static const char *name_of(int which)
{
    return which ? "target" : "source";
}

static int encode(side *x, int which, const char *text)
{
    int status = attend_normalize(&x->text, text, strlen(text));
    if (status == ATTEND_OK)
        status =
            attend_tokenizer_encode(x->tokenizer, x->text.text ? x->text.text : "", x->text.size, &x->ids, 0, 0, 0);
    if (status != ATTEND_OK) return status;
    if (x->text.size == 0 || attend_link_words(x->text.text) == 0 || x->ids.count == 0)
        return attend_fail(ATTEND_BAD_DATA, "the %s is empty: there is nothing to look at", name_of(which));
    return ATTEND_OK;
}

/* Words that were found, as the text they spell; what would end a line or a string is a space. */
static int spell(side *x, const int *words, int count)
{
    int status = attend_string_add(&x->text, "", 0);
    if (status == ATTEND_OK) status = attend_ids_reserve(&x->ids, (size_t)count + 1);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i < count; i++)
        if (words[i] < 0 || words[i] >= attend_tokenizer_size(x->tokenizer) || words[i] == ATTEND_BEGIN ||
            words[i] == ATTEND_END)
            return attend_fail(ATTEND_BAD_USAGE, "attend_map_new: %d is no word of the target", words[i]);
    if (count) memcpy(x->ids.ids, words, (size_t)count * sizeof *words);
    x->ids.count = count;
    status = attend_spell(x->tokenizer, words, count, NULL, &x->text, x->ids.spans);
    for (size_t i = 0; status == ATTEND_OK && i < x->text.size; i++)
        if (x->text.text[i] == '\n' || x->text.text[i] == '\0') x->text.text[i] = ' ';
    return status;
}

static int read_sides(maker *k, const attend_model *m, const char *source, const char *target, const int *words,
                      int count)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < 2; i++)
        status = attend_tokenizer_of(&k->sides[i].tokenizer, m, name_of(i));
    if (status == ATTEND_OK) status = encode(&k->sides[0], 0, source);
    if (status == ATTEND_OK) status = target ? encode(&k->sides[1], 1, target) : spell(&k->sides[1], words, count);
    for (int i = 0; status == ATTEND_OK && i < 2; i++) {
        side *x = &k->sides[i];
        if (x->ids.count > ATTEND_MAP_MOST)
            return attend_fail(ATTEND_BAD_DATA, "the %s has %d pieces, and a map has room for %d", name_of(i),
                               x->ids.count, ATTEND_MAP_MOST);
        status = attend_ids_add(&x->ids, ATTEND_END, x->text.size, x->text.size);
    }
    return status;
}

/* ---- pieces and words ---- */

/* A token without the spaces around it. */
static const char *token(const attend_tokenizer *t, int id)
{
    const char *spelled = attend_tokenizer_token(t, id);
    while (strncmp(spelled, ATTEND_SPACE_SPELLED, ATTEND_SPACE_SIZE) == 0) spelled += ATTEND_SPACE_SIZE;
    return spelled;
}

/* The place of a piece in its text without blanks around it; a part of a character is spelled as the vocabulary has it. */
static const char *piece_text(whole *w, const side *x, int i)
{
    attend_span s = x->ids.spans[i];
    const char *text = x->text.text;
    if (x->ids.ids[i] == ATTEND_END) return copy(w, "</s>", 4);
    while (s.begin < s.end && attend_link_is_blank(text[s.begin])) s.begin++;
    while (s.begin < s.end && attend_link_is_blank(text[s.end - 1])) s.end--;
    const size_t size = (size_t)(s.end - s.begin);
    if (attend_utf8_valid(text + s.begin, size) == size) return copy(w, text + s.begin, size);
    const char *spelled = token(x->tokenizer, x->ids.ids[i]);
    return copy(w, spelled, strlen(spelled));
}

static const attend_map_piece *pieces_of(whole *w, const side *x)
{
    const int count = x->ids.count;
    attend_map_piece *pieces = take(w, (size_t)count, sizeof *pieces);
    int *words = take(w, (size_t)count, sizeof *words);
    if (!pieces || !words) return NULL;
    attend_link_numbers(&(attend_link_side){ x->text.text, x->ids.spans, count - 1 }, words);
    words[count - 1] = -1; /* the end */
    for (int i = 0; i < count; i++) {
        pieces[i] = (attend_map_piece){ .text = piece_text(w, x, i), .id = x->ids.ids[i], .word = words[i] };
        if (!pieces[i].text) return NULL;
    }
    return pieces;
}

static const char *const *words_of(whole *w, const side *x, int *count)
{
    *count = attend_link_words(x->text.text);
    const char **words = take(w, (size_t)*count + 1, sizeof *words);
    attend_span *places = take(w, (size_t)*count + 1, sizeof *places);
    if (!words || !places) return NULL;
    attend_link_places(x->text.text, places);
    for (int i = 0; i < *count; i++) {
        words[i] = copy(w, x->text.text + places[i].begin, (size_t)(places[i].end - places[i].begin));
        if (!words[i]) return NULL;
    }
    return words;
}

static int fill_sides(maker *k)
{
    attend_map *map = &k->w->map;
    const side *s = &k->sides[0], *t = &k->sides[1];
    map->source_text = copy(k->w, s->text.text, s->text.size),
    map->target_text = copy(k->w, t->text.text, t->text.size);
    map->source = pieces_of(k->w, s), map->target = pieces_of(k->w, t);
    map->source_words = words_of(k->w, s, &map->source_word_count);
    map->target_words = words_of(k->w, t, &map->target_word_count);
    map->source_count = s->ids.count, map->target_count = t->ids.count;
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
    int best[ATTEND_MAP_CHOICES], count = 0;
    for (int v = 0; v < vocabulary; v++) {
        if (v == ATTEND_BEGIN || (count == ATTEND_MAP_CHOICES && !(log_p[v] > log_p[best[count - 1]]))) continue;
        int at = count < ATTEND_MAP_CHOICES ? count++ : count - 1;
        for (; at > 0 && log_p[v] > log_p[best[at - 1]]; at--) best[at] = best[at - 1];
        best[at] = v;
    }
    for (int i = 0; i < ATTEND_MAP_CHOICES; i++) {
        to[i] = (attend_map_choice){ NULL, 0 };
        if (i >= count) continue;
        const char *spelled = token(k->sides[1].tokenizer, best[i]);
        to[i] = (attend_map_choice){ copy(k->w, spelled, strlen(spelled)), exp((double)log_p[best[i]]) };
        if (!to[i].text) return false;
    }
    return true;
}

/* What the last step says about row i of the map. */
static int note(maker *k, const attend_decoding *d, int vocabulary, int i, numbers *n)
{
    attend_map *map = &k->w->map;
    const real *log_p = attend_decoding_log_probabilities(d);
    const double p = (double)log_p[map->target[i].id];
    if (isnan(p) || p > 1) return attend_fail(ATTEND_FAILED, "the model's probabilities for it are not numbers");
    map->log_probability += p;
    n->probability[i] = exp(p);
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    for (int each = 0; n->weights && each < map->layers * map->heads; each++) {
        const real *w = attend_decoding_weights(d, 0, each / map->heads, each % map->heads);
        float *row = n->weights + (size_t)each * area + (size_t)i * columns;
        for (size_t j = 0; j < columns; j++) row[j] = (float)w[j];
    }
    return choose(k, log_p, vocabulary, n->choices + (size_t)i * ATTEND_MAP_CHOICES) ? ATTEND_OK : no_memory();
}

static int say(maker *k, attend_ctx *c, const attend_model *m, numbers *n)
{
    const attend_map *map = &k->w->map;
    const int one = 1, parent = 0, vocabulary = attend_model_config(m)->target_vocab;
    attend_decoding *d = NULL;
    int status = attend_decoding_new(&d, c, m, 1, k->sides[0].ids.ids, &map->source_count);
    for (int i = 0; status == ATTEND_OK && i < map->target_count; i++) {
        const int word = i ? map->target[i - 1].id : ATTEND_BEGIN;
        status = attend_decoding_step(d, &one, &parent, &word);
        if (status == ATTEND_OK) status = note(k, d, vocabulary, i, n);
    }
    attend_decoding_free(d);
    return status;
}

static int fill_numbers(maker *k, attend_ctx *c, const attend_model *m)
{
    attend_map *map = &k->w->map;
    const size_t rows = (size_t)map->target_count;
    map->layers = attend_config_look_layers(attend_model_config(m), ATTEND_LOOK_SOURCE);
    map->heads = attend_config_look_heads(attend_model_config(m), ATTEND_LOOK_SOURCE);
    const bool attention = map->layers > 0;
    numbers n = { .probability = take(k->w, rows, sizeof *n.probability),
                  .choices = take(k->w, rows * ATTEND_MAP_CHOICES, sizeof *n.choices) };
    if (attention)
        n.weights =
            take(k->w, (size_t)map->layers * (size_t)map->heads * rows * (size_t)map->source_count, sizeof *n.weights);
    if (!n.probability || !n.choices || (attention && !n.weights)) return no_memory();
    map->weights = n.weights, map->probability = n.probability, map->choices = n.choices;
    return say(k, c, m, &n);
}

int attend_map_new(attend_map **out, attend_ctx *c, const attend_model *m, const char *source, const char *target,
                   const int *target_words, int target_count, double score)
{
    *out = NULL;
    maker k = { .w = attend_memory_zeroed(1, sizeof *k.w) };
    if (!k.w) return no_memory();
    int status = read_sides(&k, m, source, target, target_words, target_count);
    if (status == ATTEND_OK) status = fill_sides(&k);
    if (status == ATTEND_OK) status = fill_numbers(&k, c, m);
    k.w->map.forced = target != NULL;
    k.w->map.score = isnan(score) ? k.w->map.log_probability : score;
    for (int i = 0; i < 2; i++) {
        attend_tokenizer_free(k.sides[i].tokenizer);
        attend_string_free(&k.sides[i].text);
        attend_ids_free(&k.sides[i].ids);
    }
    if (status == ATTEND_OK)
        *out = &k.w->map;
    else
        attend_map_free(&k.w->map);
    return status;
}
