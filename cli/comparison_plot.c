/* comparison_plot.c: the comparison as an SVG: each variant's score with its interval, and below it the perplexity on
 * the validation pairs during training, of all variants in one plot. */
#include "comparison.h"

#include <attend/status.h>
#include <attend/plot.h>
#include <math.h>
#include <stdlib.h>

enum { NOTE = 32 };

typedef struct comparison_picture {
    const comparison *c;
    attend_plot_category *categories; /* (variants) */
    char (*notes)[NOTE];              /* (variants) */
    attend_plot_point *scores;        /* (variants) */
    attend_plot_series *score_series; /* (variants) */
    attend_training_history *logs;    /* (variants) */
    attend_plot_point **curves;       /* (variants): a point for each validation, then the best of them */
    attend_plot_series *curve_series; /* (2 variants): the best model of each variant, and its curve */
    size_t score_count, curve_count;
} comparison_picture;

static bool is_done(const comparison_picture *p, int i)
{
    return p->c->variants[i].state == VARIANT_DONE;
}

/* ---- scores ---- */

static void add_score(comparison_picture *p, int i)
{
    const variant *x = &p->c->variants[i];
    const attend_interval *s = &x->scores[p->c->metric];
    p->categories[i] = (attend_plot_category){ x->name, p->notes[i] };
    if (!is_done(p, i)) {
        snprintf(p->notes[i], NOTE, "%s", x->state == VARIANT_FAILED ? "failed" : "pending");
        return;
    }
    const bool differs = p->c->e.samples > 0 && i != p->c->base && s->p < 0.05;
    snprintf(p->notes[i], NOTE, "%.2f%s", s->score, differs ? " *" : "");
    p->scores[i] = (attend_plot_point){ .x = i, .y = s->score };
    if (p->c->e.samples > 0) p->scores[i].low = s->low, p->scores[i].high = s->high;
    p->score_series[p->score_count++] =
        (attend_plot_series){ .points = &p->scores[i], .count = 1, .color = i, .marker = ATTEND_PLOT_DISC };
}

/* ---- perplexities ---- */

/* The curve of a variant, and a ring at its best model. A log that cannot be read is ignored: the table does not need
 * it. */
static int add_curve(comparison_picture *p, int i)
{
    attend_training_history *log = &p->logs[i];
    char *path = is_done(p, i) ? comparison_path(p->c, &p->c->variants[i], "model.log.jsonl") : NULL;
    if (path) attend_training_history_read(log, path);
    free(path);
    attend_plot_point *points = p->curves[i] = calloc(log->count + 1, sizeof *points), *best = NULL;
    if (!points) return attend_fail(ATTEND_NO_MEMORY, "out of memory for the plot");
    size_t count = 0;
    for (size_t k = 0; k < log->count; k++) {
        const attend_training_record *r = &log->records[k];
        if (!isfinite(r->valid_loss)) continue;
        points[count] = (attend_plot_point){ .x = r->update, .y = exp(r->valid_loss) };
        if (r->better) best = &points[count];
        count++;
    }
    if (count == 0) return ATTEND_OK;
    if (best)
        p->curve_series[p->curve_count++] =
            (attend_plot_series){ .points = best, .count = 1, .color = i, .marker = ATTEND_PLOT_RING };
    p->curve_series[p->curve_count++] = (attend_plot_series){
        .name = p->c->variants[i].name, .points = points, .count = count, .color = i, .dashes = i / ATTEND_PLOT_COLORS
    };
    return ATTEND_OK;
}

/* ---- the picture ---- */

static int write_picture(const comparison_picture *p, const char *path)
{
    const comparison *c = p->c;
    char name[64], title[192], subtitle[VARIANT_NAME + 64];
    const bool is_tested = c->e.samples > 0 && c->base >= 0 && c->count > 1;
    evaluation_metric_title(&c->e, c->metric, name, sizeof name);
    snprintf(title, sizeof title, "%s of %d test sources%s", name, c->e.test_set.count,
             c->e.samples > 0 ? ", with 95 % intervals" : "");
    if (is_tested) snprintf(subtitle, sizeof subtitle, "(*: p < 0.05 against %s)", c->variants[c->base].name);
    const attend_plot plots[2] = { { .title = title,
                                     .subtitle = is_tested ? subtitle : NULL,
                                     .y = { .title = name },
                                     .categories = p->categories,
                                     .category_count = c->count,
                                     .transposed = true,
                                     .series = p->score_series,
                                     .series_count = p->score_count },
                                   { .title = "Perplexity on the validation pairs",
                                     .x = { .title = "updates (ring: the best model)", .from_zero = true },
                                     .y = { .logarithmic = true },
                                     .legend_at_right = true,
                                     .series = p->curve_series,
                                     .series_count = p->curve_count } };
    return attend_plot_write(path, plots, p->curve_count ? 2 : 1);
}

static void picture_free(comparison_picture *p)
{
    for (int i = 0; p->logs && i < p->c->count; i++) attend_training_history_free(&p->logs[i]);
    for (int i = 0; p->curves && i < p->c->count; i++) free(p->curves[i]);
    free(p->categories);
    free(p->notes);
    free(p->scores);
    free(p->score_series);
    free(p->logs);
    free(p->curves);
    free(p->curve_series);
}

int comparison_plot(const comparison *c, const char *path)
{
    const size_t n = (size_t)c->count + 1;
    comparison_picture p = { .c = c,
                             .categories = calloc(n, sizeof *p.categories),
                             .notes = calloc(n, sizeof *p.notes),
                             .scores = calloc(n, sizeof *p.scores),
                             .score_series = calloc(n, sizeof *p.score_series),
                             .logs = calloc(n, sizeof *p.logs),
                             .curves = calloc(n, sizeof *p.curves),
                             .curve_series = calloc(2 * n, sizeof *p.curve_series) };
    int status = ATTEND_OK;
    if (!p.categories || !p.notes || !p.scores || !p.score_series || !p.logs || !p.curves || !p.curve_series)
        status = attend_fail(ATTEND_NO_MEMORY, "out of memory for the plot");
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) {
        add_score(&p, i);
        status = add_curve(&p, i);
    }
    if (status == ATTEND_OK) status = write_picture(&p, path);
    picture_free(&p);
    return status;
}
