/* tuning.c: the rounds of attend tune. */
#include "tuning.h"

#include "interrupt.h"
#include "progress.h"
#include <attend/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 9, FRACTION = 3, MAX_ROUNDS = 3 }; /* 9, 3 and 1 candidates */

/* The score by the first metric; NAN: none, because training failed or was too short. Equal scores, such as those of
 * models that have learned little, are compared by perplexity. */
typedef struct outcome {
    double score, perplexity;
} outcome;
static const outcome no_outcome = { NAN, NAN };

/* What a candidate has done: its file `rounds`. */
typedef struct progress {
    int rounds;                   /* completed */
    outcome outcomes[MAX_ROUNDS]; /* after each */
    double spent[MAX_ROUNDS];     /* seconds of training and testing in each */
    double seconds;               /* of training, in all */
    bool is_trained;              /* training is complete */
} progress;

/* ---- the file ---- */

static int read_progress(const comparison *c, const variant *x, progress *p)
{
    record f = { 0 };
    bool found;
    double ended = 0;
    char name[32], *path = comparison_path(c, x, "rounds");
    *p = (progress){ 0 };
    const int status = path ? record_read(&f, path, &found) : ATTEND_NO_MEMORY;
    for (int i = 0; i < MAX_ROUNDS; i++) {
        snprintf(name, sizeof name, "spent %d", i);
        if (!record_number(&f, name, &p->spent[i])) break;
        p->outcomes[i] = no_outcome;
        snprintf(name, sizeof name, "score %d", i);
        if (!record_number(&f, name, &p->outcomes[i].score)) p->outcomes[i].score = NAN;
        snprintf(name, sizeof name, "perplexity %d", i);
        if (!record_number(&f, name, &p->outcomes[i].perplexity)) p->outcomes[i].perplexity = NAN;
        p->rounds = i + 1;
    }
    if (!record_number(&f, "seconds", &p->seconds)) p->seconds = 0;
    p->is_trained = record_number(&f, "trained", &ended) && ended != 0;
    record_free(&f);
    free(path);
    return status;
}

static int write_progress(const comparison *c, const variant *x, const progress *p)
{
    record f = { 0 };
    char name[32], *path = comparison_path(c, x, "rounds");
    for (int i = 0; i < p->rounds; i++) {
        snprintf(name, sizeof name, "score %d", i);
        if (!isnan(p->outcomes[i].score)) record_add_number(&f, name, p->outcomes[i].score);
        snprintf(name, sizeof name, "perplexity %d", i);
        if (isfinite(p->outcomes[i].perplexity)) record_add_number(&f, name, p->outcomes[i].perplexity);
        snprintf(name, sizeof name, "spent %d", i);
        record_add_number(&f, name, p->spent[i]);
    }
    record_add_number(&f, "seconds", p->seconds);
    record_add_number(&f, "trained", p->is_trained);
    const int status = path ? record_write(&f, path) : ATTEND_NO_MEMORY;
    record_free(&f);
    free(path);
    return status;
}

/* ---- one candidate ---- */

static bool has_model(const comparison *c, const variant *x)
{
    char *path = comparison_path(c, x, "model");
    const bool exists = path && access(path, F_OK) == 0;
    free(path);
    return exists;
}

/* Trains for some seconds more, and tests. A failure is one of the candidate: it has no score. */
static int train_and_test(comparison *c, variant *x, progress *p, double seconds, bool *stopped)
{
    attend_train_end end = ATTEND_TRAIN_DONE;
    int status = ATTEND_OK;
    if (!p->is_trained) {
        x->max_seconds = p->seconds + seconds;
        status = comparison_train(c, x, &end);
        *stopped = interrupt_caught() != 0;
        if (*stopped) return ATTEND_OK;
        p->is_trained = status == ATTEND_OK && end != ATTEND_TRAIN_STOPPED;
        p->seconds = x->r.seconds;
    }
    if (status == ATTEND_OK && !has_model(c, x))
        status = attend_fail(ATTEND_FAILED, "its time ended before the first validation");
    if (status == ATTEND_OK) status = comparison_test(c, x, stopped);
    return status;
}

/* One round of a candidate, unless it is done. */
static int run_round(comparison *c, variant *x, int round, double seconds, progress *p, bool *stopped)
{
    int status = read_progress(c, x, p);
    if (status != ATTEND_OK || p->rounds > round) return status;
    const double before = p->seconds;
    x->r.translating = 0;
    status = train_and_test(c, x, p, seconds, stopped);
    if (*stopped) return ATTEND_OK;
    if (status == ATTEND_IO) return status; /* a full disk, say: not the candidate's fault; the same command resumes */
    x->state = status == ATTEND_OK ? VARIANT_DONE : VARIANT_FAILED;
    if (status != ATTEND_OK) {
        snprintf(x->reason, sizeof x->reason, "%s", attend_message());
        if (!c->s->t.quiet) attend_print(stderr, "no score    %s: %s\n", x->name, x->reason);
    }
    status = comparison_score(c);
    p->outcomes[round] = no_outcome;
    if (x->state == VARIANT_DONE)
        p->outcomes[round] = (outcome){ x->scores[c->metric].score, comparison_perplexity(x) };
    p->spent[round] = p->seconds - before + x->r.translating;
    p->rounds = round + 1;
    return status == ATTEND_OK ? write_progress(c, x, p) : status;
}

/* ---- a group of candidates ---- */

/* Whether a is better than b. */
static bool is_better(const comparison *c, outcome a, outcome b)
{
    if (isnan(a.score) || isnan(b.score)) return !isnan(a.score) && isnan(b.score);
    if (a.score == b.score) return a.perplexity < b.perplexity;
    return attend_metric_higher_is_better((attend_metric_kind)c->metric) ? a.score > b.score : a.score < b.score;
}

/* Sorts candidates, the best first; equal ones keep their order. */
static void sort(const comparison *c, int *alive, outcome *outcomes, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && is_better(c, outcomes[j], outcomes[j - 1]); j--) {
            const int candidate = alive[j];
            const outcome o = outcomes[j];
            alive[j] = alive[j - 1], outcomes[j] = outcomes[j - 1];
            alive[j - 1] = candidate, outcomes[j - 1] = o;
        }
}

static int rounds_of(int count)
{
    int rounds = 1;
    for (; count > 1; count = (count + FRACTION - 1) / FRACTION) rounds++;
    return rounds;
}

static void announce(const comparison *c, const variant *x, int round, int rounds, double seconds)
{
    char time[32];
    progress_time_text(seconds, time, sizeof time);
    if (!c->s->t.quiet) attend_print(stderr, "\nround %d of %d, at most %s: %s\n", round + 1, rounds, time, x->name);
}

/* How many candidates are left for a round in which the first took `spent` seconds: a candidate needs a validation,
 * however long that takes, so that few candidates are better than many that learn nothing. */
static int affordable(int count, double seconds, double spent)
{
    const double most = spent > 0 ? seconds / spent : count;
    return most >= count ? count : most < 2 ? 2 : (int)most;
}

/* Runs all rounds of a group of *size candidates, which becomes smaller if the time does not suffice for all. *used:
 * the seconds so far, those of earlier groups included. */
static int run_group(comparison *c, int first, int *size, double seconds, double *used, bool *stopped)
{
    int alive[GROUP], status = ATTEND_OK, count = *size;
    outcome outcomes[GROUP];
    const int rounds = rounds_of(count);
    for (int i = 0; i < count; i++) alive[i] = first + i;
    for (int round = 0; round < rounds; round++) {
        const double part = fmax(seconds - *used, 0.001) / (rounds - round), share = part / count;
        double spent = 0;
        for (int i = 0; i < count; i++) {
            variant *x = &c->variants[alive[i]];
            progress p;
            status = read_progress(c, x, &p);
            if (status == ATTEND_OK && p.rounds <= round) announce(c, x, round, rounds, share);
            if (status == ATTEND_OK) status = run_round(c, x, round, share, &p, stopped);
            if (status != ATTEND_OK || *stopped) return status;
            outcomes[i] = p.outcomes[round];
            spent += p.spent[round];
            if (round == 0 && i == 0) *size = count = affordable(count, part, p.spent[0]);
        }
        *used += spent;
        sort(c, alive, outcomes, count);
        count = (count + FRACTION - 1) / FRACTION;
    }
    return ATTEND_OK;
}

/* ---- all groups ---- */

/* The best score of the last round of each candidate. */
static int find_best(const comparison *c, int *best)
{
    outcome of_best = no_outcome;
    *best = -1;
    for (int i = 0; i < c->count; i++) {
        progress p;
        const int status = read_progress(c, &c->variants[i], &p);
        if (status != ATTEND_OK) return status;
        const outcome last = p.rounds > 0 ? p.outcomes[p.rounds - 1] : no_outcome;
        if (!is_better(c, last, of_best)) continue;
        of_best = last;
        *best = i;
    }
    return ATTEND_OK;
}

int tuning_run(comparison *c, double seconds, bool *stopped, int *best)
{
    const double min_share = 0.1; /* a group with less of the time would find nothing */
    double used = 0;
    int status = ATTEND_OK, count = 0;
    *stopped = false;
    *best = -1;
    for (int first = 0; status == ATTEND_OK && first < c->count && used < (1 - min_share) * seconds; first += count) {
        count = c->count - first < GROUP ? c->count - first : GROUP;
        status = run_group(c, first, &count, seconds, &used, stopped);
        if (*stopped) return ATTEND_OK;
    }
    return status == ATTEND_OK ? find_best(c, best) : status;
}
