/* svg_plot.c: plots as SVG (attend/plot.h): layout, axes, series and legend. plot_scale.c has ranges and ticks. */
#include <attend/plot.h>

#include "core/atomic_file.h"
#include "core/c_locale.h"
#include "core/status.h"
#include "core/printable.h"
#include "format/plot_scale.h"
#include "format/xml_text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Pixels. */
enum {
    WIDTH = 780,
    MARGIN = 64,  /* at the left, for the labels of a y axis and its title */
    EDGE = 24,    /* at the right, where nothing is written */
    HEAD = 40,    /* for the title */
    LEGEND = 28,  /* for a legend above the plot */
    HEIGHT = 290, /* of the area between the axes */
    ROW = 26,     /* of a category in a transposed plot */
    LEGEND_ROW = 18,
    GAP = 16,   /* between two plots */
    LETTER = 8, /* estimated width of a column of text */
    RADIUS = 4
};
enum { MAX_NAME = 36, MAX_TITLE = 60 }; /* widths of text, see width_of */

static const char *const colors[ATTEND_PLOT_COLORS] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                        "#e69f00", "#56b4e9", "#555555", "#a8a000" };
static const char *const dashes[ATTEND_PLOT_DASHES] = { "", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\"",
                                                        " stroke-dasharray=\"9 3 2 3\"" };

typedef struct picture {
    const attend_plot *plot;
    attend_atomic_file *file;
    int status;
    attend_plot_scale x, y[2]; /* y: left, right */
    double left, right, top, bottom;
} picture;

#define put(p, ...) attend_atomic_file_printf((p)->file, &(p)->status, __VA_ARGS__)

/* ---- text ---- */

/* The width of a character in units of LETTER, as an estimate for proportional fonts: the viewer chooses the font. It
 * needs no Unicode tables; attend/terminal.h has the columns of a terminal. */
static int width_of(int32_t code_point)
{
    return code_point < 0 ? 0 : code_point < 0x1100 ? 1 : 2;
}

static int width_of_text(const char *text)
{
    int total = 0;
    int32_t code_point;
    char character[ATTEND_XML_CHARACTER];
    for (size_t i = 0, size = strlen(text); i < size; total += width_of(code_point))
        i += attend_xml_character(text + i, size - i, character, &code_point);
    return total;
}

/* At most max_width, and an ellipsis in place of the rest. */
static void put_text(picture *p, const char *text, int max_width)
{
    int total = 0;
    int32_t code_point;
    char character[ATTEND_XML_CHARACTER];
    for (size_t i = 0, size = strlen(text); i < size;) {
        i += attend_xml_character(text + i, size - i, character, &code_point);
        if ((total += width_of(code_point)) > max_width) {
            put(p, "\xe2\x80\xa6");
            return;
        }
        put(p, "%s", character);
    }
}

static double text_width(const char *text, int max_width)
{
    const int width = text ? width_of_text(text) : 0;
    return LETTER * (width < max_width ? width : max_width + 1);
}

/* ---- layout ---- */

static bool is_left_out(const attend_plot_point *point)
{
    return !(fabs(point->x) <= 1e300 && fabs(point->y) <= 1e300);
}

static bool has_error_bar(const attend_plot_point *point)
{
    return point->low < point->high && fabs(point->low) <= 1e300 && fabs(point->high) <= 1e300;
}

static bool has_right_axis(const attend_plot *plot)
{
    for (size_t i = 0; i < plot->series_count; i++)
        if (plot->series[i].on_right_axis && plot->series[i].count) return true;
    return false;
}

static int named_series(const attend_plot *plot)
{
    int count = 0;
    for (size_t i = 0; i < plot->series_count; i++) count += plot->series[i].name != NULL;
    return count;
}

/* Scales of all axes, from the points. */
static void choose_scales(picture *p)
{
    const attend_plot *plot = p->plot;
    p->x = attend_plot_scale_begin(false, plot->x.from_zero);
    p->y[0] = attend_plot_scale_begin(plot->y.logarithmic, plot->y.from_zero);
    p->y[1] = attend_plot_scale_begin(plot->right.logarithmic, plot->right.from_zero);
    for (size_t i = 0; i < plot->series_count; i++)
        for (size_t k = 0; k < plot->series[i].count; k++) {
            const attend_plot_point *point = &plot->series[i].points[k];
            attend_plot_scale *y = &p->y[plot->series[i].on_right_axis];
            if (is_left_out(point)) continue;
            attend_plot_scale_include(&p->x, point->x);
            attend_plot_scale_include(y, point->y);
            if (has_error_bar(point))
                attend_plot_scale_include(y, point->low), attend_plot_scale_include(y, point->high);
        }
    attend_plot_scale_end(&p->x, false);
    attend_plot_scale_end(&p->y[0], true);
    attend_plot_scale_end(&p->y[1], true);
    if (plot->categories) p->x.low = -0.5, p->x.high = plot->category_count - 0.5;
}

/* The area between the axes, for a plot that begins at `top`. Returns where it ends, with everything below the axes. */
static double lay_out(picture *p, double top)
{
    const attend_plot *plot = p->plot;
    const int names = named_series(plot);
    double labels = 0, notes = 0, legend = 0, height = HEIGHT;
    for (int i = 0; plot->transposed && i < plot->category_count; i++) {
        labels = fmax(labels, text_width(plot->categories[i].label, MAX_NAME));
        notes = fmax(notes, text_width(plot->categories[i].note, MAX_NAME));
    }
    for (size_t i = 0; plot->legend_at_right && i < plot->series_count; i++)
        legend = fmax(legend, text_width(plot->series[i].name, MAX_NAME));
    if (plot->legend_at_right) height = fmax(height, LEGEND_ROW * names);
    if (plot->transposed) height = ROW * plot->category_count + 6;
    p->left = fmax(MARGIN, labels + 36);
    p->right = WIDTH - (legend > 0 ? legend + 66 : has_right_axis(plot) ? MARGIN + 20 : notes > 0 ? notes + 24 : EDGE);
    p->top = top + HEAD + (names && !plot->legend_at_right ? LEGEND : 0);
    p->bottom = p->top + height;
    const bool has_notes = !plot->transposed && plot->categories && plot->categories[0].note;
    return p->bottom + (has_notes ? 64 : 48);
}

/* ---- coordinates ---- */

static double x_at(const picture *p, double x)
{
    const double share = attend_plot_scale_share(&p->x, x);
    return p->plot->transposed ? p->top + 3 + (p->bottom - p->top - 6) * share : p->left + (p->right - p->left) * share;
}

static double y_at(const picture *p, int side, double y)
{
    const double share = attend_plot_scale_share(&p->y[side], y);
    return p->plot->transposed ? p->left + (p->right - p->left) * share : p->bottom - (p->bottom - p->top) * share;
}

/* ---- axes ---- */

static void put_label(picture *p, double x, double y, const char *anchor, const char *color, const char *text)
{
    put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, color);
    put_text(p, text, MAX_TITLE);
    put(p, "</text>\n");
}

/* A label, cut to the width that lay_out reserved. */
static void put_name(picture *p, double x, double y, const char *anchor, const char *name)
{
    put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#222\">", x, y, anchor);
    put_text(p, name, MAX_NAME);
    put(p, "</text>\n");
}

static void put_line(picture *p, double x1, double y1, double x2, double y2, const char *color)
{
    put(p, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, color);
}

static void draw_turned_title(picture *p, double x, const char *title, const char *color)
{
    if (!title) return;
    put(p, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\" fill=\"%s\">", x,
        (p->top + p->bottom) / 2, color);
    put_text(p, title, MAX_TITLE);
    put(p, "</text>\n");
}

/* The colour of the only series on the right axis, which its labels share. */
static const char *right_color(const attend_plot *plot)
{
    for (size_t i = 0; i < plot->series_count; i++)
        if (plot->series[i].on_right_axis) return colors[plot->series[i].color % ATTEND_PLOT_COLORS];
    return "#444";
}

/* Grid lines belong to the left axis. */
static void draw_value_axis(picture *p, int side)
{
    const char *color = side ? right_color(p->plot) : "#444";
    for (int i = 0; i < p->y[side].tick_count; i++) {
        char text[32];
        const double at = y_at(p, side, p->y[side].ticks[i]);
        snprintf(text, sizeof text, "%.6g", p->y[side].ticks[i]);
        if (p->plot->transposed) {
            put_line(p, at, p->top, at, p->bottom, "#e3e3e3");
            put_label(p, at, p->bottom + 16, "middle", color, text);
        } else {
            if (!side) put_line(p, p->left, at, p->right, at, "#e3e3e3");
            put_label(p, side ? p->right + 8 : p->left - 8, at + 4, side ? "start" : "end", color, text);
        }
    }
    if (side)
        draw_turned_title(p, WIDTH - 6, p->plot->right.title, color);
    else if (!p->plot->transposed)
        draw_turned_title(p, 20, p->plot->y.title, "#222");
    else if (p->plot->y.title)
        put_label(p, (p->left + p->right) / 2, p->bottom + 36, "middle", "#222", p->plot->y.title);
}

static void draw_categories(picture *p)
{
    for (int i = 0; i < p->plot->category_count; i++) {
        const attend_plot_category *c = &p->plot->categories[i];
        const double at = x_at(p, i);
        if (p->plot->transposed) {
            put_name(p, p->left - 12, at + 4, "end", c->label);
            if (c->note) put_name(p, p->right + 12, at + 4, "start", c->note);
        } else {
            put_line(p, at, p->bottom, at, p->bottom + 5, "#555");
            put_label(p, at, p->bottom + 20, "middle", "#222", c->label);
            if (c->note) put_label(p, at, p->bottom + 36, "middle", "#777", c->note);
        }
    }
}

static void draw_x_axis(picture *p)
{
    if (p->plot->categories) draw_categories(p);
    for (int i = 0; !p->plot->categories && i < p->x.tick_count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.6g", p->x.ticks[i]);
        put_line(p, x_at(p, p->x.ticks[i]), p->bottom, x_at(p, p->x.ticks[i]), p->bottom + 5, "#555");
        put_label(p, x_at(p, p->x.ticks[i]), p->bottom + 20, "middle", "#444", text);
    }
    if (p->plot->transposed) return;
    put_line(p, p->left, p->bottom, p->right, p->bottom, "#555");
    if (p->plot->x.title)
        put_label(p, (p->left + p->right) / 2,
                  p->bottom + (p->plot->categories && p->plot->categories[0].note ? 58 : 40), "middle", "#222",
                  p->plot->x.title);
}

/* ---- series ---- */

/* One point alone has no line that would show it. */
static void draw_marker(picture *p, const attend_plot_series *s, double x, double y, const char *value)
{
    if (s->marker == ATTEND_PLOT_NO_MARKER && s->count > 1) return;
    put(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"%s", x, y, RADIUS,
        s->marker == ATTEND_PLOT_RING ? " fill=\"white\"" : "");
    put(p, *value ? "><title>%s</title></circle>\n" : "/>\n", value);
}

static void draw_error_bar(picture *p, double x, double low, double high)
{
    if (p->plot->transposed)
        put(p, "<path stroke-width=\"1.2\" d=\"M%.1f %.1fH%.1fm0 -4v8M%.1f %.1fv8\"/>\n", low, x, high, low, x - 4);
    else
        put(p, "<path stroke-width=\"1.2\" d=\"M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8\"/>\n", x, low, high, x - 4, low);
}

static bool is_drawn(const picture *p, const attend_plot_series *s, size_t i)
{
    return !is_left_out(&s->points[i]) && attend_plot_scale_has(&p->y[s->on_right_axis], s->points[i].y);
}

static void draw_series(picture *p, const attend_plot_series *s)
{
    const char *color = colors[s->color % ATTEND_PLOT_COLORS];
    const bool transposed = p->plot->transposed;
    put(p, "<g stroke=\"%s\" fill=\"%s\" stroke-width=\"2\">\n", color, color);
    if (s->count > 1) {
        put(p, "<polyline fill=\"none\"%s points=\"", dashes[s->dashes % ATTEND_PLOT_DASHES]);
        for (size_t i = 0; i < s->count; i++) {
            if (!is_drawn(p, s, i)) continue;
            const double x = x_at(p, s->points[i].x) + s->shift, y = y_at(p, s->on_right_axis, s->points[i].y);
            put(p, "%.1f,%.1f ", transposed ? y : x, transposed ? x : y);
        }
        put(p, "\"/>\n");
    }
    for (size_t i = 0; i < s->count; i++) {
        const attend_plot_point *point = &s->points[i];
        if (!is_drawn(p, s, i)) continue;
        const double x = x_at(p, point->x) + s->shift, y = y_at(p, s->on_right_axis, point->y);
        char value[32];
        snprintf(value, sizeof value, "%.6g", point->y);
        if (has_error_bar(point))
            draw_error_bar(p, x, y_at(p, s->on_right_axis, point->low), y_at(p, s->on_right_axis, point->high));
        draw_marker(p, s, transposed ? y : x, transposed ? x : y, value);
    }
    put(p, "</g>\n");
}

static void draw_legend(picture *p)
{
    const attend_plot *plot = p->plot;
    const int names = named_series(plot);
    int row = 0;
    for (size_t i = 0; i < plot->series_count; i++) {
        const attend_plot_series *s = &plot->series[i];
        const char *color = colors[s->color % ATTEND_PLOT_COLORS];
        if (!s->name) continue;
        const double x = plot->legend_at_right ? p->right + 20 : p->left + row * (p->right - p->left) / names;
        const double y = plot->legend_at_right ? p->top + 12 + LEGEND_ROW * row : p->top - 20;
        row++;
        put(p,
            "<g stroke=\"%s\" fill=\"%s\" stroke-width=\"2\"><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"%s/>",
            color, color, x, x + 28, y, y, dashes[s->dashes % ATTEND_PLOT_DASHES]);
        draw_marker(p, s, x + 14, y, "");
        put(p, "</g>\n<text x=\"%.1f\" y=\"%.1f\" fill=\"#222\">", x + 36, y + 4);
        put_text(p, s->name, MAX_NAME);
        if (s->note) {
            put(p, " <tspan fill=\"#666\">");
            put_text(p, s->note, MAX_NAME);
            put(p, "</tspan>");
        }
        put(p, "</text>\n");
    }
}

/* ---- a picture ---- */

static void draw_plot(picture *p, double top)
{
    const attend_plot *plot = p->plot;
    put(p, "<text x=\"%d\" y=\"%.1f\" font-size=\"16\" fill=\"#111\">", MARGIN, top + 24);
    if (plot->title) put_text(p, plot->title, WIDTH / LETTER);
    if (plot->subtitle) {
        put(p, "<tspan dx=\"8\" font-size=\"13\" fill=\"#666\">");
        put_text(p, plot->subtitle, MAX_TITLE);
        put(p, "</tspan>");
    }
    put(p, "</text>\n");
    draw_value_axis(p, 0);
    if (has_right_axis(plot)) draw_value_axis(p, 1);
    draw_x_axis(p);
    for (size_t i = plot->series_count; i-- > 0;) draw_series(p, &plot->series[i]);
    draw_legend(p);
}

static void draw(picture *p, const attend_plot *plots, size_t count)
{
    double height = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        p->plot = &plots[i];
        height = lay_out(p, height) + (i + 1 < count ? GAP : 8);
    }
    put(p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        WIDTH, height, WIDTH, height);
    for (size_t i = 0; i < count; i++) {
        p->plot = &plots[i];
        choose_scales(p);
        const double end = lay_out(p, top);
        draw_plot(p, top);
        top = end + GAP;
    }
    put(p, "</svg>\n");
}

/* Whether every series, and every array of points, is there. */
static bool has_points(const attend_plot *plot)
{
    if (!plot->series && plot->series_count > 0) return false;
    for (size_t i = 0; i < plot->series_count; i++)
        if (!plot->series[i].points && plot->series[i].count > 0) return false;
    return true;
}

int attend_plot_write(const char *path, const attend_plot *plots, size_t count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && (plots || count == 0));
    for (size_t i = 0; i < count; i++) ATTEND_REQUIRE(ATTEND_BAD_USAGE, has_points(&plots[i]));
    picture p = { .plot = NULL };
    p.status = attend_atomic_file_begin(&p.file, path, 0);
    if (p.status != ATTEND_OK) return p.status;
    locale_t previous = (locale_t)0;
    const locale_t c = attend_c_locale_begin(&previous);
    draw(&p, plots, count);
    attend_c_locale_end(c, previous);
    if (p.status == ATTEND_OK) return attend_atomic_file_commit(p.file);
    attend_atomic_file_abandon(p.file);
    return p.status;
}
