/* cmd_tune.c: searches sizes and rates of training within a time limit, and prints the command for the best. */
#include "tuning.h"
#include "device_option.h"

#include "interrupt.h"
#include "json_members.h"
#include "memory_option.h"
#include "option_table.h"
#include "plugin_option.h"
#include "progress.h"
#include "stream_copies.h"
#include "terminal.h"
#include <attend/parse.h>
#include <attend/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* compare_settings comes first: comparisons read it. */
typedef struct settings {
    compare_settings c;
    const char *time;
    long long candidates;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS", "training pairs: one .tsv file or two line-aligned files; may be repeated", OPTION_DATA,
      AT(c.t.train), 0, 0, NULL },
    { "valid", "PAIRS|N%",
      "validation pairs, which score the candidates: files, or a percentage of the training pairs, which is held out "
      "(default: 10%, at most 2000 pairs)",
      OPTION_DATA, AT(c.t.valid), 0, 0, NULL },
    { "time", "TIME", "time limit of the search, in all runs together: 90s, 30m, 2h or 1h30m", OPTION_TEXT, AT(time), 0,
      0, NULL },
    { "candidates", "N", "maximum number of candidates; the first is the defaults", OPTION_INTEGER, AT(candidates), 2,
      MAX_VARIANTS, NULL },
    { "output", "DIRECTORY", "directory for the candidates, from which the search resumes", OPTION_DIRECTORY,
      AT(c.output), 0, 0, NULL },
    { "metric", "NAMES",
      "comma-separated list of metrics, as of attend compare; the first decides (default: bleu; word error "
      "if the pairs are single words)",
      OPTION_TEXT, AT(c.metrics), 0, 0, NULL },
    { "beam", "N", "beam size for translating the validation sources", OPTION_INTEGER, AT(c.beam), 1, 1024, NULL },
    { "config", "FILE", "read options from a file, one per line, such as \"hidden 256\"", OPTION_INPUTS,
      AT(c.config_files), 0, 0, NULL },
    PLUGIN_OPTION(AT(c.plugins)),
    { "json", NULL, "print one JSON object", OPTION_FLAG, AT(c.json), 0, 0, NULL },
    { "threads", "N", "number of threads (default: one per physical core that this process may use)", OPTION_INTEGER,
      AT(c.t.threads), 1, 1024, NULL },
    DEVICE_OPTION(AT(c.t.device)),
    MEMORY_OPTION(AT(c.t.memory), " (default: none for training, half of the machine's memory for testing)"),
    { "fresh", NULL, "remove existing results of these candidates and start from scratch", OPTION_FLAG, AT(c.t.fresh),
      0, 0, NULL },
    { "no-check", NULL, "do not check the data before training", OPTION_FLAG, AT(c.t.no_check), 0, 0, NULL },
    { "quiet", NULL, "print the results and errors only", OPTION_FLAG, AT(c.t.quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static const char *const main_options[] = { "train",  "valid",   "time",  "candidates",      "output",
                                            "metric", "threads", "fresh", TRAIN_MAIN_OPTIONS };

/* ---- the command for the best candidate ---- */

/* The words of a command, each printed by a function. */
typedef struct words {
    FILE *to; /* NULL: JSON */
    attend_json_writer *w;
} words;

static void put_word(const words *o, const char *word)
{
    if (o->w) {
        attend_json_put_text(o->w, word);
        return;
    }
    attend_print(o->to, " ");
    cli_print_word(o->to, word);
}

static void put_option(const words *o, const char *name, const char *value)
{
    char typed[64];
    snprintf(typed, sizeof typed, "--%s", name);
    put_word(o, typed);
    if (value) put_word(o, value);
}

static void put_files(const words *o, const char *name, const pairs_list *list)
{
    for (int i = 0; i < list->name_count; i++) {
        if (list->names[i].starts_group) put_option(o, name, NULL);
        put_word(o, list->names[i].name);
    }
}

/* The options that were given, and those of the candidate. */
static void put_command(const words *o, const comparison *c, const variant *x)
{
    char text[RECORD_TEXT];
    const option *entry;
    put_word(o, "train");
    put_files(o, "train", &c->s->t.train);
    put_files(o, "valid", &c->s->t.valid);
    put_option(o, "model", "m");
    for (int i = 0; i < c->s->plugins.count; i++) put_option(o, "score-plugin", c->s->plugins.items[i]);
    for (int i = 0; (entry = options_entry(c->v, i)); i++)
        if (options_is_shared(c->v, i) && x->p.given[i] && options_get(c->v, &x->t, entry->name, text, sizeof text))
            put_option(o, entry->name, text);
    for (int i = 0; attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        if (options_given(c->v, &x->p, name) && options_get(c->v, &x->t, name, text, sizeof text))
            put_option(o, name, text);
    }
}

static void print_json(const comparison *c, const variant *best)
{
    static const char *const states[] = { "pending", "done", "failed" };
    const char *metric = attend_metric_name((attend_metric_kind)c->metric);
    attend_json_writer w = attend_json_to_file(stdout);
    const words o = { .w = &w };
    attend_json_begin_object(&w);
    json_text(&w, "metric", metric);
    json_text(&w, "best", best->name);
    json_number(&w, "score", 4, best->scores[c->metric].score);
    json_begin_array(&w, "command");
    put_word(&o, "attend");
    put_command(&o, c, best);
    attend_json_end_array(&w);
    json_begin_array(&w, "candidates");
    for (int i = 0; i < c->count; i++) {
        const variant *x = &c->variants[i];
        attend_json_begin_object(&w);
        json_text(&w, "name", x->name);
        json_text(&w, "folder", x->file);
        json_text(&w, "state", states[x->state]);
        if (x->state == VARIANT_FAILED) json_text(&w, "reason", x->reason);
        if (x->state == VARIANT_DONE) {
            json_number(&w, "score", 4, x->scores[c->metric].score);
            json_number(&w, "parameters", 0, x->r.parameters);
            json_number(&w, "train_seconds", 1, x->r.seconds);
        }
        attend_json_end_object(&w);
    }
    attend_json_end_array(&w);
    json_end_line(&w);
}

/* Hides candidates for which there was no time, which stay in the list of the JSON object. */
static comparison tried(const comparison *c)
{
    comparison part = *c;
    while (part.count > 0 && part.variants[part.count - 1].state == VARIANT_PENDING) part.count--;
    return part;
}

static int print_results(comparison *c, int best)
{
    const words o = { .to = stdout };
    if (c->s->json) {
        print_json(c, &c->variants[best]);
        return ATTEND_OK;
    }
    const comparison part = tried(c);
    const int width = isatty(STDOUT_FILENO) ? terminal_width() : 0;
    const int status = comparison_print(&part, stdout, TABLE_TEXT, width, terminal_colours() > 0, true);
    if (status != ATTEND_OK) return status;
    attend_print(stdout, "\nbest: %s\n\n  ", c->variants[best].name);
    cli_print_word(stdout, cli_program);
    put_command(&o, c, &c->variants[best]);
    attend_print(stdout, "\n");
    return ATTEND_OK;
}

/* ---- the search ---- */

static int add_candidates(comparison *c, const attend_data_check_counts *counts)
{
    return tuning_add_candidates(c, counts, (int)((const settings *)c->s)->candidates);
}

/* No candidate has a score. */
static int fail_all(const comparison *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->variants[i].state == VARIANT_FAILED)
            return attend_fail(ATTEND_FAILED, "no candidate has a score; the first one that failed, %s: %s",
                               c->variants[i].name, c->variants[i].reason);
    return attend_fail(ATTEND_FAILED, "no candidate has a score: give more --time");
}

static int tune(comparison *c, const settings *s, double seconds)
{
    bool stopped = false;
    int best = -1, status = comparison_read_data(c);
    if (status != ATTEND_OK) return cli_fail(c->v, status);
    status = comparison_check_data(c, add_candidates);
    if (status == 0) status = comparison_set_metrics(c);
    if (status != 0) return status;
    c->e.samples = 0; /* no intervals while candidates are compared */
    status = comparison_open(c);
    if (status != ATTEND_OK) return cli_fail(c->v, status);
    interrupt_catch();
    status = tuning_run(c, seconds, &stopped, &best);
    if (status == ATTEND_OK && best >= 0 && c->variants[best].state != VARIANT_DONE) { /* stopped in another round */
        status = comparison_test(c, &c->variants[best], &stopped);
        c->variants[best].state = VARIANT_DONE;
    }
    if (stopped) {
        if (!s->c.t.quiet) attend_print(stderr, "stopped; the same command resumes from %s\n", s->c.output);
        return 128 + interrupt_caught();
    }
    if (status == ATTEND_OK && best < 0) status = fail_all(c);
    c->e.samples = 1000;
    if (status == ATTEND_OK) status = comparison_score(c);
    if (status == ATTEND_OK) status = print_results(c, best);
    return status == ATTEND_OK ? 0 : cli_fail(c->v, status);
}

static int run_search(settings *s, const parsed *p, double seconds)
{
    static comparison c;
    c.v = &verb_tune, c.s = &s->c, c.p = p, c.base = c.lock = -1;
    pairs_list *const lists[] = { &s->c.t.train, &s->c.t.valid };
    stream_copies copies = { 0 };
    int status = stream_copies_make(&verb_tune, lists, 2, &copies);
    if (status == 0)
        status = data_files_hold_out(&verb_tune, &s->c.t.train, &s->c.t.valid, &s->c.t.held_out, s->c.t.quiet);
    if (status == 0 && s->c.t.valid.count == 0)
        status =
            comparison_refuse_untested(&verb_tune, &s->c.t.train,
                                       "there are no validation pairs to score the candidates; give --valid PAIRS");
    if (status == 0) status = tune(&c, s, seconds);
    if (status > 1 && status < 128) stream_copies_explain(&copies);
    stream_copies_free(&copies);
    variants_free(&c);
    evaluation_free(&c.e);
    if (c.lock >= 0) close(c.lock);
    return status;
}

/* ---- options ---- */

/* "1h30m" in seconds; NAN: another text. */
static double read_time(const char *text)
{
    double sum = 0;
    if (!text || !*text) return NAN;
    while (*text) {
        const char *end;
        double x;
        if (!attend_parse_real(text, &end, &x) || !(x >= 0)) return NAN;
        const double unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : *end == 's' ? 1 : NAN;
        sum += x * unit;
        if (isnan(sum)) return NAN;
        text = end + 1;
    }
    return sum > 0 && sum < 1e9 ? sum : NAN;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(settings *s, const parsed *p, double *seconds)
{
    const verb *v = &verb_tune;
    train_settings *t = &s->c.t;
    if (p->positional_count > 0)
        return usage_error(v, "unexpected argument '%s'; give pairs with --train", p->positional[0]);
    if (t->config.task != ATTEND_TASK_TRANSLATION)
        return usage_error(v, "attend tune does not support language models");
    if (t->train.name_count == 0) return usage_error(v, "--train PAIRS is required");
    if (!s->time) return usage_error(v, "--time TIME is required, such as --time 30m");
    *seconds = read_time(s->time);
    if (isnan(*seconds)) return usage_error(v, "--time '%s' is not a time such as 90s, 30m, 2h or 1h30m", s->time);
    const int status = data_files_resolve(v, "train", &t->train, t->config.task);
    return status == 0 ? data_files_resolve_valid(v, p, &t->valid, t->config.task, &t->held_out) : status;
}

static const void *defaults(void)
{
    static const attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    static settings s;
    s = (settings){ .c = { .t = train_settings_defaults(),
                           .output = "tuning",
                           .beam = search.beam,
                           .length_penalty = search.length_penalty },
                    .candidates = 36 };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    double seconds = 0;
    int status = options_parse(&verb_tune, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        train_settings_limit_threads(&s.c.t);
        status = train_settings_use_device(&verb_tune, &s.c.t, &p);
        if (status == 0) status = check(&s, &p, &seconds);
        if (status == 0) status = run_search(&s, &p, seconds);
    }
    options_free(&verb_tune, &s, &p);
    return status;
}

static const char *const files[] = {
    "*/options", "*/clock", "*/translations", "*/result", "*/rounds", "*/model+", NULL
};

const verb verb_tune = {
    .name = "tune",
    .summary = "search sizes and rates within a time limit",
    .synopsis = "attend tune --train PAIRS [--valid PAIRS] --time TIME [--output DIRECTORY] [options]",
    .details =
        "Trains candidates that differ from the defaults in hidden size, layers, dropout, learning rate, label "
        "smoothing\n"
        "and batch size; options that are given are not searched. Nine candidates share the time; the best third goes\n"
        "on, until one is left; then come the next nine. Prints a table and the attend train command for the best.\n"
        "The same command resumes; with more --time it goes on (docs/tune.md).",
    .examples =
        "  attend tune --train pairs.tsv --time 30m\n"
        "  attend tune --train train.en train.de --valid valid.en valid.de --time 8h --architecture transformer\n",
    .options = table,
    .main_options = main_options,
    .shared = &train_option_group,
    .has_config = true,
    .config = AT(c.t.config),
    .defaults = defaults,
    .directory_files = files,
    .run = run,
};
