#include "progress.h"

#include "perplexity.h"
#include "terminal.h"

#include <math.h>
#include <stdarg.h>
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
    if (v->open) attend_print(v->to, "\n");
    v->open = false;
}

void progress_end(progress_view *v)
{
    close_line(v);
    const double training = v->now.seconds - v->now.validation_seconds;
    if (v->quiet || training < 1) return;
    attend_print(v->to, "%.0f s in total, %.0f s of it in validation; %.1f %% of the rest in updates\n", v->now.seconds,
                 v->now.validation_seconds, 100 * v->now.step_seconds / training);
}

void progress_time_text(double seconds, char *text, size_t size)
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
    v->planned = true;
    v->per_epoch = p->updates_per_epoch;
    if (v->quiet) return;
    const bool lines = p->task == ATTEND_TASK_LANGUAGE_MODEL;
    const char *const items = lines ? "lines" : "pairs";
    attend_print(v->to, "data        %llu %s", (unsigned long long)p->pairs, items);
    if (p->left_out) attend_print(v->to, " (%llu skipped: empty or too long)", (unsigned long long)p->left_out);
    if (!lines) attend_print(v->to, ", %llu and", (unsigned long long)p->source_tokens);
    attend_print(v->to, "%s %llu tokens", lines ? "," : "", (unsigned long long)p->target_tokens);
    if (p->valid_pairs) attend_print(v->to, "; validation %llu %s", (unsigned long long)p->valid_pairs, items);
    attend_print(v->to, "\nvocabulary  ");
    if (!lines) attend_print(v->to, "%d and ", p->source_vocab);
    attend_print(v->to, "%d\nmodel       %.2f million parameters\n", p->target_vocab, (double)p->parameters * 1e-6);
    attend_print(v->to, "memory      about %zu MiB\nupdates     %llu per epoch", p->bytes >> 20,
                 (unsigned long long)p->updates_per_epoch);
    if (p->updates) attend_print(v->to, ", at most %llu", (unsigned long long)p->updates);
    attend_print(v->to, "; validation every %llu, checkpoint every %llu\n", (unsigned long long)p->valid_every,
                 (unsigned long long)p->save_every);
    if (p->resumed) attend_print(v->to, "resuming from update %llu\n", (unsigned long long)p->update);
}

void progress_message(void *user, const char *text)
{
    progress_view *v = user;
    if (v->quiet) return;
    close_line(v);
    attend_print(v->to, "%s\n", text);
}

static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + n, size - n, format, arguments);
    va_end(arguments);
}

/* [=====>    ], if the number of updates is limited. */
static void add_bar(const attend_progress *p, char *text, size_t size)
{
    enum { WIDTH = 20 };
    static const char done[] = "====================", rest[] = "                    ";
    if (p->updates == 0) return;
    const double part = (double)p->update / (double)p->updates;
    const int n = part >= 1 ? WIDTH : (int)(part * WIDTH);
    add(text, size, "[%.*s%s%.*s] ", n, done, n < WIDTH ? ">" : "", n < WIDTH ? WIDTH - n - 1 : 0, rest);
}

/* brief: for a narrow terminal. */
static void line_of(const progress_view *v, const attend_progress *p, bool brief, char *text, size_t size)
{
    char left[32], ppl[PERPLEXITY_TEXT], score[PERPLEXITY_TEXT], best[PERPLEXITY_TEXT];
    *text = '\0';
    if (v->terminal && !brief) add_bar(p, text, size);
    add(text, size, "epoch %llu %3.0f%%", (unsigned long long)p->epoch + 1, 100 * p->part);
    if (!brief) add(text, size, "  update %llu", (unsigned long long)p->update);
    if (isfinite(p->loss)) add(text, size, "  loss %.3f  ppl %s", p->loss, perplexity_text(ppl, 2, exp(p->loss)));
    if (!isnan(p->valid_score))
        add(text, size, "  valid%s%s %s", brief ? "" : " ", brief ? "" : v->metric,
            perplexity_text(score, 2, p->valid_score));
    if (!isnan(p->valid_score) && !brief) add(text, size, " (best %s)", perplexity_text(best, 2, p->best));
    add(text, size, "  %.0f tokens/s", p->tokens_per_second);
    if (p->seconds_left < 0) return;
    progress_time_text(p->seconds_left, left, sizeof left);
    add(text, size, "  %s left", left);
}

/* The width of the status line: a line that wraps cannot be redrawn. */
static size_t line_width(const progress_view *v)
{
    const int columns = v->terminal ? terminal_columns(fileno(v->to)) : 0;
    return columns > 1 ? (size_t)columns - 1 : 1000;
}

/* Prints, once, the expected duration, as soon as it can be measured. */
static void estimate(progress_view *v, const attend_progress *p)
{
    enum { UPDATES = 10 };
    static const double SECONDS = 3;
    char epoch[32], left[32];
    if (v->first == 0) v->first = p->update, v->first_second = p->seconds;
    const double seconds = p->seconds - v->first_second;
    if (v->estimated || p->update < v->first + UPDATES || seconds < SECONDS) return;
    v->estimated = true;
    const double each = seconds / (double)(p->update - v->first);
    progress_time_text(each * (double)v->per_epoch, epoch, sizeof epoch);
    close_line(v);
    attend_print(v->to, "time        about %s per epoch", epoch);
    if (p->updates > p->update) {
        progress_time_text(each * (double)(p->updates - p->update), left, sizeof left);
        attend_print(v->to, ", %s left", left);
    }
    attend_print(v->to, "\n");
}

void progress_show(void *user, const attend_progress *p)
{
    progress_view *v = user;
    v->now = *p;
    if (v->quiet) return;
    estimate(v, p);
    const bool due = p->validated || p->seconds - v->last >= (v->terminal ? EVERY_TERMINAL : EVERY_PIPE);
    if (!due) return;
    char text[256];
    const size_t width = line_width(v);
    line_of(v, p, false, text, sizeof text);
    if (strlen(text) > width) line_of(v, p, true, text, sizeof text);
    if (strlen(text) > width) text[width] = '\0';
    v->last = p->seconds;
    if (v->terminal)
        attend_print(v->to, "\r\033[K%s", text);
    else
        attend_print(v->to, "%s", text);
    v->open = v->terminal;
    if (!v->terminal) attend_print(v->to, "\n");
    if (p->validated && v->terminal) close_line(v); /* keep the lines with validation scores */
    fflush(v->to);
}
