/* comparison_plot.c: the comparison as an SVG: above, each variant's score with its interval; below, perplexity on the validation pairs in the course of
 * training, of all variants in one picture. */
#include "comparison.h"
#include "training_log.h"

#include "core/atomic_file.h"
#include "core/status.h"
#include <attend/terminal.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 820,
    TOP = 52,
    ROW = 26,
    RIGHT = 70,
    SCALE = 46,
    CURVES = 300,
    GAP = 50,
    MARGIN = 64,
    RADIUS = 5,
    LEGEND_ROW = 18
};
enum { LETTER = 8, MOST_LETTERS = 36 }; /* of a name: pixels, and how many are shown */

/* Told apart by people who see no red or no green too (Okabe, Ito); behind the last they come again with dashes. */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                       "#e69f00", "#56b4e9", "#555555", "#a8a000" };
static const char *const dashes[] = { "", "7 4", "2 3", "9 3 2 3" };
enum { COLOURS = sizeof colours / sizeof *colours, DASHES = sizeof dashes / sizeof *dashes };

typedef struct picture {
    const comparison *c;
    attend_atomic_file *to;
    int status;
    training_log *logs;              /* (variants) */
    int left;                        /* where scales begin: behind the longest name */
    double low, high;                /* of the scores */
    double last_update, least, most; /* of the curves; losses */
    int curves_top, curves_height, curves_right, height;
} picture;

#define put(p, ...) attend_atomic_file_put((p)->to, &(p)->status, __VA_ARGS__)

static void put_text(picture *p, const char *text)
{
    for (const char *s = text; *s; s++)
        if (*s == '<' || *s == '&' || *s == '>')
            put(p, "&#%d;", *s);
        else
            put(p, "%c", *s);
}

/* A variant's name, as much of it as there is room for. */
static void put_name(picture *p, int i)
{
    char text[VARIANT_NAME];
    int columns;
    const char *name = p->c->variants[i].name;
    const size_t size = attend_columns_cut(name, MOST_LETTERS, &columns);
    snprintf(text, sizeof text, "%.*s", (int)size, name);
    put_text(p, text);
    if (name[size]) put(p, "..");
}

/* A round step that makes four to nine of a range. */
static double step_of(double range)
{
    const double rough = fmax(range, 1e-9) / 5, ten = pow(10, floor(log10(rough)));
    return ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
}

static bool is_done(const picture *p, int i)
{
    return p->c->variants[i].state == VARIANT_DONE;
}

/* ---- scores ---- */

static double across(const picture *p, double score)
{
    return p->left + (WIDTH - RIGHT - p->left) * (score - p->low) / (p->high - p->low);
}

static void choose_scale(picture *p)
{
    p->low = INFINITY, p->high = -INFINITY;
    for (int i = 0; i < p->c->count; i++) {
        const attend_interval *s = &p->c->variants[i].scores[p->c->metric];
        if (!is_done(p, i)) continue;
        p->low = fmin(p->low, p->c->e.samples > 0 ? fmin(s->low, s->score) : s->score);
        p->high = fmax(p->high, p->c->e.samples > 0 ? fmax(s->high, s->score) : s->score);
    }
    if (!isfinite(p->low)) p->low = 0, p->high = 1;
    const double step = step_of(fmax(p->high - p->low, 1e-3));
    p->low = step * floor(p->low / step + 1e-9), p->high = step * ceil(p->high / step - 1e-9);
    if (p->high <= p->low) p->high = p->low + step;
}

static void draw_scale(picture *p, const char *title)
{
    const int bottom = TOP + ROW * p->c->count + 6;
    const double step = step_of(p->high - p->low);
    for (int i = 0; p->low + step * i <= p->high + step / 2; i++) {
        const double score = p->low + step * i, x = across(p, score);
        put(p, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#e3e3e3\"/>\n", x, x, TOP, bottom);
        put(p, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#444\">%.6g</text>\n", x, bottom + 16, score);
    }
    put(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#222\">%s</text>\n", (p->left + WIDTH - RIGHT) / 2,
        bottom + 34, title);
}

static void draw_row(picture *p, int i)
{
    const variant *x = &p->c->variants[i];
    const attend_interval *s = &x->scores[p->c->metric];
    const double y = TOP + ROW * (i + 0.5) + 3, at = across(p, s->score);
    const char *colour = colours[i % COLOURS];
    put(p, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#222\">", p->left - 12, y + 4);
    put_name(p, i);
    put(p, "</text>\n");
    if (!is_done(p, i)) {
        put(p, "<text x=\"%d\" y=\"%.1f\" fill=\"#888\">%s</text>\n", p->left + 8, y + 4,
            x->state == VARIANT_FAILED ? "failed" : "..");
        return;
    }
    if (p->c->e.samples > 0)
        put(p, "<path stroke=\"%s\" stroke-width=\"2\" fill=\"none\" d=\"M%.1f %.1fH%.1fm0 -4v8M%.1f %.1fv8\"/>\n",
            colour, across(p, s->low), y, across(p, s->high), across(p, s->low), y - 4);
    put(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n", at, y, RADIUS, colour);
    put(p, "<text x=\"%d\" y=\"%.1f\" fill=\"#222\">%.2f%s</text>\n", WIDTH - RIGHT + 12, y + 4, s->score,
        p->c->e.samples > 0 && i != p->c->base && s->p < 0.05 ? " *" : "");
}

/* ---- curves ---- */

static double curve_across(const picture *p, double update)
{
    return MARGIN + (p->curves_right - MARGIN) * update / fmax(p->last_update, 1);
}

static double curve_down(const picture *p, double loss)
{
    return p->curves_top + p->curves_height * (1 - (loss - p->least) / (p->most - p->least));
}

/* Logs that cannot be read draw nothing: the table does not need them. */
static bool read_logs(picture *p)
{
    p->least = INFINITY, p->most = -INFINITY;
    p->logs = calloc((size_t)p->c->count + 1, sizeof *p->logs);
    for (int i = 0; p->logs && i < p->c->count; i++) {
        char *path = is_done(p, i) ? comparison_path(p->c, &p->c->variants[i], "model.log.jsonl") : NULL;
        if (path) training_log_read(&p->logs[i], path);
        free(path);
        for (int k = 0; k < p->logs[i].count; k++) {
            const log_point *point = &p->logs[i].points[k];
            p->last_update = fmax(p->last_update, point->update);
            p->least = fmin(p->least, point->loss), p->most = fmax(p->most, point->loss);
        }
    }
    const double more = fmax(0.03 * (p->most - p->least), 0.02);
    if (isfinite(p->least)) p->least -= more, p->most += more;
    return p->logs != NULL;
}

/* Perplexities 1, 2, 5, 10, .. that lie on the scale, which is one of logarithms; more of them where these are few. */
static void draw_perplexities(picture *p)
{
    static const double rounds[] = { 1, 1.5, 2, 3, 4, 5, 6, 8 };
    const bool few = p->most - p->least < log(12);
    for (double ten = 1; ten < 1e7; ten *= 10)
        for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
            const bool main = rounds[i] == 1 || rounds[i] == 2 || rounds[i] == 5;
            const double loss = log(ten * rounds[i]), y = curve_down(p, loss);
            if (loss < p->least || loss > p->most || (!main && !few)) continue;
            put(p, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e3e3e3\"/>\n", MARGIN, p->curves_right,
                y, y);
            put(p, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#444\">%.6g</text>\n", MARGIN - 8, y + 4,
                ten * rounds[i]);
        }
}

static void draw_curve_axes(picture *p)
{
    const int bottom = p->curves_top + p->curves_height;
    const double step = step_of(p->last_update);
    draw_perplexities(p);
    put(p, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#555\"/>\n", MARGIN, p->curves_right, bottom,
        bottom);
    for (int i = 0; step * i <= p->last_update * 1.0001; i++)
        put(p, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#444\">%.6g</text>\n",
            curve_across(p, step * i), bottom + 18, step * i);
    put(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#222\">updates (a ring: the best model)</text>\n",
        (MARGIN + p->curves_right) / 2, bottom + 38);
    put(p, "<text x=\"%d\" y=\"%d\" font-size=\"16\" fill=\"#111\">Perplexity on the validation pairs</text>\n", MARGIN,
        p->curves_top - 14);
}

static void draw_curve(picture *p, int i)
{
    const training_log *l = &p->logs[i];
    const char *colour = colours[i % COLOURS], *dash = dashes[i / COLOURS % DASHES];
    if (l->count == 0) return;
    put(p, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s%s%s points=\"", colour,
        *dash ? " stroke-dasharray=\"" : "", dash, *dash ? "\"" : "");
    for (int k = 0; k < l->count; k++)
        put(p, "%.1f,%.1f ", curve_across(p, l->points[k].update), curve_down(p, l->points[k].loss));
    put(p, "\"/>\n");
    for (int k = l->count - 1; k >= 0; k--)
        if (l->points[k].better) {
            put(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"white\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                curve_across(p, l->points[k].update), curve_down(p, l->points[k].loss), RADIUS - 1, colour);
            break;
        }
}

/* Which line is which, beside them: they may lie anywhere. */
static void draw_legend(picture *p)
{
    const int x = p->curves_right + 20;
    for (int i = 0, row = 0; i < p->c->count; i++) {
        const int y = p->curves_top + 12 + LEGEND_ROW * row;
        const char *dash = dashes[i / COLOURS % DASHES];
        if (p->logs[i].count == 0) continue;
        row++;
        put(p, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2.4\"%s%s%s/>\n", x, x + 26,
            y, y, colours[i % COLOURS], *dash ? " stroke-dasharray=\"" : "", dash, *dash ? "\"" : "");
        put(p, "<text x=\"%d\" y=\"%d\" fill=\"#222\">", x + 34, y + 4);
        put_name(p, i);
        put(p, "</text>\n");
    }
}

/* ---- all of it ---- */

static void draw(picture *p, bool curves)
{
    char title[64];
    evaluation_metric_title(&p->c->e, p->c->metric, title, sizeof title);
    put(p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        WIDTH, p->height, WIDTH, p->height);
    put(p, "<text x=\"%d\" y=\"28\" font-size=\"16\" fill=\"#111\">%s of %d test sources%s", MARGIN, title,
        p->c->e.segments.count, p->c->e.samples > 0 ? ", with 95 % intervals" : "");
    if (p->c->e.samples > 0 && p->c->base >= 0 && p->c->count > 1) {
        put(p, "<tspan dx=\"8\" font-size=\"13\" fill=\"#666\">(*: differs from ");
        put_name(p, p->c->base);
        put(p, ", p &lt; 0.05)</tspan>");
    }
    put(p, "</text>\n");
    draw_scale(p, title);
    for (int i = 0; i < p->c->count; i++) draw_row(p, i);
    if (curves) {
        draw_curve_axes(p);
        for (int i = p->c->count - 1; i >= 0; i--) draw_curve(p, i);
        draw_legend(p);
    }
    put(p, "</svg>\n");
}

int comparison_plot(const comparison *c, const char *path)
{
    picture p = { .c = c };
    int letters = 0;
    for (int i = 0; i < c->count; i++) {
        const int n = attend_columns(c->variants[i].name);
        if (n > letters) letters = n <= MOST_LETTERS ? n : MOST_LETTERS + 2;
    }
    const int wide = LETTER * letters;
    p.left = wide + 36 > MARGIN ? wide + 36 : MARGIN;
    if (!read_logs(&p)) return attend_fail(ATTEND_NO_MEMORY, "no memory for the picture");
    choose_scale(&p);
    const bool curves = isfinite(p.least);
    p.curves_top = TOP + ROW * c->count + SCALE + GAP;
    p.curves_height = LEGEND_ROW * c->count > CURVES ? LEGEND_ROW * c->count : CURVES;
    p.curves_right = WIDTH - wide - 66;
    p.height = curves ? p.curves_top + p.curves_height + 56 : p.curves_top - GAP / 2;
    p.status = attend_atomic_file_begin(&p.to, path, 0);
    if (p.status == ATTEND_OK) {
        draw(&p, curves);
        if (p.status == ATTEND_OK)
            p.status = attend_atomic_file_commit(p.to);
        else
            attend_atomic_file_abandon(p.to);
    }
    for (int i = 0; i < c->count; i++) training_log_free(&p.logs[i]);
    free(p.logs);
    return p.status;
}
