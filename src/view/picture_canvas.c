#include "view/picture_canvas.h"

#include <attend/status.h>
#include <attend/utf8.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1000 };
static const char ellipsis[] = "\xe2\x80\xa6";

void attend_canvas_init(attend_canvas *c)
{
    cairo_font_options_t *exact = cairo_font_options_create(); /* no hinting: the same lengths at any size */
    cairo_font_options_set_hint_style(exact, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(exact, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(exact, CAIRO_ANTIALIAS_GRAY);
    *c = (attend_canvas){ .fonts = pango_cairo_font_map_new() };
    c->context = pango_font_map_create_context(c->fonts);
    pango_cairo_context_set_font_options(c->context, exact);
    cairo_font_options_destroy(exact);
    c->layout = pango_layout_new(c->context);
    pango_layout_set_single_paragraph_mode(c->layout, TRUE);
}

void attend_canvas_free(attend_canvas *c)
{
    if (c->layout) g_object_unref(c->layout);
    if (c->context) g_object_unref(c->context);
    if (c->fonts) g_object_unref(c->fonts);
    *c = (attend_canvas){ 0 };
}

/* ---- SVG ---- */

/* At most 511 bytes per call. */
static void put(attend_canvas *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(attend_canvas *c, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (c->status == ATTEND_OK && size > 0) c->status = attend_string_add(c->svg, text, strlen(text));
}

/* A length with a point as decimal sign in every locale, and without trailing zeros. */
typedef struct length {
    char text[G_ASCII_DTOSTR_BUF_SIZE];
} length;

static length points(double x)
{
    length l;
    g_ascii_formatd(l.text, sizeof l.text, "%.2f", x);
    char *end = l.text + strlen(l.text);
    while (end[-1] == '0') *--end = '\0';
    if (end[-1] == '.') *--end = '\0';
    return l;
}

static int byte_of(double share)
{
    return (int)(share * 255 + 0.5);
}

/* Labels (attend/grid.h) have no control characters; XML also excludes two noncharacters. */
static void put_text(attend_canvas *c, const char *text)
{
    char *escaped = g_markup_escape_text(text, -1);
    for (char *at = escaped; (at = strstr(at, "\xef\xbf")) != NULL; at += 3)
        if (at[2] == '\xbe' || at[2] == '\xbf') at[2] = '\xbd';
    if (c->status == ATTEND_OK) c->status = attend_string_add(c->svg, escaped, strlen(escaped));
    g_free(escaped);
}

void attend_canvas_begin_svg(attend_canvas *c, attend_string *to, double width, double height, const char *title)
{
    const length w = points(width), h = points(height);
    c->svg = to;
    put(c, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put(c, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%spt\" height=\"%spt\" viewBox=\"0 0 %s %s\" ", w.text,
        h.text, w.text, h.text);
    put(c, "font-family=\"'DejaVu Sans', Verdana, sans-serif\" fill=\"none\">\n<title>");
    put_text(c, title);
    put(c, "</title>\n");
}

/* ---- both ---- */

void attend_canvas_begin_cairo(attend_canvas *c, cairo_surface_t *surface)
{
    c->cairo = cairo_create(surface);
    pango_cairo_update_layout(c->cairo, c->layout);
}

cairo_status_t attend_canvas_end(attend_canvas *c)
{
    if (!c->cairo) {
        put(c, "</svg>\n");
        return c->status == ATTEND_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
    }
    const cairo_status_t status = cairo_status(c->cairo);
    cairo_destroy(c->cairo);
    c->cairo = NULL;
    return status;
}

void attend_canvas_fill(attend_canvas *c, double x, double y, double width, double height, attend_colour colour)
{
    if (c->cairo) {
        cairo_set_source_rgb(c->cairo, colour.red, colour.green, colour.blue);
        cairo_rectangle(c->cairo, x, y, width, height);
        cairo_fill(c->cairo);
        return;
    }
    const length at[] = { points(x), points(y), points(width), points(height) };
    put(c, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"#%02x%02x%02x\"/>\n", at[0].text, at[1].text,
        at[2].text, at[3].text, byte_of(colour.red), byte_of(colour.green), byte_of(colour.blue));
}

void attend_canvas_frame(attend_canvas *c, double x, double y, double width, double height, double line, double grey)
{
    if (c->cairo) {
        cairo_set_source_rgb(c->cairo, grey, grey, grey);
        cairo_set_line_width(c->cairo, line);
        cairo_rectangle(c->cairo, x, y, width, height);
        cairo_stroke(c->cairo);
        return;
    }
    const length at[] = { points(x), points(y), points(width), points(height), points(line) };
    const int g = byte_of(grey);
    put(c, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" stroke-width=\"%s\" stroke=\"#%02x%02x%02x\"/>\n",
        at[0].text, at[1].text, at[2].text, at[3].text, at[4].text, g, g, g);
}

void attend_canvas_line(attend_canvas *c, double x, double y, double across, double down, double line, double grey)
{
    if (c->cairo) {
        cairo_set_source_rgb(c->cairo, grey, grey, grey);
        cairo_set_line_width(c->cairo, line);
        cairo_move_to(c->cairo, x, y);
        cairo_rel_line_to(c->cairo, across, down);
        cairo_stroke(c->cairo);
        return;
    }
    const length at[] = { points(x), points(y), points(across), points(down), points(line) };
    const int g = byte_of(grey);
    put(c, "<path d=\"M%s %sl%s %s\" stroke-width=\"%s\" stroke=\"#%02x%02x%02x\"/>\n", at[0].text, at[1].text,
        at[2].text, at[3].text, at[4].text, g, g, g);
}

/* ---- text ---- */

/* Lays out the first `size` bytes of a text, with an ellipsis if that is not all of it; returns its extents in pango
 * units. */
static PangoRectangle lay_out_part(attend_canvas *c, const char *text, size_t size)
{
    char part[MAX_TEXT_BYTES + sizeof ellipsis];
    PangoRectangle extents;
    memcpy(part, text, size);
    memcpy(part + size, text[size] ? ellipsis : "", text[size] ? sizeof ellipsis : 1);
    pango_layout_set_text(c->layout, part, -1);
    pango_layout_get_extents(c->layout, NULL, &extents);
    return extents;
}

static size_t next_character(const char *text, size_t at)
{
    do at++;
    while ((text[at] & 0xc0) == 0x80);
    return at;
}

/* Lays out a text, cut to its maximum width. Only its first MAX_TEXT_BYTES are looked at: laying out megabytes to find
 * the point takes a minute. */
static PangoRectangle lay_out(attend_canvas *c, const attend_canvas_text *t)
{
    PangoFontDescription *font = pango_font_description_from_string("Sans");
    pango_font_description_set_absolute_size(font, t->size * PANGO_SCALE);
    if (t->bold) pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
    pango_layout_set_font_description(c->layout, font);
    pango_font_description_free(font);
    size_t fits = 0, exceeds = attend_utf8_cut(t->text, strnlen(t->text, MAX_TEXT_BYTES + 1), MAX_TEXT_BYTES);
    PangoRectangle extents = lay_out_part(c, t->text, exceeds);
    if (extents.width <= t->max_width * PANGO_SCALE) return extents;
    while (exceeds - fits > 1) {
        size_t middle = attend_utf8_cut(t->text, exceeds, fits + (exceeds - fits) / 2);
        if (middle <= fits) middle = next_character(t->text, fits);
        if (middle >= exceeds) break;
        if (lay_out_part(c, t->text, middle).width <= t->max_width * PANGO_SCALE)
            fits = middle;
        else
            exceeds = middle;
    }
    return lay_out_part(c, t->text, fits);
}

double attend_canvas_text_width(attend_canvas *c, const attend_canvas_text *t)
{
    return (double)lay_out(c, t).width / PANGO_SCALE;
}

double attend_canvas_text_height(attend_canvas *c, const attend_canvas_text *t)
{
    return (double)lay_out(c, t).height / PANGO_SCALE;
}

static void write_svg(attend_canvas *c, const attend_canvas_text *t, double baseline)
{
    const char *shown = pango_layout_get_text(c->layout);
    const bool right_to_left = pango_layout_get_direction(c->layout, 0) == PANGO_DIRECTION_RTL;
    /* "start" is the right side of a text that is written from right to left */
    static const char *const anchors[] = { "start", "middle", "end" };
    const int anchor = (int)(2 * (right_to_left ? 1 - t->anchor : t->anchor));
    const length x = points(t->x), y = points(t->y), base = points(t->y + baseline), size = points(t->size);
    const int g = byte_of(t->grey);
    put(c, "<text x=\"%s\" y=\"%s\" font-size=\"%s\" fill=\"#%02x%02x%02x\"", x.text, base.text, size.text, g, g, g);
    if (anchor > 0) put(c, " text-anchor=\"%s\"", anchors[anchor]);
    if (right_to_left) put(c, " direction=\"rtl\"");
    if (t->bold) put(c, " font-weight=\"bold\"");
    if (t->angle != 0) put(c, " transform=\"rotate(%d %s %s)\"", (int)t->angle, x.text, y.text);
    put(c, ">");
    put_text(c, shown);
    put(c, "</text>\n");
}

void attend_canvas_write(attend_canvas *c, const attend_canvas_text *t)
{
    const PangoRectangle e = lay_out(c, t);
    const int middle = e.y + e.height / 2; /* in units of pango */
    const double baseline = (double)(pango_layout_get_baseline(c->layout) - middle) / PANGO_SCALE;
    if (!c->cairo) {
        write_svg(c, t, baseline);
        return;
    }
    cairo_save(c->cairo);
    cairo_set_source_rgb(c->cairo, t->grey, t->grey, t->grey);
    cairo_translate(c->cairo, t->x, t->y);
    cairo_rotate(c->cairo, t->angle * G_PI / 180);
    cairo_move_to(c->cairo, -((double)e.x + t->anchor * e.width) / PANGO_SCALE,
                  -((double)e.y + e.height / 2.0) / PANGO_SCALE);
    pango_cairo_show_layout(c->cairo, c->layout);
    cairo_restore(c->cairo);
}
