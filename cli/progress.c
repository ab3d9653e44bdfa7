#include "progress.h"

#include "options.h"
#include "terminal.h"
#include "vocabulary_text.h"
#include "result_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double EVERY_TERMINAL = 0.2, EVERY_PIPE = 10; /* seconds */

/* Lines can be redrawn: a terminal that understands the escape sequences for it. */
static bool can_redraw(FILE *to)
{
    const char *term = getenv("TERM");
    return isatty(fileno(to)) && !(term && strcmp(term, "dumb") == 0);
}

progress_view progress_new(FILE *to, bool quiet, score_style metric, bool has_valid)
{
    return (progress_view){
        .to = to, .quiet = quiet, .terminal = can_redraw(to), .metric = metric, .has_valid = has_valid, .last = -1e9
    };
}

/* Erases the status line, before anything else is printed. */
static void erase_line(progress_view *v)
{
    if (v->open) write_unchanged(v->to, "\r\033[K");
    v->open = false;
}

static void print_line(progress_view *v, bool is_kept);

void progress_end(progress_view *v)
{
    const bool is_shown = v->quiet || v->now.update == 0 || v->shown == v->now.update;
    erase_line(v);
    if (!is_shown && !isnan(v->now.loss)) print_line(v, true);
    const double training = v->now.seconds - v->now.validation_seconds;
    if (v->quiet || training < 1) return;
    attend_print(v->to, "%.0f s in total, %.0f s of it in validation; %.0f %% of the rest in updates\n", v->now.seconds,
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

/* The learning rate and how it changes. */
static void print_rate(progress_view *v, const attend_plan *p)
{
    const attend_schedule *s = &p->schedule;
    v->rate_changes = s->kind == ATTEND_SCHEDULE_COSINE || s->kind == ATTEND_SCHEDULE_INVERSE_SQRT;
    attend_print(v->to, "rate        learning rate %.3g", p->rate);
    if (s->warmup > 0 && p->update < s->warmup)
        attend_print(v->to, " after %llu updates of warm-up", (unsigned long long)s->warmup);
    if (s->kind == ATTEND_SCHEDULE_COSINE)
        attend_print(v->to, "; falls to %.2g until update %llu", s->min_share * s->rate,
                     (unsigned long long)s->updates);
    else if (s->kind == ATTEND_SCHEDULE_INVERSE_SQRT)
        attend_print(v->to, "; falls with the square root of the updates");
    else if (s->kind == ATTEND_SCHEDULE_PLATEAU && p->valid_pairs)
        attend_print(v->to, "; %s when validation does not improve", s->factor == 0.5 ? "halved" : "reduced");
    attend_print(v->to, "\n");
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
    if (!lines) /* without the end of each source */
        attend_print(v->to, ", %llu and", (unsigned long long)(p->source_tokens - p->pairs));
    attend_print(v->to, "%s %llu tokens", lines ? "," : "", (unsigned long long)p->target_tokens);
    if (p->valid_pairs)
        attend_print(v->to, "; validation %llu %s%s", (unsigned long long)p->valid_pairs, items,
                     p->held_out ? ", held out" : "");
    char text[VOCABULARY_TEXT];
    attend_print(v->to, "\nvocabulary  ");
    if (!lines)
        attend_print(v->to, "source: %s%s\n            target: ",
                     vocabulary_text(text, p->source_kind, p->source_vocab, p->has_symbols[0]),
                     p->lowercase[0] ? "; lower case" : "");
    attend_print(v->to, "%s%s\nmodel       %.2f million parameters\n",
                 vocabulary_text(text, p->target_kind, p->target_vocab, p->has_symbols[1]),
                 p->lowercase[1] ? "; lower case" : "", (double)p->parameters * 1e-6);
    attend_print(v->to, "memory      about %zu MiB\nupdates     about %llu per epoch", p->bytes >> 20,
                 (unsigned long long)p->updates_per_epoch);
    if (p->epochs && p->updates + p->epochs > p->epochs * p->updates_per_epoch) /* those per epoch are rounded up */
        attend_print(v->to, ", %llu in %llu epoch%s", (unsigned long long)p->updates, (unsigned long long)p->epochs,
                     p->epochs == 1 ? "" : "s");
    else if (p->updates)
        attend_print(v->to, ", at most %llu", (unsigned long long)p->updates);
    if (p->valid_pairs) attend_print(v->to, "; validation every %llu", (unsigned long long)p->valid_every);
    attend_print(v->to, "%s checkpoint every %llu\n", p->valid_pairs ? "," : ";", (unsigned long long)p->save_every);
    print_rate(v, p);
    if (p->resumed) attend_print(v->to, "resuming from update %llu\n", (unsigned long long)p->update);
}

void progress_message(void *user, const char *text)
{
    progress_view *v = user;
    if (v->quiet) return;
    erase_line(v);
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

/* "at most 3m07 left": patience may end training earlier; "at least": without another limit, only a better model makes
 * it longer. Empty: unknown. */
static void add_time_left(const attend_progress *p, const char *before, char *text, size_t size)
{
    char left[32];
    const bool has_limit = p->seconds_left >= 0;
    const bool is_done = p->updates > 0 && p->update >= p->updates;
    if (is_done || (!has_limit && p->min_seconds_left <= 0)) return;
    progress_time_text(has_limit ? p->seconds_left : p->min_seconds_left, left, sizeof left);
    const bool may_be_shorter = has_limit && p->min_seconds_left >= 0 && p->min_seconds_left < p->seconds_left;
    add(text, size, "%s%s%s left", before, may_be_shorter ? "at most " : has_limit ? "" : "at least ", left);
}

/* A measured speed: 4698.3 becomes 4700. */
static double three_digits(double x)
{
    const double step = x >= 1000 ? pow(10, floor(log10(x)) - 2) : 1;
    return step * floor(x / step + 0.5);
}

/* brief: for a narrow terminal. is_kept: the line stays, and the time left would soon be wrong. */
static void line_of(const progress_view *v, const attend_progress *p, bool brief, bool is_kept, char *text, size_t size)
{
    char ppl[SCORE_TEXT], score[SCORE_TEXT], best[SCORE_TEXT];
    const score_style perplexity = { "perplexity", SCORE_PERPLEXITY };
    *text = '\0';
    if (v->terminal && !brief && !is_kept) add_bar(p, text, size);
    const bool at_end = p->part == 0 && p->epoch > 0; /* of an epoch */
    add(text, size, "epoch %llu %3.0f%%", (unsigned long long)p->epoch + !at_end, at_end ? 100 : 100 * p->part);
    if (!brief) add(text, size, "  update %llu", (unsigned long long)p->update);
    if (isfinite(p->loss)) add(text, size, "  loss %.3f  ppl %s", p->loss, score_text(ppl, perplexity, exp(p->loss)));
    if (!isnan(p->valid_score))
        add(text, size, "  valid%s%s %s", brief ? "" : " ", brief ? "" : v->metric.name,
            score_text(score, v->metric, p->valid_score));
    if (!isnan(p->valid_score) && !brief) add(text, size, " (best %s)", score_text(best, v->metric, p->best));
    if (p->validated && v->rate_changes && !brief) add(text, size, "  rate %.2g", p->rate);
    add(text, size, "  %.0f tokens/s", three_digits(p->tokens_per_second));
    if (!is_kept) add_time_left(p, "  ", text, size);
}

/* The width of the status line: a line that wraps cannot be redrawn. */
static size_t line_width(const progress_view *v)
{
    enum { USUAL = 80 };
    const int columns = terminal_columns(fileno(v->to));
    return !v->terminal ? 1000 : columns > 1 ? (size_t)columns - 1 : USUAL - 1;
}

/* Prints, once, the expected duration, as soon as it can be measured. */
static void estimate(progress_view *v, const attend_progress *p)
{
    enum { UPDATES = 10 };
    static const double SECONDS = 3;
    char epoch[32], left[64] = "";
    if (v->first == 0) v->first = p->update, v->first_second = p->seconds;
    const double seconds = p->seconds - v->first_second;
    if (v->estimated || p->update < v->first + UPDATES || seconds < SECONDS) return;
    v->estimated = true;
    const double each = seconds / (double)(p->update - v->first);
    const double of_epoch = each * (double)v->per_epoch;
    if (of_epoch < 1)
        snprintf(epoch, sizeof epoch, "less than 1s");
    else
        progress_time_text(of_epoch, epoch, sizeof epoch);
    erase_line(v);
    add_time_left(p, ", ", left, sizeof left);
    attend_print(v->to, "time        %s%s per epoch%s\n", of_epoch < 1 ? "" : "about ", epoch, left);
}

/* Prints the state as a line that stays, or as the status line of a terminal, which the next one replaces. */
static void print_line(progress_view *v, bool is_kept)
{
    char text[256];
    const size_t width = line_width(v);
    is_kept = is_kept || !v->terminal;
    line_of(v, &v->now, false, is_kept && v->terminal, text, sizeof text);
    if (strlen(text) > width) line_of(v, &v->now, true, is_kept, text, sizeof text);
    if (strlen(text) > width) text[width] = '\0';
    erase_line(v);
    attend_print(v->to, "%s", text);
    if (is_kept) write_unchanged(v->to, "\n");
    v->open = !is_kept;
    v->last = v->now.seconds;
    if (is_kept) v->shown = v->now.update;
    fflush(v->to);
}

void progress_show(void *user, const attend_progress *p)
{
    progress_view *v = user;
    v->now = *p;
    if (v->quiet) return;
    estimate(v, p);
    const bool due = p->validated || p->seconds - v->last >= (v->terminal ? EVERY_TERMINAL : EVERY_PIPE);
    if (due) print_line(v, p->validated); /* lines with validation scores stay */
}
