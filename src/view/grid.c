#include "view/grid.h"

#include "core/status.h"
#include "format/utf8.h"
#include <string.h>

/* ---- labels ---- */

static bool is_control(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Marks, embeddings, overrides and isolates of the bidirectional algorithm. */
static bool turns(int32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

const char *attend_grid_label(attend_arena *arena, const char *text)
{
    static const char wrong[] = "\xef\xbf\xbd", space[] = "\xe2\x90\xa3";
    const size_t size = strlen(text);
    char *label = attend_arena_alloc(arena, 3 * size + sizeof space); /* a byte becomes three at most */
    size_t used = 0;
    if (!label) return NULL;
    for (size_t i = 0; i < size;) {
        int32_t c;
        const size_t n = attend_utf8_next(text + i, size - i, &c);
        if (n == 0 || is_control(c)) {
            memcpy(label + used, wrong, 3);
            used += 3;
        } else if (!turns(c)) {
            memcpy(label + used, text + i, n);
            used += n;
        }
        i += n ? n : 1;
    }
    if (used == 0) memcpy(label, space, 3), used = 3;
    label[used] = '\0';
    return label;
}

static bool piece_labels(attend_grid *g, const attend_map_piece *pieces, int count, const char **labels)
{
    for (int i = 0; i < count; i++)
        if (!(labels[i] = attend_grid_label(&g->arena, pieces[i].text))) return false;
    return true;
}

static bool word_labels(attend_grid *g, const char *const *words, int count, const char **labels)
{
    for (int i = 0; i < count; i++)
        if (!(labels[i] = attend_grid_label(&g->arena, words[i]))) return false;
    return true;
}

/* ---- the grid ---- */

int attend_view_check(const attend_map *map, const attend_view_options *o)
{
    if (o->layer >= map->layers)
        return attend_fail(ATTEND_BAD_USAGE, "there is no layer %d of attention: they count from 0, and there are %d",
                           o->layer, map->layers);
    if (o->head >= map->heads)
        return attend_fail(ATTEND_BAD_USAGE, "there is no head %d of attention: they count from 0, and there are %d",
                           o->head, map->heads);
    return ATTEND_OK;
}

static bool fill_probabilities(attend_grid *g, const attend_map *map, bool pieces)
{
    if (!map->probability) return true;
    g->probability = attend_arena_alloc(&g->arena, ((size_t)g->rows + 1) * sizeof *g->probability);
    if (!g->probability) return false;
    for (int i = 0; i < g->rows; i++) g->probability[i] = 1;
    for (int i = 0; i < map->target_count; i++) {
        const int row = pieces ? i : map->target[i].word;
        if (row >= 0) g->probability[row] *= map->probability[i];
    }
    return true;
}

static bool is_causal(const attend_grid *g, const attend_map *map)
{
    if (map->look == ATTEND_ATTENTION_CROSS) return false;
    for (int i = 0; i < g->rows; i++)
        for (int j = i + 1; j < g->columns; j++)
            if (g->weights[(size_t)i * (size_t)g->columns + (size_t)j] != 0) return false;
    return true;
}

static bool fill(attend_grid *g, const attend_map *map, const attend_view_options *o)
{
    const size_t rows = (size_t)g->rows, columns = (size_t)g->columns;
    g->row = attend_arena_alloc(&g->arena, (rows + 1) * sizeof *g->row);
    g->column = attend_arena_alloc(&g->arena, (columns + 1) * sizeof *g->column);
    g->weights = attend_arena_alloc(&g->arena, (rows * columns + 1) * sizeof *g->weights);
    if (!g->row || !g->column || !g->weights || !fill_probabilities(g, map, o->pieces)) return false;
    (o->pieces ? attend_map_weights : attend_map_word_weights)(map, o->layer, o->head, g->weights);
    g->causal = is_causal(g, map);
    if (o->pieces)
        return piece_labels(g, map->target, g->rows, g->row) && piece_labels(g, map->source, g->columns, g->column);
    return word_labels(g, map->target_words, g->rows, g->row) &&
           word_labels(g, map->source_words, g->columns, g->column);
}

int attend_grid_new(attend_grid *g, const attend_map *map, const attend_view_options *o)
{
    *g = (attend_grid){ .rows = o->pieces ? map->target_count : map->target_word_count,
                        .columns = o->pieces ? map->source_count : map->source_word_count };
    if (!map->weights) return attend_fail(ATTEND_BAD_USAGE, "there is no attention to look at: the model has none");
    const int status = attend_view_check(map, o);
    if (status != ATTEND_OK) return status;
    if (fill(g, map, o)) return ATTEND_OK;
    attend_grid_free(g);
    return attend_fail(ATTEND_NO_MEMORY, "no memory to draw %d times %d words", g->rows, g->columns);
}

void attend_grid_free(attend_grid *g)
{
    attend_arena_free(&g->arena);
}

/* ---- colours ---- */

enum { STOPS = 5 };

static attend_colour between(const unsigned char stops[STOPS][3], double weight)
{
    const double at = (weight > 0 ? weight < 1 ? weight : 1 : 0) * (STOPS - 1);
    const int low = at < STOPS - 1 ? (int)at : STOPS - 2;
    double rgb[3];
    for (int i = 0; i < 3; i++) rgb[i] = (stops[low][i] + (at - low) * (stops[low + 1][i] - stops[low][i])) / 255;
    return (attend_colour){ rgb[0], rgb[1], rgb[2] };
}

attend_colour attend_colour_paper(double weight)
{
    static const unsigned char stops[STOPS][3] = {
        { 255, 255, 255 }, { 203, 224, 242 }, { 120, 174, 216 }, { 44, 108, 176 }, { 10, 38, 94 }
    };
    return between(stops, weight);
}

attend_colour attend_colour_screen(double weight)
{
    static const unsigned char stops[STOPS][3] = {
        { 44, 20, 84 }, { 108, 32, 124 }, { 192, 56, 88 }, { 240, 132, 44 }, { 252, 232, 96 }
    };
    return between(stops, weight);
}

bool attend_colour_bright(attend_colour c)
{
    return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue > 0.5;
}
