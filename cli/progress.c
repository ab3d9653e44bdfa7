#include "progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double EVERY_TERMINAL = 0.2, EVERY_PIPE = 10; /* seconds */

progress_view progress_new(FILE *to, bool quiet, const char *metric, bool has_valid)
{
    return (progress_view){
        .to = to, .quiet = quiet, .terminal = isatty(fileno(to)), .metric = metric, .has_valid = has_valid, .last = -1e9
    };
}

static void close_line(progress_view *v)
{
    if (v->open) fprintf(v->to, "\n");
    v->open = false;
}

void progress_end(progress_view *v)
{
    close_line(v);
    const double training = v->now.seconds - v->now.in_validation;
    if (v->quiet || training < 1) return;
    fprintf(v->to, "%.0f s, of which %.0f s validating; of the rest, updates had %.1f %%\n", v->now.seconds,
            v->now.in_validation, 100 * v->now.in_steps / training);
}

static void time_text(double seconds, char *text, size_t size)
{
    const long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, size, "%ldh%02ld", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(text, size, "%ldm%02ld", s / 60, s % 60);
    else
        snprintf(text, size, "%lds", s);
}

void progress_plan(void *user, const attend_plan *p)
{
    progress_view *v = user;
    if (v->quiet) return;
    fprintf(v->to, "data        %llu pairs", (unsigned long long)p->pairs);
    if (p->left_out) fprintf(v->to, " (%llu left out: empty or too long)", (unsigned long long)p->left_out);
    fprintf(v->to, ", %llu and %llu words", (unsigned long long)p->source_tokens, (unsigned long long)p->target_tokens);
    if (p->valid_pairs) fprintf(v->to, "; validation %llu pairs", (unsigned long long)p->valid_pairs);
    fprintf(v->to, "\nvocabulary  %d and %d\nmodel       %.2f million parameters\n", p->source_vocab, p->target_vocab,
            (double)p->parameters * 1e-6);
    fprintf(v->to, "memory      about %zu MiB\nupdates     %llu an epoch", p->bytes >> 20,
            (unsigned long long)p->updates_per_epoch);
    if (p->updates) fprintf(v->to, ", %llu at most", (unsigned long long)p->updates);
    fprintf(v->to, "; validation every %llu, a checkpoint every %llu\n", (unsigned long long)p->valid_every,
            (unsigned long long)p->save_every);
    if (p->resumed) fprintf(v->to, "going on from update %llu\n", (unsigned long long)p->update);
}

void progress_say(void *user, const char *text)
{
    progress_view *v = user;
    if (v->quiet) return;
    close_line(v);
    fprintf(v->to, "%s\n", text);
}

static void line_of(const progress_view *v, const attend_progress *p, char *text, size_t size)
{
    char left[32] = "";
    size_t n = (size_t)snprintf(text, size, "epoch %llu %3.0f%%  update %llu  loss %.3f  ppl %.2f",
                                (unsigned long long)p->epoch + 1, 100 * p->part, (unsigned long long)p->update, p->loss,
                                exp(p->loss));
    if (!isnan(p->valid_score) && n < size)
        n += (size_t)snprintf(text + n, size - n, "  valid %s %.2f (best %.2f)", v->metric, p->valid_score, p->best);
    if (n < size) n += (size_t)snprintf(text + n, size - n, "  %.0f words/s", p->tokens_per_second);
    if (p->seconds_left < 0 || n >= size) return;
    time_text(p->seconds_left, left, sizeof left);
    snprintf(text + n, size - n, "  %s left", left);
}

void progress_show(void *user, const attend_progress *p)
{
    progress_view *v = user;
    v->now = *p;
    if (v->quiet) return;
    const bool due = p->validated || p->seconds - v->last >= (v->terminal ? EVERY_TERMINAL : EVERY_PIPE);
    if (!due) return;
    char text[256];
    line_of(v, p, text, sizeof text);
    v->last = p->seconds;
    if (v->terminal)
        fprintf(v->to, "\r\033[K%s", text);
    else
        fprintf(v->to, "%s", text);
    v->open = v->terminal;
    if (!v->terminal) fprintf(v->to, "\n");
    if (p->validated && v->terminal) close_line(v); /* what validation said stays */
    fflush(v->to);
}
