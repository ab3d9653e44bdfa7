/* comparison_train.c: trains one variant, and measures its time over all interruptions. */
#include "comparison.h"
#include "interrupt.h"
#include "progress.h"

#include <attend/status.h>
#include <math.h>
#include <stdlib.h>

typedef struct stage {
    progress_view view;
    variant *x;
    char *clock;                       /* path of the file */
    double seconds, validating, words; /* before this run */
    double tokens;                     /* target tokens of an epoch, end tokens included */
} stage;

static void plan(void *user, const attend_plan *p)
{
    stage *s = user;
    s->x->r.updates_per_epoch = (double)p->updates_per_epoch;
    s->tokens = (double)(p->target_tokens + p->pairs);
    if (!p->resumed || p->update == 0) s->seconds = s->validating = s->words = 0;
    s->x->r.seconds = s->seconds, s->x->r.validating = s->validating, s->x->r.words = s->words;
    progress_plan(&s->view, p);
}

static void show(void *user, const attend_progress *p)
{
    stage *s = user;
    variant_result *r = &s->x->r;
    r->seconds = s->seconds + p->seconds, r->validating = s->validating + p->validation_seconds;
    r->words = s->words + p->tokens_per_second * fmax(p->seconds, 1e-9);
    progress_show(&s->view, p);
    if (!p->saved) return;
    record f = { 0 }; /* a failure is ignored: the measured time is only a little too low */
    record_add_number(&f, "seconds", r->seconds);
    record_add_number(&f, "validating", r->validating);
    record_add_number(&f, "words", r->words);
    record_write(&f, s->clock);
    record_free(&f);
}

static void message(void *user, const char *text)
{
    progress_message(&((stage *)user)->view, text);
}

static void read_clock(stage *s)
{
    record f = { 0 };
    bool found;
    if (record_read(&f, s->clock, &found) != ATTEND_OK || !record_number(&f, "seconds", &s->seconds) ||
        !record_number(&f, "validating", &s->validating) || !record_number(&f, "words", &s->words))
        s->seconds = s->validating = s->words = 0;
    record_free(&f);
}

/* Reads the best update and the actual number of updates per epoch; the plan assumes full batches. */
static int read_log(const comparison *c, variant *x, double tokens)
{
    attend_training_history log = { 0 };
    char *path = comparison_path(c, x, "model.log.jsonl");
    const int status = path ? attend_training_history_read(&log, path) : ATTEND_NO_MEMORY;
    x->r.best_update = attend_training_history_best(&log);
    for (size_t i = 0; i < log.count; i++) {
        const attend_training_record *r = &log.records[i];
        x->r.last_update = r->update;
        if (r->rows > 0 && r->update > 0 && tokens > 0) x->r.updates_per_epoch = tokens / (r->rows / r->update);
    }
    attend_training_history_free(&log);
    free(path);
    return status;
}

int comparison_train(const comparison *c, variant *x, attend_train_end *end)
{
    char *model = comparison_path(c, x, "model"), *clock = comparison_path(c, x, "clock");
    stage s = { .x = x, .clock = clock };
    s.view = progress_new(stderr, x->t.quiet, valid_metric_style(x->t.metric), x->t.valid.count > 0);
    const attend_train_events events = {
        .user = &s, .plan = plan, .progress = show, .notice = message, .stop = interrupt_stop
    };
    int status = model && clock ? comparison_begin(c, x) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) {
        attend_train_options o = train_settings_options(&verb_compare, &x->t, &x->p);
        o.model = model, o.fresh = false; /* existing files were removed if --fresh is given */
        read_clock(&s);
        status = attend_train(&o, &events, end);
        progress_end(&s.view);
    }
    if (status == ATTEND_OK && *end != ATTEND_TRAIN_STOPPED) status = read_log(c, x, s.tokens);
    free(model);
    free(clock);
    return status;
}
