/* cmd_compare.c: several variants trained on the same pairs, tested on the same pairs, in one table. */
#include "comparison.h"

#include "core/atomic_file.h"
#include "core/status.h"
#include "interrupt.h"
#include "streams.h"
#include "terminal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const formats[] = { "text", "markdown", "json", NULL };
enum { FORMAT_JSON = 2 };

#define AT(member) offsetof(compare_settings, member)
static const option table[] = {
    { "train", "PAIRS", "training pairs: one .tsv file or two line-aligned files; may be given several times",
      OPTION_PAIRS, AT(t.train), 0, 0, NULL },
    { "valid", "PAIRS", "validation pairs: to stop in time and keep the best model", OPTION_PAIRS, AT(t.valid), 0, 0,
      NULL },
    { "test", "PAIRS", "what variants are tested on; the validation pairs", OPTION_PAIRS, AT(test), 0, 0, NULL },
    { "vary", "FIELD=VALUE,VALUE,..",
      "a variant for each value of an option of training or of the model; several times: for each combination",
      OPTION_TEXTS, AT(vary), 0, 0, NULL },
    { "variant", "NAME: FIELD=VALUE FIELD=VALUE ..", "one that differs in several at once; may be given several times",
      OPTION_TEXTS, AT(variants), 0, 0, NULL },
    { "output", "FOLDER", "where models, logs and the table are kept; comparison", OPTION_TEXT, AT(output), 0, 0,
      NULL },
    { "config", "FILE", "options from a file, a line each: hidden 256", OPTION_TEXT, AT(config_file), 0, 0, NULL },
    { "metric", "NAMES",
      "of bleu, chrf, chrf++, ter, wer, cer, exact, token-accuracy, with commas between; bleu, of words exact",
      OPTION_TEXT, AT(metrics), 0, 0, NULL },
    { "bleu-tokens", "13a|none|char", "how BLEU cuts a line into words", OPTION_WORD, AT(bleu_tokens), 0, 0,
      evaluation_bleu_words },
    { "lowercase", NULL, "capitals do not matter to scores", OPTION_FLAG, AT(lowercase), 0, 0, NULL },
    { "bootstrap", "N", "samples for intervals and paired tests; 1000; 0: none", OPTION_WHOLE, AT(samples), 0, 1e6,
      NULL },
    { "beam", "N", "hypotheses at a time when the test sources are translated; 5", OPTION_WHOLE, AT(beam), 1, 1024,
      NULL },
    { "length-penalty", "X", "favours long translations the more the larger; 1", OPTION_REAL, AT(length_penalty), 0, 10,
      NULL },
    { "gold", "FILE", "links that are right, as attend align has them: adds the alignment error", OPTION_TEXT, AT(gold),
      0, 0, NULL },
    { "gold-pairs", "PAIRS", "the pairs that --gold is about; the test pairs", OPTION_PAIRS, AT(gold_pairs), 0, 0,
      NULL },
    { "format", "text|markdown|json", "of the table on standard output", OPTION_WORD, AT(format), 0, 0, formats },
    { "json", NULL, "the same as --format json", OPTION_FLAG, AT(json), 0, 0, NULL },
    { "save-every", "N", "updates between checkpoints", OPTION_WHOLE, AT(t.save_every), 1, 1e15, NULL },
    { "threads", "N", "any number gives the same models", OPTION_WHOLE, AT(t.threads), 1, 1024, NULL },
    { "memory", "SIZE", "what training may take (2G, say)", OPTION_SIZE, AT(t.memory), 0, 1e18, NULL },
    { "fresh", NULL, "begin anew: what the folder has of these variants is removed", OPTION_FLAG, AT(t.fresh), 0, 0,
      NULL },
    { "no-check", NULL, "do not look through the data first", OPTION_FLAG, AT(t.no_check), 0, 0, NULL },
    { "quiet", NULL, "the table and errors only", OPTION_FLAG, AT(t.quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- before training ---- */

/* The quick part of `attend check`, and sizes by what it counts. */
static int look_through(comparison *c)
{
    attend_data_check_report *report = NULL;
    const train_settings *t = &c->s->t;
    int status = attend_data_check(&report, c->train, t->train.count, c->valid, t->valid.count, true);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    const bool stops = !t->no_check && attend_data_check_stops(report);
    if (stops) attend_data_check_print(report, stderr);
    status = stops ? ATTEND_BAD_DATA : variants_settle(c, &report->train);
    attend_data_check_free(report);
    return status;
}

/* What is going to be read hours from now is read now. */
static int read_data(comparison *c)
{
    const compare_settings *s = c->s;
    const pairs_list *test = s->test.count ? &s->test : &s->t.valid;
    unsigned long long pairs, tested;
    int status = content_mark_pairs(&c->train_mark, &s->t.train, &pairs);
    if (status == ATTEND_OK) status = content_mark_pairs(&c->valid_mark, &s->t.valid, &pairs);
    if (status == ATTEND_OK) status = content_mark_pairs(&c->test_mark, test, &tested);
    if (status == ATTEND_OK) status = segments_read_pairs(&c->e.segments, test);
    if (status == ATTEND_OK) status = content_mark_pairs(&c->gold_pairs_mark, &s->gold_pairs, &pairs);
    snprintf(c->gold_mark.text, sizeof c->gold_mark.text, "none");
    if (status == ATTEND_OK && s->gold) status = content_mark_file(&c->gold_mark, s->gold);
    if (status == ATTEND_OK && s->gold) status = gold_links_read(&c->gold, s->gold);
    if (status == ATTEND_OK && s->gold)
        status = gold_links_check(&c->gold, s->gold, s->gold_pairs.count ? pairs : tested);
    return status;
}

static int set_metrics(comparison *c)
{
    const char *names = c->s->metrics ? c->s->metrics : c->variants[0].t.of_words ? "exact" : "bleu";
    const int status =
        evaluation_set_metrics(&c->e, &verb_compare, names, (attend_bleu_tokens)c->s->bleu_tokens, c->s->lowercase);
    while (c->metric < METRICS - 1 && !c->e.wanted[c->metric]) c->metric++;
    c->e.samples = (int)c->s->samples, c->e.seed = 1;
    snprintf(c->e.names[0], sizeof c->e.names[0], "translations");
    snprintf(c->e.names[1], sizeof c->e.names[1], "translations");
    return status;
}

/* What the folder has: of other options it is refused, of these it is taken. */
static int open_folder(comparison *c)
{
    int status = comparison_claim(c);
    for (int i = 0; status == ATTEND_OK && i < c->count; i++)
        status = c->s->t.fresh ? comparison_forget(c, &c->variants[i]) : comparison_check(c, &c->variants[i]);
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) {
        bool trained, tested;
        status = comparison_load(c, &c->variants[i], &trained, &tested);
        if (tested) c->variants[i].state = VARIANT_DONE;
    }
    return status;
}

/* ---- the table ---- */

static int write_table(const comparison *c, FILE *to, int format, int width, bool bold)
{
    if (format != FORMAT_JSON)
        return comparison_print(c, to, format == 1 ? TABLE_MARKDOWN : TABLE_TEXT, width, bold, true);
    comparison_print_json(c, to);
    return ATTEND_OK;
}

static int write_file(const comparison *c, const char *name, int format)
{
    char *text = NULL, *path = comparison_path(c, NULL, name);
    size_t size = 0;
    attend_atomic_file *to = NULL;
    FILE *memory = path ? open_memstream(&text, &size) : NULL;
    int status = memory ? write_table(c, memory, format, 0, false)
                        : attend_fail(ATTEND_NO_MEMORY, "no memory to write %s", name);
    if (memory && fclose(memory) != 0 && status == ATTEND_OK)
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to write %s", name);
    if (status == ATTEND_OK) attend_atomic_file_remove_stale(path, false);
    if (status == ATTEND_OK) status = attend_atomic_file_begin(&to, path, size);
    if (status == ATTEND_OK) status = attend_atomic_file_write(to, text, size);
    if (status == ATTEND_OK)
        status = attend_atomic_file_commit(to);
    else
        attend_atomic_file_abandon(to);
    free(text);
    free(path);
    return status;
}

/* Scores, and the three files. */
static int refresh(comparison *c)
{
    char *picture = comparison_path(c, NULL, "comparison.svg");
    int status = picture ? comparison_score(c) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = write_file(c, "comparison.txt", 0);
    if (status == ATTEND_OK) status = write_file(c, "comparison.json", FORMAT_JSON);
    if (status == ATTEND_OK) attend_atomic_file_remove_stale(picture, false);
    if (status == ATTEND_OK) status = comparison_plot(c, picture);
    free(picture);
    return status;
}

/* How the table stands, for whoever reads along. */
static void show_progress(const comparison *c)
{
    struct winsize w;
    const bool terminal = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
    if (c->s->t.quiet) return;
    fprintf(stderr, "\n");
    comparison_print(c, stderr, TABLE_TEXT, terminal ? w.ws_col - 1 : 0, false, false);
}

/* ---- variants, one after another ---- */

/* Trains and tests what is not done yet. *stopped: a signal came, and everything is saved. */
static int run_variant(const comparison *c, variant *x, bool *stopped)
{
    attend_train_end end = ATTEND_TRAIN_DONE;
    bool trained = false, tested = false;
    int status = comparison_load(c, x, &trained, &tested);
    if (status == ATTEND_OK && !trained) {
        train_settings_print_choice(&x->t);
        status = comparison_train(c, x, &end);
    }
    *stopped = status == ATTEND_OK && end == ATTEND_TRAIN_STOPPED;
    if (status != ATTEND_OK || *stopped) return status;
    if (!c->s->t.quiet) fprintf(stderr, "testing     %d sources, beam %lld\n", c->e.segments.count, c->s->beam);
    return comparison_test(c, x, stopped);
}

/* 0, 1 if a variant failed, or 128 and the signal that came. */
static int run_all(comparison *c)
{
    int waiting = 0, failed = 0;
    interrupt_catch();
    for (int i = 0; i < c->count; i++) waiting += c->variants[i].state == VARIANT_WAITS;
    if (!c->s->t.quiet) fprintf(stderr, "variants    %d, of which %d are done already\n", c->count, c->count - waiting);
    int status = refresh(c); /* also a first try whether there is room and permission */
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) {
        variant *x = &c->variants[i];
        bool stopped = false;
        if (x->state == VARIANT_DONE) continue;
        if (!c->s->t.quiet)
            fprintf(stderr, "\nvariant %d of %d: %s%s%s%s\n", i + 1, c->count, x->name, x->said ? " (" : "",
                    x->said ? x->said : "", x->said ? ")" : "");
        const int ended = run_variant(c, x, &stopped);
        if (stopped) {
            if (!c->s->t.quiet)
                fprintf(stderr, "stopped; %s has everything: the same command goes on from there\n", c->s->output);
            return 128 + interrupt_caught();
        }
        x->state = ended == ATTEND_OK ? VARIANT_DONE : VARIANT_FAILED;
        if (ended != ATTEND_OK) {
            snprintf(x->reason, sizeof x->reason, "%s", attend_message());
            fprintf(stderr, "attend compare: variant '%s' failed: %s\n", x->name, x->reason);
        }
        status = refresh(c);
        if (status == ATTEND_OK && i + 1 < c->count) show_progress(c);
    }
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    for (int i = 0; i < c->count; i++) failed += c->variants[i].state == VARIANT_FAILED;
    return failed > 0;
}

/* ---- all of it ---- */

static int compare(comparison *c)
{
    const compare_settings *s = c->s;
    int status = read_data(c);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    status = look_through(c);
    if (status == 0) status = set_metrics(c);
    if (status != 0) return status;
    status = open_folder(c);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    status = run_all(c);
    if (status > 1) return status;
    if (!s->t.quiet) fprintf(stderr, "\n%s has comparison.txt, .json, .svg and the models\n\n", s->output);
    const int printed = write_table(c, stdout, s->json ? FORMAT_JSON : s->format,
                                    isatty(STDOUT_FILENO) ? terminal_width() : 0, terminal_colours() > 0);
    return printed == ATTEND_OK ? status : cli_fail(&verb_compare, printed);
}

static int run_with(compare_settings *s, const parsed *p)
{
    static comparison c;
    c.s = s, c.p = p, c.base = c.lock = -1;
    pairs_list *const lists[] = { &s->t.train, &s->t.valid, &s->test, &s->gold_pairs };
    stream_copies copies = { 0 };
    int status = variants_make(&c);
    if (status == 0) status = streams_keep(&verb_compare, lists, 4, &copies);
    c.train = pairs_list_specs(&s->t.train), c.valid = pairs_list_specs(&s->t.valid);
    if (status == 0 && (!c.train || !c.valid)) status = options_wrong(&verb_compare, "no memory");
    if (status == 0) status = compare(&c);
    if (status > 1 && status < 128) streams_explain(&copies);
    streams_free(&copies);
    variants_free(&c);
    evaluation_free(&c.e);
    gold_links_free(&c.gold);
    if (c.lock >= 0) close(c.lock);
    free(c.train);
    free(c.valid);
    return status;
}

/* What of the options does not fit together; 0: nothing. */
static int check(const compare_settings *s, const parsed *p)
{
    const verb *v = &verb_compare;
    if (p->rest_count > 0) return options_wrong(v, "'%s' is not understood", p->rest[0]);
    if (s->t.config.task != ATTEND_TASK_TRANSLATION)
        return options_wrong(v, "what is compared are translations, and a language model makes none: train each by "
                                "attend train, and see its perplexity by attend evaluate");
    if (s->t.train.count == 0) return options_wrong(v, "--train PAIRS is missing");
    if (s->t.valid.count == 0 && s->test.count == 0)
        return options_wrong(v, "what are the variants tested on? --valid PAIRS or --test PAIRS is missing");
    if (s->gold_pairs.count && !s->gold) return options_wrong(v, "--gold-pairs are what --gold FILE is about");
    if (s->json && options_given(v, p, "format") && s->format != FORMAT_JSON)
        return options_wrong(v, "--json and --format %s are one too many", formats[s->format]);
    return 0;
}

static int run(int argc, char **argv)
{
    compare_settings s = {
        .t = train_settings_defaults(), .output = "comparison", .beam = 5, .length_penalty = 1, .samples = 1000
    };
    parsed p;
    int status = options_parse(&verb_compare, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        train_settings_limit_threads(&s.t);
        status = check(&s, &p);
        if (status == 0) status = run_with(&s, &p);
    }
    options_free(&verb_compare, &s, &p);
    return status;
}

const verb verb_compare = {
    .name = "compare",
    .summary = "a table of variants, trained and tested on the same pairs",
    .synopsis = "attend compare --train PAIRS --valid PAIRS --vary FIELD=VALUE,.. [--variant \"NAME: FIELD=VALUE ..\"] "
                "[--test PAIRS] [--output FOLDER] [options]",
    .details =
        "Trains every variant under the options that are given for all, translates the test sources with each, and "
        "prints parameters, perplexity,\n"
        "scores with intervals, alignment error, time and speed side by side. What differs from the first variant by "
        "more than chance is\n"
        "marked. The same command goes on where it was; more variants train only those (docs/compare.md).",
    .examples =
        "  attend compare --train train.tsv --valid valid.tsv --vary attention=none,dot,additive\n"
        "  attend compare --train train.en train.de --valid valid.en valid.de --test test.en test.de --vary "
        "cell=gru,lstm --vary layers=1,2\n"
        "  attend compare --train train.tsv --valid valid.tsv --variant \"global: attention=bilinear\" --variant "
        "\"local: attention=bilinear window=local-p\" --gold valid.links --format markdown\n",
    .options = table,
    .training = train_option_table,
    .has_config = true,
    .config = AT(t.config),
    .run = run,
};
