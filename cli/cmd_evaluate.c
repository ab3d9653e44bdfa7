/* cmd_evaluate.c: scores translations against references. */
#include "options.h"
#include "plugin_option.h"
#include "memory_option.h"
#include "search_options.h"

#include "compute_option.h"
#include "data_files.h"
#include "evaluate_language_model.h"
#include "evaluation.h"
#include "job.h"
#include "output_file.h"
#include "translate_lines.h"
#include "unit_option.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    search_settings search;
    const char *model, *hypothesis, *against, *source, *metrics, *by_length, *plot, *output;
    pairs_list input;
    texts_list references, plugins;
    long long samples, seed, rank_timeout;
    int tokens, unit;
    bool ignore_case, json, quiet, mixed_ranks;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "evaluate this model: translate the sources, then score the translations", OPTION_INPUT,
      AT(model), 0, 0, NULL },
    { "input", "PAIRS",
      "sources and references; targets of the same source are alternative references. For a language model: files "
      "with one sentence per line",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "hypothesis", "FILE", "evaluate these translations, one per line", OPTION_INPUT, AT(hypothesis), 0, 0, NULL },
    { "reference", "FILE", "references, one per line; if repeated, alternative references", OPTION_INPUTS,
      AT(references), 0, 0, NULL },
    { "source", "FILE", "sources, one per line; for --by-length, or for --model with --reference", OPTION_INPUT,
      AT(source), 0, 0, NULL },
    { "against", "FILE", "translations of another system, for a paired significance test", OPTION_INPUT, AT(against), 0,
      0, NULL },
    { "metric", "NAMES",
      "comma-separated list of " EVALUATION_METRICS " (default: word error and phoneme or character error where lines "
      "are words, otherwise all but line-error; with --json, all)",
      OPTION_TEXT, AT(metrics), 0, 0, NULL },
    { "bleu-tokenizer", NULL, "tokenization of BLEU", OPTION_CHOICE, AT(tokens), 0, 0, evaluation_bleu_tokenizers },
    { "ignore-case", NULL, "ignore case in scores (default with a --model that writes lower case)", OPTION_FLAG,
      AT(ignore_case), 0, 0, NULL },
    { "bootstrap", "N", "print 95 % intervals from N bootstrap samples; with --against, 1000 if it is not given",
      OPTION_INTEGER, AT(samples), 0, 1e6, NULL },
    { "seed", "N", "random seed of the bootstrap", OPTION_INTEGER, AT(seed), 0, 9e15, NULL },
    { "by-length", "auto|N,N,...",
      "also print scores by length of the source (without sources: of the reference) with these limits; auto: choose "
      "limits from the data",
      OPTION_TEXT, AT(by_length), 0, 0, NULL },
    UNIT_OPTION(AT(unit), "unit of the lengths of --by-length"),
    { "plot", "FILE", "write a plot of the first metric by length, as SVG", OPTION_FILE, AT(plot), 0, 0, NULL },
    { "output", "FILE", "write the translations of --model to this file", OPTION_OUTPUT, AT(output), 0, 0, NULL },
    { "json", NULL, "print one JSON object", OPTION_FLAG, AT(json), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    RANK_TIMEOUT_OPTION(AT(rank_timeout)),
    MIXED_RANKS_OPTION(AT(mixed_ranks), "a translation"),
    { "quiet", NULL, "print no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "ignore-case", "lowercase", NULL, NULL },
    { "unit", "length-unit", NULL, NULL },
    { "max-input-length", "max-words", NULL, NULL },
    { "bleu-tokenizer", "bleu-tokens", NULL, NULL },
    { "unit", NULL, "words", "word" },
    { "unit", NULL, "characters", "character" },
    { NULL, NULL, NULL, NULL },
};

/* ---- translations of a model ---- */

/* A model that writes lower case cannot know the case of the references. */
static int fit_case(evaluation *e, const attend_model *m, const settings *s)
{
    attend_tokenizer *t = NULL;
    const int status = attend_tokenizer_from_model(&t, m, "target");
    const bool is_lowercase = status == ATTEND_OK && attend_tokenizer_is_lowercase(t);
    attend_tokenizer_free(t);
    if (!is_lowercase || s->ignore_case) return status;
    if (!s->quiet)
        attend_print(stderr, "attend evaluate: note: %s writes lower case (--lowercase both); scores ignore case\n",
                     s->model);
    for (int i = 0; i < METRICS; i++) e->options[i].lowercase = true;
    return ATTEND_OK;
}

static int translate(evaluation *e, const settings *s, const text_lines *sources, text_lines *to)
{
    const attend_translator_options o = search_settings_options(&s->search);
    attend_model *m = NULL;
    translate_cost cost;
    if (!s->quiet) compute_option_note(&verb_evaluate, s->search.compute);
    int status = attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK) status = fit_case(e, m, s);
    if (status == ATTEND_OK)
        status = translate_lines(s->quiet ? NULL : &verb_evaluate, s->model, m, &o, sources, NULL, to, &cost);
    attend_model_free(m);
    return status;
}

/* ---- evaluation ---- */

/* Names a system by the last part of its path, cut to fit into a legend. */
static void set_name(evaluation *e, int system, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *from = slash && slash[1] ? slash + 1 : path;
    const size_t size = attend_utf8_cut(from, strlen(from), sizeof e->names[system] - 1);
    memcpy(e->names[system], from, size);
    e->names[system][size] = '\0';
}

/* Limits each list of lines to a share of the memory. */
static void limit_lines(evaluation *e, size_t memory)
{
    text_lines *const lists[] = { &e->test_set.sources, &e->test_set.texts, &e->systems[0], &e->systems[1] };
    const size_t count = sizeof lists / sizeof *lists;
    for (size_t i = 0; memory && i < count; i++)
        if (memory / 2 / count < TEXT_LINES_MAX_BYTES) lists[i]->max_bytes = memory / 2 / count;
}

/* The ranges of lengths. Lengths in tokens need the model's tokenizer. */
static int set_buckets(evaluation *e, const settings *s)
{
    attend_tokenizer *tokenizer = NULL;
    attend_model *m = NULL;
    int status = ATTEND_OK;
    if (e->unit == ATTEND_UNIT_PIECE) {
        status = attend_model_load(&m, s->model, NULL);
        if (status == ATTEND_OK) status = attend_tokenizer_from_model(&tokenizer, m, "source");
    }
    e->tokenizer = tokenizer;
    if (status == ATTEND_OK) status = evaluation_set_buckets(e, s->by_length);
    e->tokenizer = NULL;
    attend_tokenizer_free(tokenizer);
    attend_model_free(m);
    return status;
}

static int read_all(evaluation *e, const settings *s)
{
    test_set *g = &e->test_set;
    limit_lines(e, memory_limit(s->search.memory));
    int status = s->input.count ? test_set_read_pairs(g, &s->input) : test_set_read_lines(g, &s->references, s->source);
    set_name(e, 0, s->model ? s->model : s->hypothesis);
    e->system_count = 1;
    if (status == ATTEND_OK && s->by_length) status = set_buckets(e, s);
    if (status == ATTEND_OK && !s->model) status = test_set_read_system(g, &e->systems[0], s->hypothesis);
    if (status == ATTEND_OK && s->against) {
        set_name(e, 1, s->against);
        e->system_count = 2;
        status = test_set_read_system(g, &e->systems[1], s->against);
    }
    if (status == ATTEND_OK) evaluation_fit_metrics(e, s->json);
    if (status == ATTEND_OK) status = evaluation_check_references(e);
    if (status == ATTEND_OK && s->model) status = translate(e, s, &g->sources, &e->systems[0]);
    if (status == ATTEND_OK && s->output) status = text_lines_write(&e->systems[0], s->output);
    return status;
}

/* Rank 0 of a job reads the data and prints the scores; the others translate with it. */
static int evaluate(const settings *s, evaluation *e)
{
    if (!job_speaks()) {
        const int helped = s->model ? translate(e, s, &e->test_set.sources, &e->systems[0]) : ATTEND_OK;
        return helped == ATTEND_OK ? 0 : cli_fail(&verb_evaluate, helped);
    }
    int status = read_all(e, s);
    if (status == ATTEND_OK) status = evaluation_run(e);
    if (status == ATTEND_OK && s->plot) status = evaluation_plot(e, s->plot);
    if (status != ATTEND_OK) return cli_fail(&verb_evaluate, status);
    if (s->json)
        evaluation_print_json(e);
    else
        evaluation_print(e);
    return 0;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_evaluate;
    if (p->positional_count > 0)
        return usage_error(v, "unexpected argument '%s'; give pairs with --input", p->positional[0]);
    if (!s->model && !s->hypothesis) return usage_error(v, "--model FILE or --hypothesis FILE is required");
    if (s->model && s->hypothesis)
        return usage_error(v, "--model and --hypothesis cannot be combined; use --against to compare two systems");
    if (s->input.name_count == 0 && s->references.count == 0)
        return usage_error(v, "--input PAIRS or --reference FILE is required");
    if (s->input.name_count && (s->references.count || s->source))
        return usage_error(v, "--input provides sources and references; leave out --reference and --source");
    if (s->model && s->input.name_count == 0 && !s->source)
        return usage_error(v, "--model requires --input PAIRS or --source FILE");
    if (s->output && !s->model) return usage_error(v, "--output requires --model");
    if (s->unit == ATTEND_UNIT_PIECE && !s->model)
        return usage_error(v, "--unit piece requires --model, whose tokenizer has the pieces");
    return 0;
}

/* Prints the perplexity of a language model. */
static int run_language_model(settings *s, const parsed *p, const attend_model *m)
{
    static const char *const supported[] = { "model", "input",        "threads", "memory",       "json",
                                             "quiet", "score-plugin", "device",  "rank-timeout", "mixed-ranks" };
    if (s->input.name_count == 0)
        return usage_error(&verb_evaluate, "%s is a language model; give the lines to score with --input FILE",
                           s->model);
    const option *o;
    for (int i = 0; (o = options_entry(&verb_evaluate, i)); i++) {
        bool accepted = !options_given(&verb_evaluate, p, o->name);
        for (size_t k = 0; k < sizeof supported / sizeof *supported; k++)
            accepted |= strcmp(o->name, supported[k]) == 0;
        if (!accepted)
            return usage_error(
                &verb_evaluate,
                "--%s applies to translations, but %s is a language model, which is evaluated by perplexity", o->name,
                s->model);
    }
    const score_options of_lines = { .threads = s->search.threads, .memory = s->search.memory };
    return evaluate_language_model(&verb_evaluate, s->model, m, &s->input, &of_lines, s->json, s->quiet);
}

/* Evaluates a language model. False: the model is not one; otherwise *status is the exit code. */
static bool evaluated_language_model(settings *s, const parsed *p, int *status)
{
    attend_model *m = NULL;
    if (!s->model) return false;
    const int loaded = attend_model_load(&m, s->model, NULL);
    const bool is_language_model = loaded == ATTEND_OK && attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    if (is_language_model) *status = run_language_model(s, p, m);
    if (loaded != ATTEND_OK) *status = cli_fail(&verb_evaluate, loaded);
    attend_model_free(m);
    return is_language_model || loaded != ATTEND_OK;
}

static int run_evaluation(settings *s, const parsed *p, evaluation *e)
{
    const job_file model = { .what = "model", .path = s->model };
    int status = s->model ? job_check(&verb_evaluate, s, &model, 1, s->mixed_ranks) : ATTEND_OK;
    if (status != ATTEND_OK) return cli_fail(&verb_evaluate, status);
    if (evaluated_language_model(s, p, &status)) return status;
    status = data_files_resolve(&verb_evaluate, "input", &s->input, ATTEND_TASK_TRANSLATION);
    if (status == 0)
        status = evaluation_set_metrics(e, &verb_evaluate, s->metrics, (attend_bleu_tokens)s->tokens, s->ignore_case);
    if (status == 0) status = evaluate(s, e);
    return status;
}

static attend_content content(const void *from, const option *o)
{
    (void)from;
    return strcmp(o->name, "plot") == 0 ? ATTEND_CONTENT_SVG : ATTEND_CONTENT_TEXT;
}

static const void *defaults(void)
{
    static settings s;
    s = (settings){ .search = search_settings_defaults(), .seed = 1, .rank_timeout = RANK_TIMEOUT };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    static evaluation e;
    parsed p;
    job_begin();
    int status = options_parse(&verb_evaluate, &s, argc, argv, &p);
    if (!p.help) {
        status = job_join(&verb_evaluate, s.rank_timeout, status);
        if (!options_given(&verb_evaluate, &p, "threads")) s.search.threads = job_threads();
        if (s.plot && !s.by_length) s.by_length = "auto";
        if (s.against && !options_given(&verb_evaluate, &p, "bootstrap")) s.samples = 1000;
        e.samples = (int)s.samples, e.seed = (uint64_t)s.seed, e.unit = (attend_unit)s.unit;
        if (status == 0) status = check(&s, &p);
        if (status == 0 && s.model) status = search_settings_use_device(&verb_evaluate, &s.search, &p, s.quiet);
        if (status == 0) status = run_evaluation(&s, &p, &e);
        evaluation_free(&e);
        status = job_end(&verb_evaluate, status);
    }
    options_free(&verb_evaluate, &s, &p);
    return status;
}

const verb verb_evaluate = {
    .name = "evaluate",
    .summary = "score translations against references",
    .synopsis = "attend evaluate --model FILE --input PAIRS [options]\n"
                "       attend evaluate --hypothesis FILE --reference FILE... [--against FILE] [options]",
    .details =
        "Computes BLEU, chrF, TER, word and character error rates, exact match and token accuracy. Where lines are "
        "words,\n"
        "it prints the word error (wrong lines) and the phoneme or character error. BLEU, chrF and TER\n"
        "equal sacreBLEU's (docs/metrics.md). References come from one or more --reference files, or from --input,\n"
        "where targets of the same source are alternative references. --against tests whether the difference\n"
        "between two systems is significant; --by-length and --plot show how scores depend on sentence length.\n"
        "A language model is evaluated by its perplexity on lines of text (docs/language-models.md).",
    .examples = "  attend evaluate --hypothesis test.out --reference test.de --ignore-case\n"
                "  attend evaluate --model g2p --input test.tsv --metric word-error,phoneme-error --bootstrap 1000\n"
                "  attend evaluate --hypothesis with.out --against without.out --source test.en --reference test.de "
                "--plot lengths.svg\n",
    .options = table,
    .shared = &search_option_group,
    .defaults = defaults,
    .content = content,
    .aliases = aliases,
    .run = run,
};
