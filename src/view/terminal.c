/* terminal.c: an attention map as terminal text: a row for each word that attends, a column for each word attended to,
 * in as many bands of columns as the width requires.
 *
 * With colours, every cell has a foreground and a background of its own, so that the map looks the same on a white and
 * on a black terminal.
 *
 * Columns line up in any script: terminal_columns.c measures the labels, and left-to-right marks around right-to-left
 * words keep a bidirectional terminal from moving the cells next to them. */
#include <attend/grid.h>
#include <attend/view.h>

#include "core/memory.h"
#include "core/status.h"
#include <attend/terminal.h>
#include "view/text_writer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_WIDTH = 80, MIN_WIDTH = 20, MIN_COLUMN = 3, MAX_COLUMN = 14, NUMBER = 4, PERCENT = 100 };

static const char ramp[] = " .:-=+*#%@";                 /* weights from 0 to 1, without colours */
static const char left_to_right_mark[] = "\xe2\x80\x8e"; /* U+200E */

typedef struct sheet {
    attend_text_writer w;
    attend_grid *g;
    int columns; /* of the grid, with the one for the rest */
    int width, colours;
    attend_palette palette;
    short nearest[PERCENT + 1]; /* of each weight in percent, in the palette of 256 colours; 0: not searched yet */
    int label;                  /* terminal columns of the row labels */
    int number;                 /* terminal columns of the probabilities, with the space before them */
    int *widths;                /* of each column of the grid, in terminal columns */
} sheet;

/* ---- columns of the grid ---- */

static const char *column_label(const sheet *s, int j)
{
    return j < s->g->columns ? s->g->column_labels[j] : ATTEND_REST_LABEL;
}

static double weight_at(const sheet *s, int i, int j)
{
    return (double)(j < s->g->columns ? s->g->weights[(size_t)i * (size_t)s->g->columns + (size_t)j] : s->g->rest[i]);
}

/* ---- text in columns ---- */

/* A label cut or padded to exactly `width` columns. */
static void put_label(sheet *s, const char *text, int width, bool right)
{
    int columns;
    size_t size = attend_columns_cut(text, width, &columns);
    const bool cut = text[size], right_to_left = attend_has_right_to_left(text);
    if (cut) size = attend_columns_cut(text, width - 1, &columns);
    const int rest = width - columns - cut;
    if (right || right_to_left) attend_put_times(&s->w, ' ', rest);
    if (right_to_left) attend_put_text(&s->w, left_to_right_mark);
    attend_put_bytes(&s->w, text, size);
    if (cut) attend_put_text(&s->w, "\xe2\x80\xa6");
    if (right_to_left) attend_put_text(&s->w, left_to_right_mark);
    if (!right && !right_to_left) attend_put_times(&s->w, ' ', rest);
}

/* An ASCII sentence, broken into lines that fit. */
static void put_lines(sheet *s, const char *text)
{
    int used = 0;
    for (size_t size; *(text += strspn(text, " ")); text += size) {
        size = strcspn(text, " ");
        const int columns = (int)size; /* ASCII */
        if (used && used + 1 + columns > s->width) attend_put_text(&s->w, "\n"), used = 0;
        if (used) attend_put_text(&s->w, " "), used++;
        attend_put_bytes(&s->w, text, size);
        used += columns;
    }
    attend_put_text(&s->w, "\n");
}

/* ---- cells ---- */

static int byte_of(double x)
{
    return (int)(x * 255 + 0.5);
}

/* A weight in [0, 1] as a level from 0 to `levels`, rounded. */
static int level_of(double weight, int levels)
{
    return weight > 0 ? weight < 1 ? (int)(weight * levels + 0.5) : levels : 0;
}

/* Of the palette of 256 colours: 16 to 231 are a cube of 6 x 6 x 6, 232 to 255 are greys. */
static attend_colour entry_of_256(int number)
{
    static const int levels[6] = { 0, 95, 135, 175, 215, 255 };
    const int grey = 8 + 10 * (number - 232), in_cube = number < 232 ? number - 16 : 0;
    if (number >= 232) return (attend_colour){ grey / 255.0, grey / 255.0, grey / 255.0 };
    const int red = levels[in_cube / 36], green = levels[in_cube / 6 % 6], blue = levels[in_cube % 6];
    return (attend_colour){ red / 255.0, green / 255.0, blue / 255.0 };
}

/* OKLab (Ottosson 2020): distances in it are close to those that are seen. Components of sRGB are squared instead of
 * raised to 2.2, which suffices to compare them. */
static void to_oklab(attend_colour c, double lab[3])
{
    const double r = c.red * c.red, g = c.green * c.green, b = c.blue * c.blue;
    const double l = cbrt(0.4122 * r + 0.5363 * g + 0.0514 * b), m = cbrt(0.2119 * r + 0.6807 * g + 0.1074 * b),
                 s = cbrt(0.0883 * r + 0.2817 * g + 0.6300 * b);
    lab[0] = 0.2105 * l + 0.7936 * m - 0.0041 * s;
    lab[1] = 1.9780 * l - 2.4286 * m + 0.4506 * s;
    lab[2] = 0.0259 * l + 0.7828 * m - 0.8087 * s;
}

static int nearest_of_256(attend_colour c)
{
    double wanted[3], lab[3], best_distance = INFINITY;
    int best = 16;
    to_oklab(c, wanted);
    for (int number = 16; number < 256; number++) {
        double distance = 0;
        to_oklab(entry_of_256(number), lab);
        for (int i = 0; i < 3; i++) distance += (lab[i] - wanted[i]) * (lab[i] - wanted[i]);
        if (distance < best_distance) best = number, best_distance = distance;
    }
    return best;
}

/* The number 16 is black and 231 white on every terminal; the first 16 depend on its settings. */
static void put_colour(sheet *s, double weight)
{
    const int percent = level_of(weight, PERCENT);
    attend_colour c = attend_palette_colour(s->palette, s->colours == 256 ? (double)percent / PERCENT : weight, false);
    if (s->colours == 256) {
        if (s->nearest[percent] == 0) s->nearest[percent] = (short)nearest_of_256(c);
        c = entry_of_256(s->nearest[percent]);
        attend_put(&s->w, "\033[48;5;%d", s->nearest[percent]);
    } else {
        attend_put(&s->w, "\033[48;2;%d;%d;%d", byte_of(c.red), byte_of(c.green), byte_of(c.blue));
    }
    attend_put(&s->w, ";38;5;%dm", attend_colour_is_bright(c) ? 16 : 231);
}

static void put_cell(sheet *s, double weight, int width)
{
    if (s->colours == 0) {
        attend_put_times(&s->w, ramp[level_of(weight, (int)sizeof ramp - 2)], width);
        return;
    }
    const int percent = level_of(weight, PERCENT);
    char number[16] = "";
    if (percent >= 10) snprintf(number, sizeof number, "%d", percent);
    const int left = (width - (int)strlen(number)) / 2;
    put_colour(s, weight);
    attend_put_times(&s->w, ' ', left);
    attend_put_text(&s->w, number);
    attend_put_times(&s->w, ' ', width - left - (int)strlen(number));
    attend_put_text(&s->w, "\033[0m");
}

/* ---- bands ---- */

/* The end of the columns from `first` on that fit next to the labels; at least one column. */
static int band_end(const sheet *s, int first)
{
    int used = s->label + s->number + 1, end = first;
    while (end < s->columns && (end == first || used + s->widths[end] <= s->width)) used += s->widths[end++] + 1;
    return end;
}

static void end_line(sheet *s)
{
    attend_put_trim(&s->w);
    attend_put_text(&s->w, "\n");
}

static void put_band(sheet *s, int first, int end)
{
    bool right_to_left = false;
    for (int j = first; j < end; j++) right_to_left |= attend_has_right_to_left(column_label(s, j));
    if (right_to_left) attend_put_text(&s->w, left_to_right_mark);
    attend_put_times(&s->w, ' ', s->label + s->number);
    for (int j = first; j < end; j++) {
        attend_put_text(&s->w, " ");
        put_label(s, column_label(s, j), s->widths[j], false);
    }
    end_line(s);
    for (int i = 0; i < s->g->rows; i++) {
        if (attend_has_right_to_left(s->g->row_labels[i])) attend_put_text(&s->w, left_to_right_mark);
        put_label(s, s->g->row_labels[i], s->label, true);
        if (s->g->probability && !isnan(s->g->probability[i]))
            attend_put(&s->w, " %*.2f", NUMBER, s->g->probability[i]);
        else
            attend_put_times(&s->w, ' ', s->number);
        for (int j = first; j < end; j++) {
            attend_put_text(&s->w, " ");
            put_cell(s, weight_at(s, i, j), s->widths[j]);
        }
        end_line(s);
    }
}

/* ---- the sheet ---- */

static bool measure(sheet *s)
{
    s->columns = s->g->columns + (s->g->rest != NULL);
    s->widths = attend_memory_zeroed((size_t)s->columns + 1, sizeof *s->widths);
    if (!s->widths) return false;
    for (int i = 0; i < s->g->rows; i++) {
        const int columns = attend_columns(s->g->row_labels[i]);
        if (columns > s->label) s->label = columns;
    }
    if (s->label > s->width / 4) s->label = s->width / 4;
    s->number = s->g->probability ? 1 + NUMBER : 0;
    const int available = s->width - s->label - s->number - 1, max = available < MAX_COLUMN ? available : MAX_COLUMN;
    for (int j = 0; j < s->columns; j++) {
        const int columns = attend_columns(column_label(s, j));
        s->widths[j] = columns < MIN_COLUMN ? MIN_COLUMN : columns < max ? columns : max;
    }
    return true;
}

static void put_statistics(sheet *s, const attend_map *map, const attend_view_options *o)
{
    attend_map_statistics r;
    char text[256], probabilities[96] = "";
    attend_map_describe(map, o->layer, o->head, &r);
    if (s->g->probability)
        snprintf(probabilities, sizeof probabilities, "log p %.3f, confidence %.2f, ", map->log_probability,
                 r.confidence);
    snprintf(text, sizeof text, "%sentropy %.2f bits", probabilities, r.entropy);
    put_lines(s, text);
    if (r.uncovered > 0) {
        snprintf(text, sizeof text, "%d source %s%s almost no attention", r.uncovered,
                 map->source_unit == ATTEND_UNIT_CHARACTER ? "letter"
                 : map->source_unit == ATTEND_UNIT_PIECE   ? "token"
                                                           : "word",
                 r.uncovered > 1 ? "s receive" : " receives");
        put_lines(s, text);
    }
    const char *side = map->kind == ATTEND_ATTENTION_CROSS ? "target" : "text";
    snprintf(text, sizeof text, "the %s repeats itself", side);
    if (r.is_repetitive) put_lines(s, text);
    snprintf(text, sizeof text, "the %s has no words", side);
    if (s->g->rows == 0) put_lines(s, text);
}

static void put_scale(sheet *s)
{
    attend_put_text(&s->w, "0 ");
    for (int i = 0; i <= 9; i++) {
        if (s->colours) put_colour(s, i / 9.0);
        attend_put_times(&s->w, s->colours ? ' ' : ramp[i], 1);
    }
    attend_put_text(&s->w, s->colours ? "\033[0m 1\n" : " 1\n");
}

static void put_title(sheet *s, const char *title)
{
    attend_string label = { 0 };
    if (s->w.status == ATTEND_OK) s->w.status = attend_label(&label, title);
    if (s->w.status == ATTEND_OK) {
        const int columns = attend_columns(label.text);
        put_label(s, label.text, columns < s->width ? columns : s->width, false);
        end_line(s);
    }
    attend_string_free(&label);
}

/* A caption that is too wide has its model on a line of its own. */
static void put_caption(sheet *s, const attend_map *map, const attend_view_options *o)
{
    attend_string caption = { 0 };
    const char *model = attend_view_model_name(map, o);
    attend_view_options unnamed = *o;
    unnamed.model_count = 0;
    if (s->w.status == ATTEND_OK) s->w.status = attend_view_caption(map, o, &caption);
    if (s->w.status == ATTEND_OK && attend_columns(caption.text) <= s->width) {
        put_title(s, caption.text);
    } else if (s->w.status == ATTEND_OK) {
        if (model) put_title(s, model);
        if (s->w.status == ATTEND_OK) s->w.status = attend_view_caption(map, &unnamed, &caption);
        if (s->w.status == ATTEND_OK) put_lines(s, caption.text);
    }
    attend_string_free(&caption);
}

int attend_view_terminal(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, map && o && out);
    sheet s = { .w = attend_text_writer_begin(out),
                .colours = o->colours,
                .palette = o->palette,
                .width = o->width > 0 ? o->width : DEFAULT_WIDTH };
    if (s.width < MIN_WIDTH) s.width = MIN_WIDTH;
    if (s.w.status != ATTEND_OK) return s.w.status;
    const int status = attend_grid_new(&s.g, map, o);
    if (status != ATTEND_OK) return status;
    if (!measure(&s)) s.w.status = attend_fail(ATTEND_NO_MEMORY, "no memory for %d columns", s.columns);
    if (s.w.status == ATTEND_OK) {
        if (o->title) put_title(&s, o->title);
        put_statistics(&s, map, o);
        put_caption(&s, map, o);
        for (int first = 0, end; first < s.columns && s.g->rows > 0; first = end) {
            end = band_end(&s, first);
            attend_put_text(&s.w, "\n");
            put_band(&s, first, end);
        }
        attend_put_text(&s.w, "\n");
        put_scale(&s);
    }
    attend_memory_free(s.widths);
    attend_grid_free(s.g);
    return s.w.status;
}
