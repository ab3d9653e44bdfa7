/* length_plot.c: a score by sentence length, for one system or two, as an SVG. */
#include "evaluation.h"

#include <attend/plot.h>
#include <limits.h>
#include <stdio.h>

enum { SHIFT = 4, TEXT = 64 }; /* pixels; bytes */

/* A label with an en dash between two bounds. */
static void name_bucket(const bucket *b, char text[TEXT])
{
    if (b->from == 0 || b->from == b->to || b->to == INT_MAX)
        evaluation_bucket_name(b, text, TEXT);
    else
        snprintf(text, TEXT, "%d\xe2\x80\x93%d", b->from, b->to);
}

/* The points of system k: a bucket without sentences has none. Returns how many there are. */
static size_t collect(attend_plot_point *points, const evaluation *e, int metric, int k)
{
    size_t count = 0;
    for (int i = 0; i < e->bucket_count; i++) {
        const attend_interval *s = &e->buckets[i].scores[k][metric];
        if (e->buckets[i].lines == 0) continue;
        points[count] = (attend_plot_point){ .x = i, .y = s->score };
        if (e->samples > 0) points[count].low = s->low, points[count].high = s->high;
        count++;
    }
    return count;
}

int evaluation_plot(const evaluation *e, const char *path)
{
    int at = 0;
    while (at < METRICS - 1 && !e->selected[evaluation_metric_at(e, at)]) at++;
    const int metric = evaluation_metric_at(e, at);
    char labels[MAX_BUCKETS][TEXT], notes[MAX_BUCKETS][TEXT], totals[MAX_SYSTEMS][TEXT], name[TEXT], title[2 * TEXT],
        lengths[2 * TEXT];
    attend_plot_category categories[MAX_BUCKETS];
    for (int i = 0; i < e->bucket_count; i++) {
        name_bucket(&e->buckets[i], labels[i]);
        snprintf(notes[i], TEXT, "n = %d", e->buckets[i].lines);
        categories[i] = (attend_plot_category){ labels[i], notes[i] };
    }
    attend_plot_point points[MAX_SYSTEMS][MAX_BUCKETS];
    attend_plot_series series[MAX_SYSTEMS];
    for (int k = 0; k < e->system_count; k++) {
        snprintf(totals[k], TEXT, "(all %d: %.2f)", e->whole.lines, e->whole.scores[k][metric].score);
        series[k] = (attend_plot_series){ .name = e->names[k],
                                          .note = totals[k],
                                          .points = points[k],
                                          .count = collect(points[k], e, metric, k),
                                          .color = k,
                                          .dashes = k,
                                          .marker = k ? ATTEND_PLOT_RING : ATTEND_PLOT_DISC,
                                          .shift = e->system_count > 1 && e->samples > 0 ? (k ? SHIFT : -SHIFT) : 0 };
    }
    evaluation_metric_title(e, metric, name, sizeof name);
    snprintf(title, sizeof title, "%s by sentence length%s", name, e->samples > 0 ? ", with 95 % intervals" : "");
    snprintf(lengths, sizeof lengths, "%s (n: sentences)", evaluation_length_name(e));
    const attend_plot plot = { .title = title,
                               .x = { .title = lengths },
                               .y = { .title = name, .from_zero = true },
                               .categories = categories,
                               .category_count = e->bucket_count,
                               .series = series,
                               .series_count = (size_t)e->system_count };
    return attend_plot_write(path, &plot, 1);
}
