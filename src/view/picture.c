/* picture.c: an attention map as SVG or PNG: a row for each word that attends, a column for each word attended to, and
 * a colour bar. Column labels are slanted if they are wider than a cell.
 *
 * The only file that uses cairo (lines, colours, files) and pango (text in any script), and a library of its own, which
 * uses public headers only. All lengths are in points. A PNG has two pixels per point, or one if it would be very
 * large. */
#include <attend/grid.h>
#include <attend/picture.h>
#include <attend/status.h>
#include <cairo-svg.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <string.h>

enum {
    GRID_SIZE = 560, /* of all cells together, within the limits of a cell */
    MIN_CELL = 14,
    MAX_CELL = 34,
    MIN_CELL_WITH_NUMBER = 24,
    MAX_LABEL = 150,
    MAX_LABEL_BYTES = 1000, /* of a label or title */
    MARGIN = 12,
    GAP = 5, /* between cells and labels */
    BAR_GAP = 18,
    BAR_WIDTH = 10,
    MIN_BAR = 60,
    MAX_BAR = 160
};
static const double slant = 0.70710678118654752; /* sine and cosine of 45 degrees */
static const double max_pixels_at_scale_2 = 1 << 25;

typedef struct picture {
    attend_grid *g;
    attend_string title; /* empty: none */
    PangoFontMap *fonts;
    PangoContext *context;
    PangoLayout *layout;
    cairo_t *to; /* NULL while the picture is measured */
    double font, cell;
    bool slanted;
    double left, top; /* of the cells */
    double bar;       /* height of the colour bar */
    double width, height;
} picture;

/* ---- text ---- */

/* Bytes of a label that are laid out. A label is cut at MAX_LABEL with an ellipsis; laying out megabytes to find that
 * point takes a minute. */
static int laid_out_bytes(const char *text)
{
    return (int)attend_utf8_cut(text, strnlen(text, MAX_LABEL_BYTES + 1), MAX_LABEL_BYTES);
}

/* Lays out a text, cut to `max_width`, and returns its extents in pango units. */
static PangoRectangle lay_out(picture *p, const char *text, double size, double max_width)
{
    PangoFontDescription *font = pango_font_description_from_string("Sans");
    PangoRectangle extents;
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_layout_set_font_description(p->layout, font);
    pango_font_description_free(font);
    pango_layout_set_width(p->layout, -1);
    pango_layout_set_text(p->layout, text, laid_out_bytes(text));
    pango_layout_get_extents(p->layout, NULL, &extents);
    if (extents.width > max_width * PANGO_SCALE) {
        pango_layout_set_width(p->layout, (int)(max_width * PANGO_SCALE));
        pango_layout_get_extents(p->layout, NULL, &extents);
    }
    return extents;
}

static double points(int pango_units)
{
    return (double)pango_units / PANGO_SCALE;
}

/* Draws a text with its middle line at y. `share` is the part of its width to the left of x: 0 left-aligned, 0.5
 * centred, 1 right-aligned. */
static void write_text(picture *p, const char *text, double size, double max_width, double x, double y, double share)
{
    const PangoRectangle e = lay_out(p, text, size, max_width);
    cairo_move_to(p->to, x - points(e.x) - share * points(e.width), y - points(e.y) - points(e.height) / 2);
    pango_cairo_show_layout(p->to, p->layout);
}

/* ---- measures ---- */

static double clamp(double x, double min, double max)
{
    return x < min ? min : x > max ? max : x;
}

static void measure(picture *p)
{
    const attend_grid *g = p->g;
    const int longer = g->rows > g->columns ? g->rows : g->columns;
    p->cell = clamp(floor(GRID_SIZE / (double)longer), MIN_CELL, MAX_CELL);
    p->font = clamp(0.55 * p->cell, 8.5, 13);
    double row = 0, column = 0, rightmost = 0, line = 0;
    for (int i = 0; i < g->rows; i++) row = fmax(row, points(lay_out(p, g->row_labels[i], p->font, MAX_LABEL).width));
    for (int j = 0; j < g->columns; j++) {
        const PangoRectangle e = lay_out(p, g->column_labels[j], p->font, MAX_LABEL);
        column = fmax(column, points(e.width)), line = fmax(line, points(e.height));
        rightmost = fmax(rightmost, (j + 0.5) * p->cell + slant * (points(e.width) + points(e.height) / 2));
    }
    p->slanted = column > p->cell - 4;
    if (!p->slanted) rightmost = 0;
    p->left = ceil(MARGIN + row + GAP);
    p->top = ceil(MARGIN + (p->title.size ? 2 * p->font : 0) + (p->slanted ? slant * (column + line / 2) : line) + GAP);
    const double across = p->cell * g->columns, down = p->cell * g->rows;
    p->bar = clamp(down, MIN_BAR, MAX_BAR);
    p->width = ceil(p->left + fmax(across + BAR_GAP + BAR_WIDTH + 2.5 * p->font, rightmost) + MARGIN);
    p->height = ceil(p->top + fmax(down, p->bar) + MARGIN);
}

/* ---- drawing ---- */

static void colour(picture *p, attend_colour c)
{
    cairo_set_source_rgb(p->to, c.red, c.green, c.blue);
}

static void grey(picture *p, double level)
{
    cairo_set_source_rgb(p->to, level, level, level);
}

static void draw_labels(picture *p)
{
    const attend_grid *g = p->g;
    grey(p, 0.1);
    for (int i = 0; i < g->rows; i++)
        write_text(p, g->row_labels[i], p->font, MAX_LABEL, p->left - GAP, p->top + (i + 0.5) * p->cell, 1);
    for (int j = 0; j < g->columns; j++) {
        const double x = p->left + (j + 0.5) * p->cell, y = p->top - GAP;
        if (!p->slanted) {
            write_text(p, g->column_labels[j], p->font, MAX_LABEL, x, y - 0.6 * p->font, 0.5);
            continue;
        }
        cairo_save(p->to);
        cairo_translate(p->to, x, y);
        cairo_rotate(p->to, -G_PI / 4);
        write_text(p, g->column_labels[j], p->font, MAX_LABEL, 0, 0, 0);
        cairo_restore(p->to);
    }
}

static void draw_cell(picture *p, double weight, double x, double y)
{
    char number[16];
    if (!(weight > 0.002)) return; /* white, like the background */
    const attend_colour c = attend_colour_paper(weight);
    colour(p, c);
    cairo_rectangle(p->to, x, y, p->cell, p->cell);
    cairo_fill(p->to);
    if (p->cell < MIN_CELL_WITH_NUMBER || weight < 0.05) return;
    snprintf(number, sizeof number, "%.2f", weight);
    grey(p, attend_colour_is_bright(c) ? 0.1 : 1);
    write_text(p, number, 0.34 * p->cell, p->cell, x + p->cell / 2, y + p->cell / 2, 0.5);
}

/* Cells that a causal mask excludes are grey, to tell them from weights of 0. */
static void draw_masked_cells(picture *p)
{
    const int n = p->g->rows;
    grey(p, 0.955);
    for (int i = 0; i + 1 < n; i++)
        cairo_rectangle(p->to, p->left + (i + 1) * p->cell, p->top + i * p->cell, (n - 1 - i) * p->cell, p->cell);
    cairo_fill(p->to);
}

static void draw_cells(picture *p)
{
    const attend_grid *g = p->g;
    const double across = p->cell * g->columns, down = p->cell * g->rows;
    for (int i = 0; i < g->rows; i++)
        for (int j = 0; j < g->columns; j++)
            draw_cell(p, (double)g->weights[(size_t)i * (size_t)g->columns + (size_t)j], p->left + j * p->cell,
                      p->top + i * p->cell);
    if (g->is_causal) draw_masked_cells(p);
    grey(p, 0.82);
    cairo_set_line_width(p->to, 0.4);
    for (int i = 1; i < g->rows; i++) {
        cairo_move_to(p->to, p->left, p->top + i * p->cell);
        cairo_rel_line_to(p->to, across, 0);
    }
    for (int j = 1; j < g->columns; j++) {
        cairo_move_to(p->to, p->left + j * p->cell, p->top);
        cairo_rel_line_to(p->to, 0, down);
    }
    cairo_stroke(p->to);
    grey(p, 0.35);
    cairo_set_line_width(p->to, 0.8);
    cairo_rectangle(p->to, p->left, p->top, across, down);
    cairo_stroke(p->to);
}

static void draw_bar(picture *p)
{
    static const char *const ticks[] = { "0", "0.5", "1" };
    const double x = p->left + p->cell * p->g->columns + BAR_GAP, y = p->top;
    cairo_pattern_t *shades = cairo_pattern_create_linear(0, y + p->bar, 0, y);
    for (int i = 0; i <= 4; i++) {
        const attend_colour c = attend_colour_paper(i / 4.0);
        cairo_pattern_add_color_stop_rgb(shades, i / 4.0, c.red, c.green, c.blue);
    }
    cairo_rectangle(p->to, x, y, BAR_WIDTH, p->bar);
    cairo_set_source(p->to, shades);
    cairo_fill_preserve(p->to);
    cairo_pattern_destroy(shades);
    grey(p, 0.35);
    cairo_set_line_width(p->to, 0.6);
    cairo_stroke(p->to);
    for (int i = 0; i < 3; i++) write_text(p, ticks[i], 9, MAX_LABEL, x + BAR_WIDTH + 4, y + p->bar * (1 - i / 2.0), 0);
}

static cairo_status_t draw(picture *p, cairo_surface_t *surface)
{
    p->to = cairo_create(surface);
    pango_cairo_update_layout(p->to, p->layout);
    grey(p, 1);
    cairo_paint(p->to);
    grey(p, 0);
    if (p->title.size)
        write_text(p, p->title.text, 1.15 * p->font, p->width - 2 * MARGIN, MARGIN, MARGIN + 0.6 * p->font, 0);
    draw_labels(p);
    draw_cells(p);
    draw_bar(p);
    const cairo_status_t status = cairo_status(p->to);
    cairo_destroy(p->to);
    p->to = NULL;
    return status;
}

/* ---- the picture ---- */

static void picture_free(picture *p)
{
    if (p->layout) g_object_unref(p->layout);
    if (p->context) g_object_unref(p->context);
    if (p->fonts) g_object_unref(p->fonts);
    attend_grid_free(p->g);
    attend_string_free(&p->title);
}

/* ATTEND_BAD_DATA if the grid has no rows or does not fit. */
static int check_size(const attend_grid *g, const attend_map *map, bool by_token)
{
    const char *unit = by_token ? "tokens" : "words";
    if (g->rows == 0)
        return attend_fail(ATTEND_BAD_DATA, "the %s has no %s to draw%s",
                           map->kind == ATTEND_ATTENTION_CROSS ? "target" : "text", unit,
                           by_token ? "" : "; draw its tokens, or another target");
    if (g->rows > ATTEND_PICTURE_MAX || g->columns > ATTEND_PICTURE_MAX)
        return attend_fail(ATTEND_BAD_DATA,
                           "a picture has at most %d rows and columns; the source has %d %s and the target %d%s",
                           ATTEND_PICTURE_MAX, g->columns, unit, g->rows,
                           by_token ? "; draw words instead of tokens" : "");
    return ATTEND_OK;
}

/* Prepares everything except the surface, and empties `out`. */
static int picture_new(picture *p, const attend_map *map, const attend_view_options *o, attend_string *out)
{
    *p = (picture){ 0 };
    if (!map || !o || !out)
        return attend_fail(ATTEND_BAD_USAGE, "drawing a picture needs a map, options and a string, and one is NULL");
    out->size = 0;
    int status = attend_grid_new(&p->g, map, o);
    if (status == ATTEND_OK) status = check_size(p->g, map, o->by_token);
    if (status == ATTEND_OK && o->title) status = attend_label(&p->title, o->title);
    if (status != ATTEND_OK) {
        picture_free(p);
        return status;
    }
    cairo_font_options_t *exact = cairo_font_options_create(); /* no hinting: the same lengths at any size */
    cairo_font_options_set_hint_style(exact, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(exact, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(exact, CAIRO_ANTIALIAS_GRAY);
    p->fonts = pango_cairo_font_map_new();
    p->context = pango_font_map_create_context(p->fonts);
    pango_cairo_context_set_font_options(p->context, exact);
    cairo_font_options_destroy(exact);
    p->layout = pango_layout_new(p->context);
    pango_layout_set_single_paragraph_mode(p->layout, TRUE);
    pango_layout_set_ellipsize(p->layout, PANGO_ELLIPSIZE_END);
    measure(p);
    return ATTEND_OK;
}

/* Receives the bytes of the file from cairo. */
static cairo_status_t add(void *to, const unsigned char *bytes, unsigned int count)
{
    return attend_string_add(to, (const char *)bytes, count) == ATTEND_OK ? CAIRO_STATUS_SUCCESS
                                                                          : CAIRO_STATUS_WRITE_ERROR;
}

static int status_of(cairo_status_t status)
{
    if (status == CAIRO_STATUS_SUCCESS) return ATTEND_OK;
    if (status == CAIRO_STATUS_NO_MEMORY ||
        status == CAIRO_STATUS_WRITE_ERROR) /* add() fails only for lack of memory */
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a picture");
    return attend_fail(ATTEND_FAILED, "cannot draw: %s", cairo_status_to_string(status));
}

int attend_view_svg(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    picture p;
    const int status = picture_new(&p, map, o, out);
    if (status != ATTEND_OK) return status;
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(add, out, p.width, p.height);
    cairo_status_t drawn = draw(&p, surface);
    cairo_surface_finish(surface);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    picture_free(&p);
    return status_of(drawn);
}

int attend_view_png(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    picture p;
    const int status = picture_new(&p, map, o, out);
    if (status != ATTEND_OK) return status;
    const double scale = 4 * p.width * p.height > max_pixels_at_scale_2
                             ? 1
                             : 2; /* ATTEND_PICTURE_MAX keeps it below 40 million pixels */
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(scale * p.width), (int)(scale * p.height));
    cairo_surface_set_device_scale(surface, scale, scale);
    cairo_status_t drawn = draw(&p, surface);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_write_to_png_stream(surface, add, out);
    cairo_surface_destroy(surface);
    picture_free(&p);
    return status_of(drawn);
}
