/* map_statistics.c: what is computed from a map: the weights of one head or the mean of several, between tokens or
 * words, and statistics. */
#include <attend/view.h>

#include "core/status.h"
#include <math.h>
#include <string.h>

/* Whether there are weights of this layer and head; -1: the mean. */
static bool has_maps(const attend_map *map, int layer, int head)
{
    return map->weights && layer < map->layers && head < map->heads;
}

/* The weight of one cell, averaged over the selected layers and heads. */
static double cell(const attend_map *map, int layer, int head, int row, int column)
{
    const size_t columns = (size_t)map->source_count, area = (size_t)map->target_count * columns;
    const int first[2] = { layer < 0 ? 0 : layer, head < 0 ? 0 : head };
    const int last[2] = { layer < 0 ? map->layers - 1 : layer, head < 0 ? map->heads - 1 : head };
    double sum = 0;
    for (int l = first[0]; l <= last[0]; l++)
        for (int h = first[1]; h <= last[1]; h++)
            sum += (double)map->weights[((size_t)l * (size_t)map->heads + (size_t)h) * area + (size_t)row * columns +
                                        (size_t)column];
    return sum / ((last[0] - first[0] + 1) * (last[1] - first[1] + 1));
}

void attend_map_weights(const attend_map *map, int layer, int head, float *to)
{
    ATTEND_REQUIRE_VOID(map && to && has_maps(map, layer, head));
    for (int i = 0; i < map->target_count; i++)
        for (int j = 0; j < map->source_count; j++)
            to[(size_t)i * (size_t)map->source_count + (size_t)j] = (float)cell(map, layer, head, i, j);
}

void attend_map_word_weights(const attend_map *map, int layer, int head, float *to)
{
    ATTEND_REQUIRE_VOID(map && to && has_maps(map, layer, head));
    const size_t words = (size_t)map->source_word_count;
    if (words == 0 || map->target_word_count == 0) return;
    memset(to, 0, words * (size_t)map->target_word_count * sizeof *to);
    for (int i = 0, next; i < map->target_count; i = next) {
        for (next = i + 1; next < map->target_count && map->target[next].word == map->target[i].word;) next++;
        if (map->target[i].word < 0) continue;
        float *row = to + (size_t)map->target[i].word * words;
        for (int k = i; k < next; k++)
            for (int j = 0; j < map->source_count; j++)
                if (map->source[j].word >= 0)
                    row[map->source[j].word] += (float)(cell(map, layer, head, k, j) / (next - i));
    }
}

/* What the row of one token lacks, counting only tokens of words unless by_token. */
static double rest_of_token(const attend_map *map, int layer, int head, bool by_token, int row)
{
    double all = 0, shown = 0;
    for (int j = 0; j < map->source_count; j++) {
        const double w = cell(map, layer, head, row, j);
        all += w;
        if (by_token || map->source[j].word >= 0) shown += w;
    }
    return all > 0 && shown < 1 ? 1 - shown : 0;
}

void attend_map_rest(const attend_map *map, int layer, int head, bool by_token, float *to)
{
    ATTEND_REQUIRE_VOID(map && to && has_maps(map, layer, head));
    /* a character that shares its token with the next one has no row */
    for (int i = 0; !by_token && i < map->target_word_count; i++) to[i] = 0;
    for (int i = 0, next; i < map->target_count; i = next) {
        next = i + 1;
        while (!by_token && next < map->target_count && map->target[next].word == map->target[i].word) next++;
        if (!by_token && map->target[i].word < 0) continue;
        double sum = 0;
        for (int k = i; k < next; k++) sum += rest_of_token(map, layer, head, by_token, k);
        to[by_token ? i : map->target[i].word] = (float)(sum / (next - i));
    }
}

/* ---- statistics ---- */

static double entropy(const attend_map *map, int layer, int head)
{
    double bits = 0;
    for (int i = 0; i < map->target_count; i++)
        for (int j = 0; j < map->source_count; j++) {
            const double w = cell(map, layer, head, i, j);
            if (w > 0) bits -= w * log2(w);
        }
    return bits / map->target_count;
}

static int count_uncovered(const attend_map *map, int layer, int head)
{
    int count = 0;
    for (int first = 0, next; first < map->source_count; first = next) {
        double sum = 0;
        for (next = first; next < map->source_count && map->source[next].word == map->source[first].word; next++)
            for (int i = 0; i < map->target_count; i++) sum += cell(map, layer, head, i, next);
        if (map->source[first].word >= 0 && sum < 0.2) count++;
    }
    return count;
}

/* Whether n >= 3 words are followed by the same n words: n consecutive words that each equal the word n positions
 * later. Words such as "couscous" repeat their sounds once, so that letters and phonemes must do it twice. */
static bool is_repetitive(const attend_map *map)
{
    const int times = map->source_unit == ATTEND_UNIT_CHARACTER || map->target_unit == ATTEND_UNIT_CHARACTER ? 2 : 1;
    for (int n = 3; 2 * n <= map->target_word_count; n++)
        for (int i = 0, equal = 0; i + n < map->target_word_count; i++) {
            equal = strcmp(map->target_words[i], map->target_words[i + n]) == 0 ? equal + 1 : 0;
            if (equal == times * n) return true;
        }
    return false;
}

void attend_map_describe(const attend_map *map, int layer, int head, attend_map_statistics *out)
{
    ATTEND_REQUIRE_VOID(map && out && (!map->weights || has_maps(map, layer, head)));
    *out = (attend_map_statistics){ .confidence = exp(map->log_probability / map->target_count),
                                    .is_repetitive = map->kind != ATTEND_ATTENTION_ENCODER && is_repetitive(map) };
    if (!map->weights) return;
    out->entropy = entropy(map, layer, head);
    if (map->kind == ATTEND_ATTENTION_CROSS) out->uncovered = count_uncovered(map, layer, head);
}

const char *const attend_attention_kind_names[] = { "cross", "encoder", "decoder", NULL };

const char *attend_attention_kind_name(attend_attention_kind kind)
{
    return (unsigned)kind <= ATTEND_ATTENTION_DECODER ? attend_attention_kind_names[kind] : NULL;
}
