/* length_plot.c: a score by the length of sentences, of one system or two, as an SVG: a point for each bucket, with its interval where there is
 * one, the number of sentences below it, and all of a system's sentences together in the legend. */
#include "evaluation.h"

#include "core/atomic_file.h"
#include "core/status.h"
#include <limits.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 440, LEFT = 64, RIGHT = 24, TOP = 64, BOTTOM = 84, RADIUS = 4 };

static const char *const colors[MOST_SYSTEMS] = { "#2b6ca3", "#c44e52" };

typedef struct picture {
    const evaluation *e;
    attend_atomic_file *to;
    int status, metric;
    double top, step; /* of the scale, which begins at 0 */
} picture;

#define put(p, ...) attend_atomic_file_put((p)->to, &(p)->status, __VA_ARGS__)

/* A file name may hold anything. */
static void put_text(picture *p, const char *text)
{
    for (const char *s = text; *s; s++)
        if (*s == '<' || *s == '&' || *s == '>')
            put(p, "&#%d;", *s);
        else if ((unsigned char)*s >= ' ')
            put(p, "%c", *s);
}

static double across(const picture *p, int bucket_number)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (bucket_number + 0.5) / p->e->bucket_count;
}

static double down(const picture *p, double score)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - score / p->top);
}

/* A scale from 0 in four to nine round steps, with room for every point and interval. */
static void choose_scale(picture *p)
{
    double most = 0;
    for (int i = 0; i < p->e->bucket_count; i++)
        for (int k = 0; p->e->buckets[i].lines && k < p->e->system_count; k++) {
            const attend_interval *s = &p->e->buckets[i].scores[k][p->metric];
            most = fmax(most, fmax(s->score, s->high));
        }
    const double rough = fmax(most, 1) / 5, ten = pow(10, floor(log10(rough)));
    p->step = ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
    p->top = p->step * ceil(fmax(most, 1) / p->step);
}

static void draw_axes(picture *p, const char *title)
{
    for (int i = 0; p->step * i <= p->top * 1.0001; i++) {
        const double y = down(p, p->step * i);
        put(p, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", LEFT, WIDTH - RIGHT, y, y,
            i ? "#e3e3e3" : "#555");
        put(p, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#444\">%.6g</text>\n", LEFT - 8, y + 4,
            p->step * i);
    }
    for (int i = 0; i < p->e->bucket_count; i++) {
        const bucket *b = &p->e->buckets[i];
        const double x = across(p, i), y = down(p, 0);
        char name[40];
        if (b->from == 0 || b->from == b->to || b->to == INT_MAX)
            evaluation_bucket_name(b, name, sizeof name);
        else
            snprintf(name, sizeof name, "%d\xe2\x80\x93%d", b->from, b->to); /* a dash */
        put(p, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#555\"/>\n", x, x, y, y + 5);
        put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#222\">%s</text>\n", x, y + 20, name);
        put(p, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\" fill=\"#888\">n = %d</text>\n", x,
            y + 36, b->lines);
    }
    put(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#222\">%s (n: sentences)</text>\n",
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, evaluation_length_name(p->e));
    put(p, "<text transform=\"translate(20 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"#222\">%s</text>\n",
        (TOP + HEIGHT - BOTTOM) / 2, title);
}

/* One system's points, moved aside a little where there are two, so that intervals do not lie on each other. */
static void draw_system(picture *p, int k)
{
    const double aside = p->e->system_count > 1 && p->e->samples > 0 ? (k ? 4 : -4) : 0;
    put(p, "<g stroke=\"%s\" fill=\"%s\" stroke-width=\"2\">\n<polyline fill=\"none\"%s points=\"", colors[k],
        colors[k], k ? " stroke-dasharray=\"7 4\"" : "");
    for (int i = 0; i < p->e->bucket_count; i++)
        if (p->e->buckets[i].lines)
            put(p, "%.1f,%.1f ", across(p, i) + aside, down(p, p->e->buckets[i].scores[k][p->metric].score));
    put(p, "\"/>\n");
    for (int i = 0; i < p->e->bucket_count; i++) {
        const attend_interval *s = &p->e->buckets[i].scores[k][p->metric];
        const double x = across(p, i) + aside;
        if (p->e->buckets[i].lines == 0) continue;
        if (p->e->samples > 0)
            put(p, "<path stroke-width=\"1.2\" d=\"M%.1f %.1fV%.1fm-4 0h8m-8 0m0 %.1fh8\"/>\n", x, down(p, s->low),
                down(p, s->high), down(p, s->low) - down(p, s->high));
        put(p, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"%s><title>%.2f</title></circle>\n", x, down(p, s->score),
            RADIUS, k ? " fill=\"white\"" : "", s->score);
    }
    put(p, "</g>\n");
}

static void draw_legend(picture *p)
{
    for (int k = 0; k < p->e->system_count; k++) {
        const int x = LEFT + k * (WIDTH - LEFT - RIGHT) / 2, y = 44;
        put(p,
            "<g stroke=\"%s\" fill=\"%s\" stroke-width=\"2\"><line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"%s/><circle "
            "cx=\"%d\" "
            "cy=\"%d\" r=\"%d\"%s/></g>\n",
            colors[k], colors[k], x, x + 32, y, y, k ? " stroke-dasharray=\"7 4\"" : "", x + 16, y, RADIUS,
            k ? " fill=\"white\"" : "");
        put(p, "<text x=\"%d\" y=\"%d\" fill=\"#222\">", x + 40, y + 4);
        put_text(p, p->e->names[k]);
        put(p, " <tspan fill=\"#666\">(all %d: %.2f)</tspan></text>\n", p->e->whole.lines,
            p->e->whole.scores[k][p->metric].score);
    }
}

static void draw(picture *p)
{
    char title[64];
    evaluation_metric_title(p->e, p->metric, title, sizeof title);
    put(p,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    put(p, "<text x=\"%d\" y=\"24\" font-size=\"16\" fill=\"#111\">%s by sentence length%s</text>\n", LEFT, title,
        p->e->samples > 0 ? ", with 95 % intervals" : "");
    draw_axes(p, title);
    for (int k = p->e->system_count - 1; k >= 0; k--) draw_system(p, k);
    draw_legend(p);
    put(p, "</svg>\n");
}

int evaluation_plot(const evaluation *e, const char *path)
{
    picture p = { .e = e };
    while (p.metric < METRICS - 1 && !e->wanted[p.metric]) p.metric++;
    choose_scale(&p);
    p.status = attend_atomic_file_begin(&p.to, path, 0);
    if (p.status != ATTEND_OK) return p.status;
    draw(&p);
    if (p.status == ATTEND_OK) return attend_atomic_file_commit(p.to);
    attend_atomic_file_abandon(p.to);
    return p.status;
}
