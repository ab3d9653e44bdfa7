/* picture.c: attention maps as SVG, PDF or PNG: a row for each word that attends, a column for each word attended to, and
 * a colour bar. Column labels are slanted if one of them is wider than a cell; that of the rest, by itself.
 *
 * picture*.c are the only files that use cairo and pango, and a library of their own, which uses public headers only. */
#include <attend/picture.h>

#include "view/picture_panel.h"
#include <attend/status.h>
#include <cairo-pdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID_SIZE = 560,    /* of all cells together, within the limits of a cell */
    PANELS_SIZE = 1000, /* the same for the panels of a row */
    MIN_CELL = 14,
    MAX_CELL = 34,
    MIN_CELL_OF_PANELS = 9,
    MARGIN = 12,
    PANEL_GAP = 16,
    BAR_GAP = 18,
    BAR_WIDTH = 10,
    BAR_LABELS = 32, /* their width */
    BAR_STEPS = 64,
    MIN_BAR = 60,
    MAX_BAR = 160,
    TITLE = 15 /* size of its letters */
};
static const double max_pixels_at_scale_2 = 1 << 25, max_points = 4e7, max_length = 14000;

typedef struct picture {
    attend_picture_panel *panels; /* (count) */
    int count, across;
    attend_palette palette;
    attend_string title; /* empty: none */
    attend_canvas canvas;
    double title_height, bar;
    double width, height;
} picture;

/* ---- measures ---- */

static double max(double a, double b)
{
    return a > b ? a : b;
}

/* The largest panel decides the size of all cells. */
static double cell_size(const picture *p)
{
    int longer = 1;
    for (int i = 0; i < p->count; i++) {
        const attend_grid *g = p->panels[i].g;
        if (g->rows > longer) longer = g->rows;
        if (g->columns > longer) longer = g->columns;
    }
    const double cell = p->count == 1 ? GRID_SIZE / (double)longer : PANELS_SIZE / ((double)longer * p->across);
    const double least = p->count == 1 ? MIN_CELL : MIN_CELL_OF_PANELS;
    return cell < least ? least : cell > MAX_CELL ? MAX_CELL : floor(cell);
}

/* The width of panel column k, or the height of panel row k. */
static double column_width(const picture *p, int k)
{
    double width = 0;
    for (int i = k; i < p->count; i += p->across) width = max(width, p->panels[i].width);
    return width;
}

/* What the labels above the cells of a row of panels take: the cells begin at the same height. */
static double row_top(const picture *p, int k)
{
    double top = 0;
    for (int i = k * p->across; i < p->count && i < (k + 1) * p->across; i++) top = max(top, p->panels[i].top);
    return top;
}

static double row_height(const picture *p, int k)
{
    double down = 0;
    for (int i = k * p->across; i < p->count && i < (k + 1) * p->across; i++)
        down = max(down, p->panels[i].height - p->panels[i].top);
    return row_top(p, k) + down;
}

static attend_canvas_text title_text(const picture *p)
{
    return (attend_canvas_text){ .text = p->title.text, .size = TITLE, .max_width = p->width - 2 * MARGIN };
}

static void measure(picture *p)
{
    const double cell = cell_size(p);
    for (int i = 0; i < p->count; i++) attend_panel_measure(&p->canvas, &p->panels[i], cell);
    p->width = 2 * MARGIN - PANEL_GAP, p->title_height = p->title.size ? 1.8 * TITLE : 0;
    double down = -PANEL_GAP;
    for (int k = 0; k < p->across; k++) p->width += column_width(p, k) + PANEL_GAP;
    for (int k = 0; k * p->across < p->count; k++) down += row_height(p, k) + PANEL_GAP;
    const double top = row_top(p, 0);
    p->bar = max(MIN_BAR, fmin(MAX_BAR, down - top));
    p->width = ceil(p->width + BAR_GAP + BAR_WIDTH + BAR_LABELS);
    p->height = ceil(2 * MARGIN + p->title_height + max(down, top + p->bar));
}

/* ---- drawing ---- */

static void draw_bar(picture *p, double x, double y)
{
    static const char *const ticks[] = { "0", "0.5", "1" };
    for (int i = 0; i < BAR_STEPS; i++) { /* each step covers the rest, so that no gaps are visible */
        const double down = p->bar * i / BAR_STEPS;
        attend_canvas_fill(&p->canvas, x, y + down, BAR_WIDTH, p->bar - down,
                           attend_palette_colour(p->palette, 1 - (i + 0.5) / BAR_STEPS, false));
    }
    attend_canvas_frame(&p->canvas, x, y, BAR_WIDTH, p->bar, 0.6, 0.35);
    for (int i = 0; i < 3; i++)
        attend_canvas_write(&p->canvas, &(attend_canvas_text){ .text = ticks[i],
                                                               .size = 9,
                                                               .max_width = BAR_LABELS,
                                                               .x = x + BAR_WIDTH + 4,
                                                               .y = y + p->bar * (1 - i / 2.0),
                                                               .grey = 0.1 });
}

static void draw(picture *p)
{
    const attend_colour white = { 1, 1, 1 };
    attend_canvas_fill(&p->canvas, 0, 0, p->width, p->height, white);
    if (p->title.size) {
        attend_canvas_text t = title_text(p);
        t.x = MARGIN, t.y = MARGIN + 0.6 * TITLE;
        attend_canvas_write(&p->canvas, &t);
    }
    const double top = MARGIN + p->title_height;
    double y = top;
    for (int row = 0; row * p->across < p->count; row++) {
        double x = MARGIN;
        for (int k = 0; k < p->across && row * p->across + k < p->count; k++) {
            const attend_picture_panel *panel = &p->panels[row * p->across + k];
            attend_panel_draw(&p->canvas, panel, x, y + row_top(p, row) - panel->top);
            x += column_width(p, k) + PANEL_GAP;
        }
        y += row_height(p, row) + PANEL_GAP;
    }
    draw_bar(p, p->width - MARGIN - BAR_WIDTH - BAR_LABELS, top + row_top(p, 0));
}

/* ---- the picture ---- */

static void picture_free(picture *p)
{
    for (int i = 0; p->panels && i < p->count; i++) {
        attend_grid_free(p->panels[i].g);
        for (int k = 0; k < ATTEND_CAPTION_LINES; k++) attend_string_free(&p->panels[i].caption[k]);
    }
    free(p->panels);
    attend_string_free(&p->title);
    attend_canvas_free(&p->canvas);
}

/* ATTEND_BAD_DATA if the grid has no rows or does not fit. */
static int check_grid(const attend_grid *g, const attend_map *map, bool by_token)
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

/* Whether all panels show the same map, and only layer and head differ. */
static bool is_one_map(const attend_panel *panels, int count)
{
    for (int i = 1; i < count; i++)
        if (panels[i].map != panels[0].map) return false;
    return count > 1;
}

/* The caption as a label; without the model if `o` has none. */
static int caption_label(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    attend_string caption = { 0 };
    int status = attend_view_caption(map, o, &caption);
    if (status == ATTEND_OK) status = attend_label(out, caption.text);
    attend_string_free(&caption);
    return status;
}

/* The model and the map, each on a line of its own. The title names panels of one map, so that they need only layer and
 * head. */
static int fill_captions(attend_picture_panel *to, const attend_map *map, attend_view_options o, bool is_one)
{
    const char *model = is_one ? NULL : attend_view_model_name(map, &o);
    int status = model ? attend_label(&to->caption[0], model) : ATTEND_OK;
    o.model_count = 0;
    attend_string *line = &to->caption[model ? 1 : 0];
    if (status == ATTEND_OK) status = caption_label(map, &o, line);
    const char *comma = status == ATTEND_OK && is_one ? strstr(line->text, ", ") : NULL,
               *note = status == ATTEND_OK && is_one ? strstr(line->text, "; ") : NULL;
    if (note) line->size = (size_t)(note - line->text), line->text[line->size] = '\0';
    if (comma) {
        line->size -= (size_t)(comma + 2 - line->text);
        memmove(line->text, comma + 2, line->size + 1);
    }
    return status;
}

static int fill_panel(picture *p, int i, const attend_panel *from, attend_view_options o, bool is_one)
{
    attend_picture_panel *to = &p->panels[i];
    o.layer = from->layer, o.head = from->head;
    to->palette = o.palette;
    to->has_row_labels = !is_one || i % p->across == 0;
    to->has_column_labels = !is_one || i < p->across;
    int status = attend_grid_new(&to->g, from->map, &o);
    if (status == ATTEND_OK) status = check_grid(to->g, from->map, o.by_token);
    return status == ATTEND_OK ? fill_captions(to, from->map, o, is_one) : status;
}

/* The title; for panels of one map without a title, its model and attention kind. */
static int fill_title(picture *p, const attend_panel *panels, const attend_view_options *o, bool is_one)
{
    if (o->title) return attend_label(&p->title, o->title);
    if (!is_one) return ATTEND_OK;
    attend_map whole = *panels[0].map;
    whole.layers = whole.heads = 1; /* it speaks of no single one */
    return caption_label(&whole, o, &p->title);
}

static int check_size(const picture *p)
{
    if (p->width <= max_length && p->height <= max_length && p->width * p->height <= max_points) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "%d maps in one picture of %.0f by %.0f points are too large; draw fewer maps",
                       p->count, p->width, p->height);
}

/* Prepares everything except the surface, and empties `out`. */
static int picture_new(picture *p, const attend_panel *panels, int count, int across, const attend_view_options *o,
                       attend_string *out)
{
    *p = (picture){ 0 };
    if (!panels || count < 1 || across < 1 || !o || !out)
        return attend_fail(ATTEND_BAD_USAGE, "drawing a picture needs maps, options and a string, and one is missing");
    for (int i = 0; i < count; i++)
        if (!panels[i].map) return attend_fail(ATTEND_BAD_USAGE, "panel %d of the picture has no map", i);
    out->size = 0;
    const bool is_one = is_one_map(panels, count);
    p->panels = calloc((size_t)count, sizeof *p->panels);
    p->count = count, p->across = across < count ? across : count, p->palette = o->palette;
    int status =
        p->panels ? fill_title(p, panels, o, is_one) : attend_fail(ATTEND_NO_MEMORY, "no memory for a picture");
    for (int i = 0; status == ATTEND_OK && i < count; i++) status = fill_panel(p, i, &panels[i], *o, is_one);
    if (status == ATTEND_OK) {
        attend_canvas_init(&p->canvas);
        measure(p);
        status = check_size(p);
    }
    if (status != ATTEND_OK) picture_free(p);
    return status;
}

/* ---- formats ---- */

/* Receives the bytes of the file from cairo. */
static cairo_status_t add(void *to, const unsigned char *bytes, unsigned int count)
{
    return attend_string_add(to, (const char *)bytes, count) == ATTEND_OK ? CAIRO_STATUS_SUCCESS
                                                                          : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_status_t draw_svg(picture *p, attend_string *out)
{
    attend_canvas_begin_svg(&p->canvas, out, p->width, p->height, p->title.size ? p->title.text : "Attention map");
    draw(p);
    return attend_canvas_end(&p->canvas);
}

static cairo_status_t draw_pdf(picture *p, attend_string *out)
{
    cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(add, out, p->width, p->height);
    /* the same map is the same file, whenever it is drawn */
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, p->title.size ? p->title.text : "Attention map");
    attend_canvas_begin_cairo(&p->canvas, surface);
    draw(p);
    cairo_status_t drawn = attend_canvas_end(&p->canvas);
    cairo_surface_finish(surface);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    return drawn;
}

static cairo_status_t draw_png(picture *p, attend_string *out)
{
    const double scale = 4 * p->width * p->height > max_pixels_at_scale_2 ? 1 : 2;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(scale * p->width), (int)(scale * p->height));
    cairo_surface_set_device_scale(surface, scale, scale);
    attend_canvas_begin_cairo(&p->canvas, surface);
    draw(p);
    cairo_status_t drawn = attend_canvas_end(&p->canvas);
    if (drawn == CAIRO_STATUS_SUCCESS) drawn = cairo_surface_write_to_png_stream(surface, add, out);
    cairo_surface_destroy(surface);
    return drawn;
}

static int status_of(cairo_status_t status)
{
    if (status == CAIRO_STATUS_SUCCESS) return ATTEND_OK;
    if (status == CAIRO_STATUS_NO_MEMORY ||
        status == CAIRO_STATUS_WRITE_ERROR) /* add() fails only for lack of memory */
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a picture");
    return attend_fail(ATTEND_FAILED, "cannot draw: %s", cairo_status_to_string(status));
}

int attend_view_panels(const attend_panel *panels, int count, int across, const attend_view_options *o,
                       attend_picture_format format, attend_string *out)
{
    static cairo_status_t (*const formats[])(picture *, attend_string *) = { draw_svg, draw_pdf, draw_png };
    if ((unsigned)format > ATTEND_PICTURE_PNG)
        return attend_fail(ATTEND_BAD_USAGE, "there is no format %d for pictures", (int)format);
    picture p;
    const int status = picture_new(&p, panels, count, across, o, out);
    if (status != ATTEND_OK) return status;
    const cairo_status_t drawn = formats[format](&p, out);
    picture_free(&p);
    return status_of(drawn);
}

static int draw_map(const attend_map *map, const attend_view_options *o, attend_picture_format format,
                    attend_string *out)
{
    if (!o) return attend_fail(ATTEND_BAD_USAGE, "drawing a picture needs options, and they are NULL");
    return attend_view_panels(&(attend_panel){ .map = map, .layer = o->layer, .head = o->head }, 1, 1, o, format, out);
}

int attend_view_svg(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    return draw_map(map, o, ATTEND_PICTURE_SVG, out);
}

int attend_view_pdf(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    return draw_map(map, o, ATTEND_PICTURE_PDF, out);
}

int attend_view_png(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    return draw_map(map, o, ATTEND_PICTURE_PNG, out);
}
