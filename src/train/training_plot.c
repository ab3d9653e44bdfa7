/* training_plot.c: the log of a training as an SVG. Reads the lines that trainer.c writes; whatever else is in the file is passed over. */
#include "train/training_log.h"

#include "core/memory.h"
#include "core/atomic_file.h"
#include "core/status.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 720, HEIGHT = 360, LEFT = 60, RIGHT = 60, TOP = 40, BOTTOM = 45 };

typedef struct curve {
    double *x, *y;
    size_t count, room;
} curve;

static bool add(curve *c, double x, double y)
{
    if (!isfinite(x) || !isfinite(y)) return true;
    if (c->count == c->room) {
        const size_t room = 2 * c->room + 64;
        double *xs = attend_memory_zeroed(room, sizeof *xs), *ys = attend_memory_zeroed(room, sizeof *ys);
        if (!xs || !ys) {
            attend_memory_free(xs);
            attend_memory_free(ys);
            return false;
        }
        if (c->count) memcpy(xs, c->x, c->count * sizeof *xs), memcpy(ys, c->y, c->count * sizeof *ys);
        attend_memory_free(c->x);
        attend_memory_free(c->y);
        c->x = xs, c->y = ys, c->room = room;
    }
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return true;
}

/* The number behind "name": in a line; NAN: there is none. */
static double number_of(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(line, key);
    if (!at) return NAN;
    char *end;
    const double x = strtod(at += strlen(key), &end);
    return end > at ? x : NAN; /* null */
}

typedef struct picture {
    attend_atomic_file *to;
    int status;
    double first, last; /* updates */
} picture;

#define put(p, ...) attend_atomic_file_put((p)->to, &(p)->status, __VA_ARGS__)

static double across(const picture *p, double update)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (update - p->first) / fmax(p->last - p->first, 1);
}

static double down(double y, double low, double high)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - low) / fmax(high - low, 1e-9));
}

static void line(picture *p, const curve *c, double low, double high, const char *color, const char *dashes)
{
    if (c->count == 0) return;
    put(p, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s%s%s points=\"", color,
        *dashes ? " stroke-dasharray=\"" : "", dashes, *dashes ? "\"" : "");
    for (size_t i = 0; i < c->count; i++) put(p, "%.1f,%.1f ", across(p, c->x[i]), down(c->y[i], low, high));
    put(p, "\"/>\n");
}

static void bounds(const curve *c, double *low, double *high)
{
    for (size_t i = 0; i < c->count; i++) *low = fmin(*low, c->y[i]), *high = fmax(*high, c->y[i]);
}

/* A round step that makes four to nine of a range. */
static double step_of(double range)
{
    const double rough = fmax(range, 1e-9) / 5, ten = pow(10, floor(log10(rough)));
    return ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
}

/* Bounds that are multiples of the step. */
static void widen(double *low, double *high)
{
    const double step = step_of(*high - *low);
    *low = step * floor(*low / step + 1e-9), *high = step * ceil(*high / step - 1e-9);
    if (*high <= *low) *high = *low + step;
}

/* A scale on one side. */
static void scale(picture *p, double low, double high, bool right, const char *color)
{
    const double step = step_of(high - low);
    for (int i = 0; low + step * i <= high + step / 2; i++) {
        const double y = low + step * i, at = down(y, low, high);
        put(p, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%.6g</text>\n",
            right ? WIDTH - RIGHT + 6 : LEFT - 6, at + 4, right ? "start" : "end", color, y);
        if (!right)
            put(p, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\n", LEFT,
                WIDTH - RIGHT, at, at);
    }
}

static void draw(picture *p, const curve *train, const curve *valid, const curve *score, const char *title)
{
    double low = INFINITY, high = -INFINITY, least = INFINITY, most = -INFINITY;
    bounds(train, &low, &high), bounds(valid, &low, &high), bounds(score, &least, &most);
    if (isfinite(low)) widen(&low, &high);
    if (isfinite(least)) widen(&least, &most);
    p->first = 0;
    put(p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n",
        WIDTH, HEIGHT);
    put(p, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"22\" font-size=\"14\">", LEFT);
    for (const char *s = title; *s; s++) /* a file name may hold anything */
        if (*s == '<' || *s == '&' || *s == '>')
            put(p, "&#%d;", *s);
        else if ((unsigned char)*s >= ' ')
            put(p, "%c", *s);
    put(p, "</text>\n");
    if (isfinite(low)) scale(p, low, high, false, "#333");
    if (isfinite(least)) scale(p, least, most, true, "#b5651d");
    const double step = step_of(p->last - p->first);
    for (double update = p->first; update <= p->last + 1e-9; update += step)
        put(p, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#333\">%.6g</text>\n", across(p, update),
            HEIGHT - BOTTOM + 18, update);
    put(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#333\">updates</text>\n", WIDTH / 2, HEIGHT - 8);
    line(p, train, low, high, "#4477aa", "");
    line(p, valid, low, high, "#228833", "");
    line(p, score, least, most, "#b5651d", "5 3");
    put(p, "<text x=\"%d\" y=\"22\" text-anchor=\"end\"><tspan fill=\"#4477aa\">training loss</tspan>", WIDTH - RIGHT);
    if (valid->count) put(p, " <tspan fill=\"#228833\"> validation loss</tspan>");
    if (score->count) put(p, " <tspan fill=\"#b5651d\"> validation score</tspan>");
    put(p, "</text>\n</svg>\n");
}

int attend_training_plot_write(const char *journal_path, const char *svg_path, const char *title)
{
    FILE *f = fopen(journal_path, "rb");
    if (!f) return attend_fail(ATTEND_IO, "%s: cannot read the log: %s", journal_path, attend_errno_text(errno));
    curve curves[3] = { { NULL, NULL, 0, 0 } };
    static const char *const names[3] = { "loss", "valid_loss", "valid_score" };
    char *text = NULL;
    size_t room = 0;
    bool ok = true;
    picture p = { .first = INFINITY, .last = -INFINITY };
    while (ok && getline(&text, &room, f) > 0) {
        const double update = number_of(text, "update");
        for (int i = 0; ok && i < 3; i++) {
            const double y = number_of(text, names[i]);
            if (isfinite(update) && isfinite(y)) p.first = fmin(p.first, update), p.last = fmax(p.last, update);
            ok = add(&curves[i], update, y);
        }
    }
    free(text);
    fclose(f);
    p.status = ok ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for a curve");
    if (p.status == ATTEND_OK && isfinite(p.first)) {
        p.status = attend_atomic_file_begin(&p.to, svg_path, 0);
        if (p.status == ATTEND_OK) {
            draw(&p, &curves[0], &curves[1], &curves[2], title);
            if (p.status == ATTEND_OK)
                p.status = attend_atomic_file_commit(p.to);
            else
                attend_atomic_file_abandon(p.to);
        }
    }
    for (int i = 0; i < 3; i++) attend_memory_free(curves[i].x), attend_memory_free(curves[i].y);
    return p.status;
}
