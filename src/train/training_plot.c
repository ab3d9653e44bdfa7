/* training_plot.c: the training log as a picture. */
#include "train/training_log.h"

#include "core/memory.h"
#include "core/status.h"
#include <attend/plot.h>
#include <attend/trainer.h>
#include <math.h>
#include <stdio.h>

enum { TRAIN_LOSS, VALID_LOSS, VALID_SCORE, SERIES };

/* The finite values of one kind, in records' order. Returns how many there are. */
static size_t collect(attend_plot_point *points, const attend_training_history *h, int kind)
{
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++) {
        const attend_training_record *r = &h->records[i];
        const double y = kind == TRAIN_LOSS ? r->loss : kind == VALID_LOSS ? r->valid_loss : r->valid_score;
        if (isfinite(y)) points[count++] = (attend_plot_point){ .x = r->update, .y = y };
    }
    return count;
}

int attend_training_plot_write(const char *log_path, const char *svg_path, const char *title, const char *metric)
{
    char score[64];
    snprintf(score, sizeof score, "validation %s", metric);
    attend_training_history history = { 0 };
    attend_plot_series series[SERIES] = {
        [TRAIN_LOSS] = { .name = "training loss", .color = 0 },
        [VALID_LOSS] = { .name = "validation loss", .color = 2 },
        [VALID_SCORE] = { .name = score, .color = 1, .dashes = 1, .on_right_axis = true },
    };
    int status = attend_training_history_read(&history, log_path);
    const size_t room = history.count ? history.count : 1;
    attend_plot_point *points = attend_memory_zeroed(SERIES * room, sizeof *points);
    if (status == ATTEND_OK && !points) status = attend_fail(ATTEND_NO_MEMORY, "no memory for the training plot");
    size_t total = 0;
    for (int kind = 0; status == ATTEND_OK && kind < SERIES; kind++) {
        attend_plot_series *s = &series[kind];
        s->points = points + (size_t)kind * room;
        total += s->count = collect(points + (size_t)kind * room, &history, kind);
        if (s->count == 0) s->name = NULL;
    }
    const attend_plot plot = { .title = title,
                               .x = { .title = "updates", .from_zero = true },
                               .y = { .title = "loss" },
                               .right = { .title = score },
                               .series = series,
                               .series_count = SERIES };
    if (status == ATTEND_OK && total > 0) status = attend_plot_write(svg_path, &plot, 1);
    attend_memory_free(points);
    attend_training_history_free(&history);
    return status;
}
