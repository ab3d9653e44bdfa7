/* cmd_compare.c: trains and tests several variants on the same data and prints a table. */
#include "comparison.h"
#include "device_option.h"

#include <attend/file.h>
#include <attend/status.h>
#include "interrupt.h"
#include "memory_option.h"
#include "plugin_option.h"
#include "stream_copies.h"
#include "terminal.h"
#include "unit_option.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const formats[] = { "text", "markdown", "json", NULL };
enum { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

#define AT(member) offsetof(compare_settings, member)
static const option table[] = {
    { "train", "PAIRS", "training pairs: one .tsv file or two line-aligned files; may be repeated", OPTION_PAIRS,
      AT(t.train), 0, 0, NULL },
    { "valid", "PAIRS|N%|none",
      "validation pairs, used for early stopping and to select the best models: files; a percentage of the training "
      "pairs, which is held out; or none (default: 10%, at most 2000 pairs)",
      OPTION_DATA, AT(t.valid), 0, 0, NULL },
    { "test", "PAIRS", "test pairs (default: the validation pairs)", OPTION_PAIRS, AT(test), 0, 0, NULL },
    { "vary", "FIELD=VALUE,VALUE,...",
      "one variant for each value of a training or model option; if repeated, one for each combination", OPTION_TEXTS,
      AT(vary), 0, 0, NULL },
    { "variant", "NAME: FIELD=VALUE FIELD=VALUE ...", "a variant that differs in several options; may be repeated",
      OPTION_TEXTS, AT(variants), 0, 0, NULL },
    { "output", "DIRECTORY", "directory for models, logs and the table", OPTION_DIRECTORY, AT(output), 0, 0, NULL },
    { "config", "FILE", "read options from a file, one per line, such as \"hidden 256\"", OPTION_INPUTS,
      AT(config_files), 0, 0, NULL },
    { "metric", "NAMES",
      "comma-separated list of " EVALUATION_METRICS " (default: bleu, or word error and phoneme or character error "
      "where lines are words)",
      OPTION_TEXT, AT(metrics), 0, 0, NULL },
    { "bleu-tokenizer", NULL, "tokenization of BLEU", OPTION_CHOICE, AT(bleu_tokens), 0, 0,
      evaluation_bleu_tokenizers },
    { "ignore-case", NULL, "ignore case in scores", OPTION_FLAG, AT(ignore_case), 0, 0, NULL },
    { "bootstrap", "N", "bootstrap samples for intervals and paired tests; 0: none", OPTION_INTEGER, AT(samples), 0,
      1e6, NULL },
    { "beam", "N", "beam size for translating the test sources", OPTION_INTEGER, AT(beam), 1, 1024, NULL },
    { "length-penalty", "X", "exponent of the length normalisation; larger values favour longer translations",
      OPTION_REAL, AT(length_penalty), 0, 10, NULL },
    { "gold", "FILE", "gold links, in the formats of attend align; adds the alignment error rate to the table",
      OPTION_INPUT, AT(gold), 0, 0, NULL },
    { "gold-pairs", "PAIRS", "the pairs to which the links of --gold belong (default: the test pairs)", OPTION_PAIRS,
      AT(gold_pairs), 0, 0, NULL },
    UNIT_OPTION(AT(unit), "rows and columns of the maps in comparison.html"),
    { "format", NULL, "format of the table on standard output", OPTION_CHOICE, AT(format), 0, 0, formats },
    { "json", NULL, "short for --format json", OPTION_FLAG, AT(json), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    { "save-every", "N",
      "updates between checkpoints (default: as --valid-every if that is given, else about one epoch)", OPTION_INTEGER,
      AT(t.save_every), 1, 1e15, NULL },
    { "threads", "N",
      "number of threads; does not change the models (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(t.threads), 1, 1024, NULL },
    DEVICE_OPTION(AT(t.device)),
    MEMORY_OPTION(AT(t.memory), " (default: none for training, half of the machine's memory for testing)"),
    { "fresh", NULL, "remove existing results of these variants and start from scratch", OPTION_FLAG, AT(t.fresh), 0, 0,
      NULL },
    { "no-check", NULL, "do not check the data before training", OPTION_FLAG, AT(t.no_check), 0, 0, NULL },
    { "quiet", NULL, "print the table and errors only", OPTION_FLAG, AT(t.quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "bleu-tokenizer", "bleu-tokens", NULL, NULL },
    { "ignore-case", "lowercase", NULL, NULL }, /* --lowercase none|source|both is an option of training */
    { NULL, NULL, NULL, NULL },
};

static const char *const main_options[] = { "train",  "valid", "test",    "vary",  "variant",         "output",
                                            "metric", "gold",  "threads", "fresh", TRAIN_MAIN_OPTIONS };

/* ---- before training ---- */

int comparison_check_data(comparison *c, int (*resolve)(comparison *c, const attend_data_check_counts *counts))
{
    attend_data_check_report *report = NULL;
    const train_settings *t = &c->s->t;
    int status = attend_data_check(&report, t->train.items, t->train.count, t->valid.items, t->valid.count, true, 0);
    if (status != ATTEND_OK) return cli_fail(c->v, status);
    const bool stops = !t->no_check && attend_data_check_stops(report);
    if (stops) attend_data_check_print(report, stderr);
    status = stops ? ATTEND_BAD_DATA : resolve(c, &report->train);
    attend_data_check_free(report);
    return status;
}

/* Reads the test data before training, so that its errors are reported first. */
int comparison_read_data(comparison *c)
{
    const compare_settings *s = c->s;
    const pairs_list *test = s->test.count ? &s->test : &s->t.valid;
    unsigned long long pairs, tested;
    int status = content_hash_pairs(&c->train_hash, &s->t.train, &pairs);
    if (status == ATTEND_OK) status = content_hash_pairs(&c->valid_hash, &s->t.valid, &pairs);
    if (status == ATTEND_OK) status = content_hash_pairs(&c->test_hash, test, &tested);
    if (status == ATTEND_OK) status = test_set_read_pairs(&c->e.test_set, test);
    if (status == ATTEND_OK) status = content_hash_pairs(&c->gold_pairs_hash, &s->gold_pairs, &pairs);
    snprintf(c->gold_hash.text, sizeof c->gold_hash.text, "none");
    if (status == ATTEND_OK && s->gold) status = content_hash_file(&c->gold_hash, s->gold);
    if (status == ATTEND_OK && s->gold) status = gold_links_read(&c->gold, s->gold, memory_limit(s->t.memory));
    if (status == ATTEND_OK && s->gold)
        status = gold_links_check(&c->gold, s->gold, s->gold_pairs.count ? pairs : tested);
    return status;
}

int comparison_refuse_untested(const verb *v, const pairs_list *train, const char *message)
{
    content_hash hash;
    unsigned long long pairs;
    const int status = content_hash_pairs(&hash, train, &pairs);
    return status == ATTEND_OK ? usage_error(v, "%s", message) : cli_fail(v, status);
}

int comparison_set_metrics(comparison *c)
{
    const int status =
        evaluation_set_metrics(&c->e, c->v, c->s->metrics, (attend_bleu_tokens)c->s->bleu_tokens, c->s->ignore_case);
    evaluation_fit_metrics(&c->e, false);
    for (int i = 0; !c->s->metrics && !c->e.is_word_level && i < METRICS; i++) c->e.selected[i] = i == ATTEND_BLEU;
    int at = 0;
    while (at < METRICS - 1 && !c->e.selected[evaluation_metric_at(&c->e, at)]) at++;
    c->metric = evaluation_metric_at(&c->e, at);
    c->e.samples = (int)c->s->samples, c->e.seed = 1;
    snprintf(c->e.names[0], sizeof c->e.names[0], "translations");
    snprintf(c->e.names[1], sizeof c->e.names[1], "translations");
    const int checked = status == 0 ? evaluation_check_references(&c->e) : ATTEND_OK; /* before models are trained */
    return checked == ATTEND_OK ? status : cli_fail(c->v, checked);
}

/* Loads existing results. Fails if they were made with other options. */
int comparison_open(comparison *c)
{
    int status = comparison_lock(c);
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) status = comparison_check(c, &c->variants[i]);
    for (int i = 0; status == ATTEND_OK && c->s->t.fresh && i < c->count; i++)
        status = comparison_remove(c, &c->variants[i]);
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
        return comparison_print(c, to, format == FORMAT_MARKDOWN ? TABLE_MARKDOWN : TABLE_TEXT, width, bold, true);
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
                        : attend_fail(ATTEND_NO_MEMORY, "out of memory writing %s", name);
    if (memory && fclose(memory) != 0 && status == ATTEND_OK)
        status = attend_fail(ATTEND_NO_MEMORY, "out of memory writing %s", name);
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

/* Recomputes the scores and rewrites the table, the JSON file and the plot. */
static int refresh(comparison *c)
{
    char *plot = comparison_path(c, NULL, "comparison.svg");
    int status = plot ? comparison_score(c) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) status = write_file(c, "comparison.json", FORMAT_JSON); /* first: see comparison_lock */
    if (status == ATTEND_OK) status = write_file(c, "comparison.txt", FORMAT_TEXT);
    if (status == ATTEND_OK) attend_atomic_file_remove_stale(plot, false);
    if (status == ATTEND_OK) status = comparison_plot(c, plot);
    free(plot);
    return status;
}

/* Prints the table so far to standard error. */
static void show_progress(const comparison *c)
{
    const int columns = terminal_columns(STDERR_FILENO);
    if (c->s->t.quiet) return;
    attend_print(stderr, "\n");
    comparison_print(c, stderr, TABLE_TEXT, columns > 1 ? columns - 1 : 0, false, false);
}

/* ---- training and testing ---- */

/* Trains and tests a variant, except for what is already done. *stopped: a signal was caught; the state is saved. */
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
    if (!c->s->t.quiet) attend_print(stderr, "testing     %d sources, beam %lld\n", c->e.test_set.count, c->s->beam);
    return comparison_test(c, x, stopped);
}

/* Returns the exit code: 0; 1 if a variant failed; 128 plus the number of a signal; or that of another failure. */
static int run_all(comparison *c)
{
    int pending = 0, failed = 0;
    interrupt_catch();
    for (int i = 0; i < c->count; i++) pending += c->variants[i].state == VARIANT_PENDING;
    if (!c->s->t.quiet) attend_print(stderr, "variants    %d, %d of them already done\n", c->count, c->count - pending);
    int status = refresh(c); /* before training: fails early if the directory is not writable */
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) {
        variant *x = &c->variants[i];
        bool stopped = false;
        if (x->state == VARIANT_DONE) continue;
        if (!c->s->t.quiet)
            attend_print(stderr, "\nvariant %d of %d: %s%s%s%s\n", i + 1, c->count, x->name, x->differences ? " (" : "",
                         x->differences ? x->differences : "", x->differences ? ")" : "");
        const int ended = run_variant(c, x, &stopped);
        if (stopped) {
            if (!c->s->t.quiet) attend_print(stderr, "stopped; the same command resumes from %s\n", c->s->output);
            return 128 + interrupt_caught();
        }
        x->state = ended == ATTEND_OK ? VARIANT_DONE : VARIANT_FAILED;
        if (ended != ATTEND_OK) {
            snprintf(x->reason, sizeof x->reason, "%s", attend_message());
            attend_print(stderr, "attend compare: variant '%s' failed: %s\n", x->name, x->reason);
        }
        status = refresh(c);
        if (status == ATTEND_OK && i + 1 < c->count) show_progress(c);
    }
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    for (int i = 0; i < c->count; i++) failed += c->variants[i].state == VARIANT_FAILED;
    status = comparison_maps(c);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    return failed > 0;
}

/* ---- the verb ---- */

static int compare(comparison *c)
{
    const compare_settings *s = c->s;
    int status = comparison_read_data(c);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    status = comparison_check_data(c, variants_resolve);
    if (status == 0) status = comparison_set_metrics(c);
    if (status != 0) return status;
    status = comparison_open(c);
    if (status != ATTEND_OK) return cli_fail(&verb_compare, status);
    status = run_all(c);
    if (status > 1) return status;
    if (!s->t.quiet)
        attend_print(stderr, "\nwrote comparison.txt, comparison.json, comparison.svg%s and the models to %s\n\n",
                     comparison_has_maps(c) ? ", comparison.html" : "", s->output);
    const int printed = write_table(c, stdout, s->json ? FORMAT_JSON : s->format,
                                    isatty(STDOUT_FILENO) ? terminal_width() : 0, terminal_colours() > 0);
    return printed == ATTEND_OK ? status : cli_fail(&verb_compare, printed);
}

static int run_comparison(compare_settings *s, const parsed *p)
{
    static comparison c;
    c.v = &verb_compare, c.s = s, c.p = p, c.base = c.lock = -1;
    pairs_list *const lists[] = { &s->t.train, &s->t.valid, &s->test, &s->gold_pairs };
    stream_copies copies = { 0 };
    int status = variants_parse(&c);
    if (status == 0) status = stream_copies_make(&verb_compare, lists, 4, &copies);
    if (status == 0) status = data_files_hold_out(&verb_compare, &s->t.train, &s->t.valid, &s->t.held_out, s->t.quiet);
    if (status == 0 && s->t.valid.count + s->test.count == 0)
        status = comparison_refuse_untested(&verb_compare, &s->t.train,
                                            "--test PAIRS or --valid PAIRS is required to test the variants");
    if (status == 0) status = compare(&c);
    if (status > 1 && status < 128) stream_copies_explain(&copies);
    stream_copies_free(&copies);
    variants_free(&c);
    evaluation_free(&c.e);
    gold_links_free(&c.gold);
    if (c.lock >= 0) close(c.lock);
    return status;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(compare_settings *s, const parsed *p)
{
    const verb *v = &verb_compare;
    if (p->positional_count > 0)
        return usage_error(v, "unexpected argument '%s'; give pairs with --train", p->positional[0]);
    if (s->t.config.task != ATTEND_TASK_TRANSLATION)
        return usage_error(
            v, "attend compare does not support language models; train each with attend train and compare their "
               "perplexity with attend evaluate");
    if (s->t.train.count == 0) return usage_error(v, "--train PAIRS is required");
    const int status = data_files_resolve_valid(v, p, &s->t.valid, s->t.config.task, &s->t.held_out);
    if (status != 0) return status;
    if (s->gold_pairs.count && !s->gold) return usage_error(v, "--gold-pairs requires --gold FILE");
    if (s->json && options_given(v, p, "format") && s->format != FORMAT_JSON)
        return usage_error(v, "--json and --format %s cannot be combined", formats[s->format]);
    return 0;
}

static const void *defaults(void)
{
    static const attend_search_options search = ATTEND_SEARCH_OPTIONS_INIT;
    static compare_settings s;
    s = (compare_settings){ .t = train_settings_defaults(),
                            .output = "comparison",
                            .beam = search.beam,
                            .length_penalty = search.length_penalty,
                            .samples = 1000 };
    return &s;
}

static int run(int argc, char **argv)
{
    compare_settings s = *(const compare_settings *)defaults();
    parsed p;
    int status = options_parse(&verb_compare, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        train_settings_limit_threads(&s.t);
        status = train_settings_use_device(&verb_compare, &s.t, &p);
        if (status == 0) status = check(&s, &p);
        if (status == 0) status = run_comparison(&s, &p);
    }
    options_free(&verb_compare, &s, &p);
    return status;
}

const verb verb_compare = {
    .name = "compare",
    .summary = "train and test variants of a model and print a table",
    .synopsis = "attend compare --train PAIRS [--valid PAIRS] --vary FIELD=VALUE,... [--test PAIRS] [options]\n"
                "       attend compare --train PAIRS [--valid PAIRS] --variant \"NAME: FIELD=VALUE ...\" [options]",
    .details =
        "Trains each variant with the given options plus its own, translates the test sources with it, and prints\n"
        "parameters, perplexity, scores with intervals, alignment error, time and speed side by side. Marks scores "
        "that\n"
        "differ significantly from those of the first variant. The same command resumes an interrupted comparison; if\n"
        "variants are added, only these are trained (docs/compare.md).",
    .examples =
        "  attend compare --train train.tsv --valid valid.tsv --vary attention=none,dot,additive\n"
        "  attend compare --train train.en train.de --valid valid.en valid.de --test test.en test.de --vary "
        "cell=gru,lstm --vary layers=1,2\n"
        "  attend compare --train train.tsv --valid valid.tsv --variant \"global: attention=bilinear\" --variant "
        "\"local: attention=bilinear window=local-p\" --gold valid.links --format markdown\n",
    .options = table,
    .main_options = main_options,
    .shared = &train_option_group,
    .aliases = aliases,
    .has_config = true,
    .config = AT(t.config),
    .defaults = defaults,
    .directory_files = comparison_files,
    .run = run,
};
