/* cmd_evaluate.c: how good are these translations, or those of this model? */
#include "options.h"
#include "data_files.h"
#include "evaluate_lines.h"
#include "evaluation.h"
#include "translate_lines.h"

#include "core/status.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *hypothesis, *against, *source, *metrics, *by_length, *plot, *output;
    pairs_list input;
    texts_list references;
    long long samples, seed, beam, max_tokens, length_extra, batch_tokens, threads;
    double length_penalty, coverage_penalty, length_ratio;
    int tokens, unit;
    bool lowercase, json, quiet;
} settings;

static const char *const units[] = { "words", "characters", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "translates the sources itself; a model made by attend train", OPTION_TEXT, AT(model), 0, 0,
      NULL },
    { "input", "PAIRS",
      "sources and what they should become; pairs of equal source are alternatives. For a language model, files of "
      "text",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "hypothesis", "FILE", "translations, a line each", OPTION_TEXT, AT(hypothesis), 0, 0, NULL },
    { "reference", "FILE", "what they should be, line by line; several times: any of them is right", OPTION_TEXTS,
      AT(references), 0, 0, NULL },
    { "source", "FILE", "what was translated, for --by-length or --model with --reference", OPTION_TEXT, AT(source), 0,
      0, NULL },
    { "against", "FILE", "translations of another system, for a paired test", OPTION_TEXT, AT(against), 0, 0, NULL },
    { "metric", "NAMES",
      "of bleu, chrf, chrf++, ter, wer, cer, exact, token-accuracy, with commas between; all unless said", OPTION_TEXT,
      AT(metrics), 0, 0, NULL },
    { "bleu-tokens", "13a|none|char", "how BLEU cuts a line into words", OPTION_WORD, AT(tokens), 0, 0,
      evaluation_bleu_words },
    { "lowercase", NULL, "capitals do not matter", OPTION_FLAG, AT(lowercase), 0, 0, NULL },
    { "bootstrap", "N", "95 % intervals by so many samples; with --against 1000 unless said", OPTION_WHOLE, AT(samples),
      0, 1e6, NULL },
    { "seed", "N", "of the samples", OPTION_WHOLE, AT(seed), 0, 9e15, NULL },
    { "by-length", "auto|N,N,..", "scores by the length of sources, or of references where sources are not known",
      OPTION_TEXT, AT(by_length), 0, 0, NULL },
    { "length-unit", "words|characters", "what lengths are counted in", OPTION_WORD, AT(unit), 0, 0, units },
    { "plot", "FILE", "the first score by length, as an SVG", OPTION_TEXT, AT(plot), 0, 0, NULL },
    { "output", "FILE", "the translations of --model go here too", OPTION_TEXT, AT(output), 0, 0, NULL },
    { "beam", "N", "of --model: hypotheses at a time; 1: greedy", OPTION_WHOLE, AT(beam), 1, 1024, NULL },
    { "length-penalty", "X", "favours long translations the more the larger", OPTION_REAL, AT(length_penalty), 0, 10,
      NULL },
    { "coverage-penalty", "X", "favours translations that looked at every word", OPTION_REAL, AT(coverage_penalty), 0,
      100, NULL },
    { "length-ratio", "X", "a translation has at most X times the source's words, and ..", OPTION_REAL,
      AT(length_ratio), 0, 1000, NULL },
    { "length-extra", "N", ".. N more", OPTION_WHOLE, AT(length_extra), 0, 100000, NULL },
    { "max-words", "N", "a longer line is not translated", OPTION_WHOLE, AT(max_tokens), 1, 1e6, NULL },
    { "batch-tokens", "N", "source words that run together", OPTION_WHOLE, AT(batch_tokens), 1, 1e7, NULL },
    { "threads", "N", "any number gives the same translations", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "json", NULL, "one JSON object", OPTION_FLAG, AT(json), 0, 0, NULL },
    { "quiet", NULL, "no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- what a model makes of the sources ---- */

static int translate(const settings *s, const text_lines *sources, text_lines *to)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)s->beam;
    o.search.length_penalty = s->length_penalty, o.search.coverage_penalty = s->coverage_penalty;
    o.search.length_ratio = s->length_ratio, o.search.length_extra = (int)s->length_extra;
    o.threads = (int)s->threads, o.batch_tokens = (int)s->batch_tokens, o.max_tokens = (int)s->max_tokens;
    attend_model *m = NULL;
    translate_cost cost;
    int status = attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK)
        status = translate_lines(s->quiet ? NULL : &verb_evaluate, m, &o, sources, NULL, to, &cost);
    attend_model_free(m);
    return status;
}

static int write_lines(const text_lines *l, const char *path)
{
    FILE *to = fopen(path, "wb");
    if (!to) return attend_fail(ATTEND_IO, "%s: %s", path, attend_errno_text(errno));
    for (int i = 0; i < l->count; i++) fprintf(to, "%s\n", l->items[i]);
    const bool written = !ferror(to);
    if (fclose(to) == 0 && written) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "%s: cannot write: %s", path, attend_errno_text(errno));
}

/* ---- all of it ---- */

/* The last part of a path, as text that fits into a legend. */
static void set_name(evaluation *e, int system, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *from = slash && slash[1] ? slash + 1 : path;
    size_t size = strlen(from);
    if (size >= sizeof e->names[system])
        for (size = sizeof e->names[system] - 1; size > 0 && ((unsigned char)from[size] & 0xc0) == 0x80;) size--;
    memcpy(e->names[system], from, size);
    e->names[system][size] = '\0';
    for (size_t valid; (valid = attend_utf8_valid(e->names[system], size)) < size;) e->names[system][valid] = '?';
}

static int read_all(evaluation *e, const settings *s)
{
    segments *g = &e->segments;
    int status = s->input.count ? segments_read_pairs(g, &s->input) : segments_read_lines(g, &s->references, s->source);
    set_name(e, 0, s->model ? s->model : s->hypothesis);
    e->system_count = 1;
    if (status == ATTEND_OK && s->by_length) status = evaluation_set_buckets(e, s->by_length);
    if (status == ATTEND_OK && !s->model) status = segments_read_system(g, &e->systems[0], s->hypothesis);
    if (status == ATTEND_OK && s->against) {
        set_name(e, 1, s->against);
        e->system_count = 2;
        status = segments_read_system(g, &e->systems[1], s->against);
    }
    if (status == ATTEND_OK && s->model) status = translate(s, &g->sources, &e->systems[0]);
    if (status == ATTEND_OK && s->output) status = write_lines(&e->systems[0], s->output);
    return status;
}

static int evaluate(const settings *s, evaluation *e)
{
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

/* What of the options does not fit together; 0: nothing. */
static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_evaluate;
    if (p->rest_count > 0) return options_wrong(v, "'%s' is not understood", p->rest[0]);
    if (!s->model && !s->hypothesis)
        return options_wrong(v, "what is to be evaluated? --model FILE translates, --hypothesis FILE has translations");
    if (s->model && s->hypothesis)
        return options_wrong(v, "--model and --hypothesis are one too many; --against compares");
    if (s->input.name_count == 0 && s->references.count == 0)
        return options_wrong(v, "what is right? --input PAIRS or --reference FILE is missing");
    if (s->input.name_count && (s->references.count || s->source))
        return options_wrong(v, "--input has sources and references; --reference and --source are not for it");
    if (s->model && s->input.name_count == 0 && !s->source)
        return options_wrong(v, "--model needs --input PAIRS or --source FILE");
    if (s->output && !s->model) return options_wrong(v, "--output is for the translations of --model");
    return 0;
}

/* A language model is asked for its perplexity. */
static int run_lines(settings *s, const parsed *p, const attend_model *m)
{
    static const char *const fitting[] = { "model", "input", "threads", "json", "quiet" };
    if (s->input.name_count == 0)
        return options_wrong(&verb_evaluate, "%s is a language model: --input FILE has the lines that it scores",
                             s->model);
    for (int i = 0; table[i].name; i++) {
        bool fits = !options_given(&verb_evaluate, p, table[i].name);
        for (size_t k = 0; k < sizeof fitting / sizeof *fitting; k++) fits |= strcmp(table[i].name, fitting[k]) == 0;
        if (!fits)
            return options_wrong(&verb_evaluate,
                                 "--%s is for translations, and %s is a language model: its score is perplexity",
                                 table[i].name, s->model);
    }
    return evaluate_lines(&verb_evaluate, s->model, m, &s->input, (int)s->threads, s->json, s->quiet);
}

/* Whether the model is one; *status is then how it ended. */
static bool is_lines(settings *s, const parsed *p, int *status)
{
    attend_model *m = NULL;
    if (!s->model) return false;
    const int loaded = attend_model_load(&m, s->model, NULL);
    const bool lines = loaded == ATTEND_OK && attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    if (lines) *status = run_lines(s, p, m);
    if (loaded != ATTEND_OK) *status = cli_fail(&verb_evaluate, loaded);
    attend_model_free(m);
    return lines || loaded != ATTEND_OK;
}

/* What was parsed makes sense. */
static int run_with(settings *s, const parsed *p, evaluation *e)
{
    int status = 0;
    if (is_lines(s, p, &status)) return status;
    status = data_settle(&verb_evaluate, "input", &s->input, ATTEND_TASK_TRANSLATION);
    if (status == 0)
        status = evaluation_set_metrics(e, &verb_evaluate, s->metrics, (attend_bleu_tokens)s->tokens, s->lowercase);
    if (status == 0) status = evaluate(s, e);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .seed = 1,
                   .beam = 5,
                   .length_penalty = 1,
                   .length_ratio = 2,
                   .length_extra = 10,
                   .max_tokens = 1000,
                   .batch_tokens = 1000 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    static evaluation e;
    parsed p;
    int status = options_parse(&verb_evaluate, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (s.plot && !s.by_length) s.by_length = "auto";
        if (s.against && !options_given(&verb_evaluate, &p, "bootstrap")) s.samples = 1000;
        e.samples = (int)s.samples, e.seed = (uint64_t)s.seed, e.characters = s.unit == 1;
        status = check(&s, &p);
        if (status == 0) status = run_with(&s, &p, &e);
        evaluation_free(&e);
    }
    options_free(&verb_evaluate, &s, &p);
    return status;
}

const verb verb_evaluate = {
    .name = "evaluate",
    .summary = "how good translations are",
    .synopsis = "attend evaluate --model FILE --input PAIRS | --hypothesis FILE --reference FILE.. [--against FILE] "
                "[options]",
    .details =
        "BLEU, chrF, TER, errors by word and character, exact match; BLEU, chrF and TER as sacreBLEU computes them\n"
        "(docs/metrics.md). References: several --reference files, or --input, of which pairs with the same source "
        "are alternatives for one\n"
        "translation. --against tells whether the difference between two systems is more than chance; --by-length and "
        "--plot show where it lies.\nA language model is given lines, and has perplexity for a score "
        "(docs/language-models.md).",
    .examples = "  attend evaluate --hypothesis test.out --reference test.de --lowercase\n"
                "  attend evaluate --model g2p --input test.tsv --metric exact,wer --bootstrap 1000\n"
                "  attend evaluate --hypothesis with.out --against without.out --source test.en --reference test.de "
                "--plot lengths.svg\n",
    .options = table,
    .run = run,
};
