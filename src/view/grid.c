#include <attend/grid.h>

#include "core/arena.h"
#include "core/memory.h"
#include "core/printable.h"
#include "core/status.h"
#include "core/string.h"
#include "core/utf8.h"
#include <string.h>

/* ---- labels ---- */

/* Marks, embeddings, overrides and isolates of the Unicode bidirectional algorithm. */
static bool changes_direction(int32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || attend_overrides_direction(c);
}

/* Writes the label of a text to `label`, which has room for 3 * size + 4 bytes (a byte becomes at most three). Returns
 * its size. */
static size_t write_label(char *label, const char *text, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd", open_box[] = "\xe2\x90\xa3";
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        int32_t c;
        const size_t n = attend_utf8_next(text + i, size - i, &c);
        if (n == 0 || attend_is_control(c)) {
            memcpy(label + used, replacement, 3);
            used += 3;
        } else if (!changes_direction(c)) {
            memcpy(label + used, text + i, n);
            used += n;
        }
        i += n ? n : 1;
    }
    if (used == 0) memcpy(label, open_box, 3), used = 3;
    label[used] = '\0';
    return used;
}

int attend_label(attend_string *out, const char *text)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && text);
    const size_t size = strlen(text);
    out->size = 0;
    const int status = attend_string_reserve(out, 3 * size + 3);
    if (status == ATTEND_OK) out->size = write_label(out->text, text, size);
    return status;
}

/* ---- the grid ---- */

/* What attend_grid_new returns is the first member. */
typedef struct owned_grid {
    attend_grid grid;
    attend_arena arena; /* everything it points to */
} owned_grid;

static const char *take_label(owned_grid *g, const char *text, bool is_unknown)
{
    const size_t size = strlen(text);
    char *label = attend_arena_alloc(&g->arena, 3 * size + 4 + sizeof ATTEND_UNKNOWN_MARK);
    const size_t used = label ? write_label(label, text, size) : 0;
    if (label && is_unknown) memcpy(label + used, ATTEND_UNKNOWN_MARK, sizeof ATTEND_UNKNOWN_MARK);
    return label;
}

/* The labels of the tokens or words of a side, `count` of them. NULL: no memory. */
static const char *const *take_labels(owned_grid *g, const attend_map *map, bool target, bool by_token, int count)
{
    const attend_map_token *tokens = target ? map->target : map->source;
    const char *const *words = target ? map->target_words : map->source_words;
    const char **labels = attend_arena_alloc(&g->arena, ((size_t)count + 1) * sizeof *labels);
    for (int i = 0; labels && i < count; i++) {
        const bool is_unknown = by_token ? tokens[i].unknown : attend_map_word_is_unknown(map, target, i);
        if (!(labels[i] = take_label(g, by_token ? tokens[i].text : words[i], is_unknown))) return NULL;
    }
    return labels;
}

int attend_view_check(const attend_map *map, const attend_view_options *o)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, map && o);
    if (o->layer >= map->layers)
        return attend_fail(ATTEND_BAD_USAGE, "layer %d of attention is out of range: the model has %d, counted from 0",
                           o->layer, map->layers);
    if (o->head >= map->heads)
        return attend_fail(ATTEND_BAD_USAGE, "head %d of attention is out of range: the model has %d, counted from 0",
                           o->head, map->heads);
    if (!attend_palette_name(o->palette))
        return attend_fail(ATTEND_BAD_USAGE, "there is no palette %d", (int)o->palette);
    return ATTEND_OK;
}

static bool fill_probabilities(owned_grid *g, const attend_map *map, bool by_token)
{
    if (!map->probability) return true;
    double *probability = attend_arena_alloc(&g->arena, ((size_t)g->grid.rows + 1) * sizeof *probability);
    g->grid.probability = probability;
    if (!probability) return false;
    for (int i = 0; i < g->grid.rows; i++) probability[i] = 1;
    for (int i = 0; i < map->target_count; i++) {
        const int row = by_token ? i : map->target[i].word;
        if (row >= 0) probability[row] *= map->probability[i];
    }
    return true;
}

static bool is_causal(const attend_grid *g, const attend_map *map)
{
    if (map->kind == ATTEND_ATTENTION_CROSS) return false;
    for (int i = 0; i < g->rows; i++)
        for (int j = i + 1; j < g->columns; j++)
            if (g->weights[(size_t)i * (size_t)g->columns + (size_t)j] != 0) return false;
    return true;
}

/* The rest of each row, unless it is invisible in all of them. */
static bool fill_rest(owned_grid *o, const attend_map *map, const attend_view_options *options)
{
    static const float visible = 0.005f;
    float *rest = attend_arena_alloc(&o->arena, ((size_t)o->grid.rows + 1) * sizeof *rest);
    if (!rest) return false;
    attend_map_rest(map, options->layer, options->head, options->by_token, rest);
    for (int i = 0; i < o->grid.rows; i++)
        if (rest[i] >= visible) o->grid.rest = rest;
    return true;
}

static bool fill(owned_grid *o, const attend_map *map, const attend_view_options *options)
{
    attend_grid *g = &o->grid;
    const bool by_token = options->by_token;
    float *weights = attend_arena_alloc(&o->arena, ((size_t)g->rows * (size_t)g->columns + 1) * sizeof *weights);
    g->weights = weights;
    g->row_labels = take_labels(o, map, true, by_token, g->rows);
    g->column_labels = take_labels(o, map, false, by_token, g->columns);
    if (!weights || !g->row_labels || !g->column_labels || !fill_probabilities(o, map, by_token)) return false;
    (by_token ? attend_map_weights : attend_map_word_weights)(map, options->layer, options->head, weights);
    g->is_causal = is_causal(g, map);
    return fill_rest(o, map, options);
}

int attend_grid_new(attend_grid **out, const attend_map *map, const attend_view_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && map && options);
    const int rows = options->by_token ? map->target_count : map->target_word_count;
    const int columns = options->by_token ? map->source_count : map->source_word_count;
    *out = NULL;
    if (!map->weights) return attend_fail(ATTEND_BAD_USAGE, "the model has no attention to show");
    const int status = attend_view_check(map, options);
    if (status != ATTEND_OK) return status;
    owned_grid *g = attend_memory_zeroed(1, sizeof *g);
    if (g) {
        g->grid.rows = rows, g->grid.columns = columns;
        *out = &g->grid;
        if (fill(g, map, options)) return ATTEND_OK;
        attend_grid_free(*out);
        *out = NULL;
    }
    return attend_fail(ATTEND_NO_MEMORY, "no memory for a grid of %d by %d cells", rows, columns);
}

void attend_grid_free(attend_grid *grid)
{
    owned_grid *g = (owned_grid *)grid;
    if (!g) return;
    attend_arena_free(&g->arena);
    attend_memory_free(g);
}
