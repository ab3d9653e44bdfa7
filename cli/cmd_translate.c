/* cmd_translate.c: a line in, a line out, in order, while reading. */
#include "options.h"
#include "translation_writer.h"

#include "core/status.h"
#include <attend/lines.h>
#include <attend/translator.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    texts_list models;
    const char *input, *output, *prefix, *dictionary;
    long long beam, n_best, batch_tokens, max_tokens, length_extra, max_length, threads, no_repeat_ngram, top_k, seed;
    double length_penalty, coverage_penalty, length_ratio, temperature, top_p;
    bool sample, replace_unknown, json, quiet, shortlist;
    bool lines;    /* a language model goes on from them */
    int precision; /* a place in precision_words; -1: as the file has it */
    int alignment; /* a place in `alignments`; ALIGNMENT_NONE - 1 unless it is given */
} settings;

static const char *const alignments[] = { "hard", "soft", NULL }; /* from ALIGNMENT_HARD on */

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE",
      "a model made by attend train; several of the same vocabularies translate together, by the mean "
      "of their probabilities",
      OPTION_TEXTS, AT(models), 0, 0, NULL },
    { "input", "FILE", "lines to translate; standard input unless said", OPTION_TEXT, AT(input), 0, 0, NULL },
    { "output", "FILE", "where they go; standard output unless said", OPTION_TEXT, AT(output), 0, 0, NULL },
    { "beam", "N", "hypotheses at a time; 1: greedy", OPTION_WHOLE, AT(beam), 1, 1024, NULL },
    { "n-best", "N", "so many translations of each line: number ||| text ||| log p ||| score", OPTION_WHOLE, AT(n_best),
      1, 1024, NULL },
    { "length-penalty", "X", "favours long translations the more the larger", OPTION_REAL, AT(length_penalty), 0, 10,
      NULL },
    { "coverage-penalty", "X", "favours translations that looked at every word", OPTION_REAL, AT(coverage_penalty), 0,
      100, NULL },
    { "length-ratio", "X", "a translation has at most X times the source's words, and ..", OPTION_REAL,
      AT(length_ratio), 0, 1000, NULL },
    { "length-extra", "N", ".. N more; of a language model, N more than the line has: 100", OPTION_WHOLE,
      AT(length_extra), 0, 100000, NULL },
    { "max-length", "N", "a translation has at most N words, whatever the source has", OPTION_WHOLE, AT(max_length), 1,
      1e6, NULL },
    { "no-repeat", "N", "no N words (pieces, characters) in a row twice in a translation", OPTION_WHOLE,
      AT(no_repeat_ngram), 1, 1000, NULL },
    { "sample", NULL, "draw words at random instead of searching, as language models do; --n-best N draws N times",
      OPTION_FLAG, AT(sample), 0, 0, NULL },
    { "temperature", "X", "of --sample: below 1 the probable becomes more probable, above 1 less", OPTION_REAL,
      AT(temperature), 1e-6, 1000, NULL },
    { "top-k", "N", "of --sample: only the N best words", OPTION_WHOLE, AT(top_k), 1, 1e9, NULL },
    { "top-p", "X", "of --sample: only the best words that have X of the probability together", OPTION_REAL, AT(top_p),
      1e-6, 1, NULL },
    { "seed", "N", "of --sample: the same seed draws the same for the same line number", OPTION_WHOLE, AT(seed), 0,
      9e15, NULL },
    { "prefix", "FILE", "a line for each line: what its translation begins with, if it is not empty", OPTION_TEXT,
      AT(prefix), 0, 0, NULL },
    { "replace-unknown", NULL, "write the source word with the most attention for an unknown word", OPTION_FLAG,
      AT(replace_unknown), 0, 0, NULL },
    { "dictionary", "FILE", "of --replace-unknown: lines of source word TAB target word", OPTION_TEXT, AT(dictionary),
      0, 0, NULL },
    { "alignment", "hard|soft", "' ||| ' and links 0-0 1-2 of words, or all weights of all pieces, behind the text",
      OPTION_WORD, AT(alignment), 0, 0, alignments },
    { "json", NULL, "an object a line: text, score, log-probability, tokens, alignment, list", OPTION_FLAG, AT(json), 0,
      0, NULL },
    { "precision", "fp32|bf16|int8", "bits of the weights: fewer are faster; as the file has them unless said",
      OPTION_WORD, AT(precision), 0, 0, precision_words },
    { "shortlist", NULL, "only words that attend convert --shortlist found for the source's words: much faster",
      OPTION_FLAG, AT(shortlist), 0, 0, NULL },
    { "max-words", "N", "a longer line is not translated", OPTION_WHOLE, AT(max_tokens), 1, 1e6, NULL },
    { "batch-tokens", "N", "source words that run together", OPTION_WHOLE, AT(batch_tokens), 1, 1e7, NULL },
    { "threads", "N", "any number gives the same translations", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "quiet", NULL, "no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* ---- lines that run together ---- */

/* At most so many lines, or bytes, if more can be read without waiting: whoever writes line by line into a pipe gets line by line. */
enum { MOST_LINES = 4096, MOST_BYTES = 4 << 20, WAIT = 20 };

typedef struct chunk {
    char *lines[MOST_LINES], *prefixes[MOST_LINES];
    size_t sizes[MOST_LINES], prefix_sizes[MOST_LINES];
    int count;
    size_t bytes;
    unsigned long long first; /* number of the first line, from 0 */
} chunk;

/* Where lines come from, and what they begin with. */
typedef struct inputs {
    attend_lines *lines, *prefixes;
    bool unequal; /* one of them has more lines */
} inputs;

static void chunk_clear(chunk *c)
{
    for (int i = 0; i < c->count; i++) free(c->lines[i]), free(c->prefixes[i]);
    c->first += (unsigned long long)c->count;
    c->count = 0, c->bytes = 0;
}

/* A copy of the next line; *copy is NULL behind the last. One that is too long for any line is an empty line, with a warning. */
static int next_line(attend_lines *from, const settings *s, char **copy, size_t *size)
{
    const char *text;
    *copy = NULL;
    const int status = attend_lines_next(from, &text, size);
    if (status != ATTEND_OK && attend_lines_failed(from)) return status;
    if (status != ATTEND_OK) {
        if (!s->quiet) fprintf(stderr, "attend translate: %s; an empty line stands for it\n", attend_message());
        text = "", *size = 0;
    }
    if (!text) return ATTEND_OK;
    *copy = malloc(*size + 1);
    if (!*copy) return attend_fail(ATTEND_NO_MEMORY, "no memory for a line of %zu bytes", *size);
    memcpy(*copy, text, *size);
    (*copy)[*size] = '\0';
    return ATTEND_OK;
}

static int chunk_read(chunk *c, inputs *in, const settings *s)
{
    while (c->count < MOST_LINES && c->bytes < MOST_BYTES && !in->unequal) {
        char *line = NULL, *prefix = NULL;
        const int i = c->count;
        if (i > 0 && !attend_lines_wait(in->lines, WAIT)) break;
        int status = next_line(in->lines, s, &line, &c->sizes[i]);
        if (status == ATTEND_OK && in->prefixes) status = next_line(in->prefixes, s, &prefix, &c->prefix_sizes[i]);
        in->unequal = in->prefixes && !line != !prefix;
        if (status != ATTEND_OK || !line || in->unequal) {
            free(line), free(prefix);
            return status;
        }
        c->lines[i] = line, c->prefixes[i] = prefix, c->count++;
        c->bytes += c->sizes[i];
    }
    return ATTEND_OK;
}

static int chunk_write(const chunk *c, translation_writer *w, const settings *s)
{
    for (int i = 0; i < c->count; i++) {
        const attend_line_result *r = attend_translator_result(w->translator, i);
        const unsigned long long number = c->first + (unsigned long long)i;
        if (r->fault && !s->quiet)
            fprintf(stderr, "attend translate: line %llu was not translated: %s; an empty line stands for it\n",
                    number + 1, r->fault);
        if (!translation_write(w, number, r))
            return attend_fail(ATTEND_NO_MEMORY, "no memory to write line %llu", number + 1);
    }
    if (fflush(w->to) == 0 && !ferror(w->to)) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "cannot write %s: %s", s->output ? s->output : "standard output", strerror(errno));
}

static int stream(attend_translator *t, inputs *in, translation_writer *w, const settings *s)
{
    static chunk c;
    int status = ATTEND_OK;
    for (;;) {
        status = chunk_read(&c, in, s);
        if (status != ATTEND_OK || c.count == 0) break;
        status = attend_translator_run_from(t, c.count, (const char *const *)c.lines, c.sizes,
                                            in->prefixes ? (const char *const *)c.prefixes : NULL, c.prefix_sizes);
        if (status == ATTEND_OK) status = chunk_write(&c, w, s);
        if (status == ATTEND_IO && errno == EPIPE) { /* whoever reads has enough */
            in->unequal = false;
            status = ATTEND_OK;
            break;
        }
        if (status != ATTEND_OK) break;
        chunk_clear(&c);
    }
    const unsigned long long lines = c.first;
    chunk_clear(&c);
    if (status == ATTEND_OK && in->unequal)
        status =
            attend_fail(ATTEND_BAD_DATA,
                        "%s has %s lines than %s, where there must be a line for each, an empty one for no prefix; "
                        "%llu lines were translated",
                        attend_lines_name(in->prefixes), attend_lines_number(in->prefixes) > lines ? "more" : "fewer",
                        attend_lines_name(in->lines), lines);
    return status;
}

/* ---- models ---- */

static attend_translator_options options_of(const settings *s, const attend_dictionary *d)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)s->beam, o.search.n_best = (int)s->n_best;
    o.search.length_penalty = s->length_penalty, o.search.coverage_penalty = s->coverage_penalty;
    o.search.length_ratio = s->length_ratio, o.search.length_extra = (int)s->length_extra;
    o.search.max_length = (int)s->max_length, o.search.no_repeat_ngram = (int)s->no_repeat_ngram;
    o.search.sample = s->sample, o.search.temperature = s->temperature, o.search.top_k = (int)s->top_k;
    o.search.top_p = s->top_p, o.search.seed = (uint64_t)s->seed;
    o.search.shortlist = s->shortlist;
    o.search.weights = s->json || s->alignment != ALIGNMENT_NONE;
    o.threads = (int)s->threads, o.batch_tokens = (int)s->batch_tokens, o.max_tokens = (int)s->max_tokens;
    o.replace_unknown = s->replace_unknown, o.dictionary = d;
    return o;
}

/* ---- language models ---- */

/* What goes by a source. */
static int refuse_for_lines(const verb *v, const parsed *p, const char *path)
{
    static const struct {
        const char *name, *why;
    } of_sources[] = { { "prefix", "the lines are what its text begins with" },
                       { "length-ratio",
                         "it has no source to be so much longer than; --length-extra says by how much" },
                       { "coverage-penalty", "it has no source to look at" },
                       { "replace-unknown", "it has no source to take words from" },
                       { "dictionary", "it has no source to take words from" },
                       { "alignment", "it has no source to align with" },
                       { "shortlist", "it has no source whose words a shortlist goes by" } };
    for (size_t i = 0; i < sizeof of_sources / sizeof *of_sources; i++)
        if (options_given(v, p, of_sources[i].name))
            return options_wrong(v, "--%s is not for %s, a language model: %s", of_sources[i].name, path,
                                 of_sources[i].why);
    return 0;
}

/* Lines are gone on from, by sampling unless a search is asked for. */
static void settle_for_lines(settings *s, const parsed *p)
{
    enum { MORE = 100 }; /* words, if nothing is said */
    if (!options_given(&verb_translate, p, "beam") && !options_given(&verb_translate, p, "length-penalty"))
        s->sample = true;
    if (!options_given(&verb_translate, p, "length-extra")) s->length_extra = MORE;
    s->lines = true;
}

static int load(const settings *s, attend_model **models)
{
    bool attention = false;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < s->models.count; i++) {
        status = attend_model_load(&models[i], s->models.items[i], NULL);
        if (status == ATTEND_OK && s->precision >= 0)
            status = attend_model_quantize(models[i], (attend_precision)s->precision);
        if (status == ATTEND_OK)
            attention |= attend_config_attention_layers(attend_model_config(models[i]), ATTEND_ATTENTION_CROSS) > 0;
    }
    if (status == ATTEND_OK && s->alignment != ALIGNMENT_NONE && !attention &&
        attend_model_config(models[0])->task == ATTEND_TASK_TRANSLATION)
        return attend_fail(ATTEND_BAD_USAGE, "--alignment needs attention, and %s has none", s->models.items[0]);
    return status;
}

/* Translates from files that are open to one that may be opened. */
static int run_stream(const settings *s, attend_translator *t, inputs *in)
{
    translation_writer w = { .to = stdout, .translator = t, .json = s->json, .list = s->n_best > 1 };
    w.alignment = s->alignment, w.lines = s->lines;
    if (s->output && !(w.to = fopen(s->output, "wb")))
        return attend_fail(ATTEND_IO, "cannot write %s: %s", s->output, strerror(errno));
    if (s->replace_unknown && !s->quiet &&
        attend_tokenizer_kind(attend_translator_tokenizer(t, true)) != ATTEND_TOKENS_WORD)
        fprintf(stderr, "attend translate: this model writes pieces of words, none of which is unknown: there is "
                        "nothing to replace\n");
    int status = stream(t, in, &w, s);
    if (w.to != stdout && fclose(w.to) != 0 && status == ATTEND_OK)
        status = attend_fail(ATTEND_IO, "cannot write %s: %s", s->output, strerror(errno));
    translation_writer_free(&w);
    return status;
}

static int check_sampling(const settings *s, const parsed *p);

static int translate(settings *s, const parsed *p)
{
    attend_model **models = calloc((size_t)s->models.count, sizeof *models);
    attend_dictionary *dictionary = NULL;
    attend_translator *t = NULL;
    inputs in = { .lines = NULL };
    int status = models ? load(s, models) : attend_fail(ATTEND_NO_MEMORY, "no memory for models"), wrong = 0;
    if (status == ATTEND_OK && attend_model_config(models[0])->task == ATTEND_TASK_LANGUAGE_MODEL) {
        wrong = refuse_for_lines(&verb_translate, p, s->models.items[0]);
        settle_for_lines(s, p);
    }
    if (status == ATTEND_OK && wrong == 0) wrong = check_sampling(s, p);
    if (wrong) {
        for (int i = 0; i < s->models.count; i++) attend_model_free(models[i]);
        free(models);
        return wrong;
    }
    if (status == ATTEND_OK && s->dictionary) status = attend_dictionary_read(&dictionary, s->dictionary);
    const attend_translator_options o = options_of(s, dictionary);
    if (status == ATTEND_OK)
        status = attend_translator_new_ensemble(&t, (const attend_model *const *)models, s->models.count, &o);
    if (status == ATTEND_OK && s->prefix) status = attend_lines_open(&in.prefixes, s->prefix);
    if (status == ATTEND_OK) status = attend_lines_open(&in.lines, s->input ? s->input : "-");
    if (status == ATTEND_OK) status = run_stream(s, t, &in);
    if (status != ATTEND_OK) status = cli_fail(&verb_translate, status);
    attend_lines_close(in.lines);
    attend_lines_close(in.prefixes);
    attend_translator_free(t);
    attend_dictionary_free(dictionary);
    for (int i = 0; models && i < s->models.count; i++) attend_model_free(models[i]);
    free(models);
    return status;
}

/* ---- the command line ---- */

/* Searching and sampling, once it is known which of the two it is. */
static int check_sampling(const settings *s, const parsed *p)
{
    static const char *const of_search[] = { "beam", "length-penalty", "coverage-penalty" };
    static const char *const of_sampling[] = { "temperature", "top-k", "top-p", "seed" };
    const verb *v = &verb_translate;
    for (size_t i = 0; s->sample && i < sizeof of_search / sizeof *of_search; i++)
        if (options_given(v, p, of_search[i]))
            return options_wrong(v, "--%s is for searching, and --sample draws; give one of them", of_search[i]);
    for (size_t i = 0; !s->sample && i < sizeof of_sampling / sizeof *of_sampling; i++)
        if (options_given(v, p, of_sampling[i])) return options_wrong(v, "--%s needs --sample", of_sampling[i]);
    if (!s->sample && s->n_best > s->beam)
        return options_wrong(v, "--n-best %lld is more than --beam %lld finds", s->n_best, s->beam);
    return 0;
}

/* What does not go together. */
static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_translate;
    if (p->rest_count > 0)
        return options_wrong(v, "'%s' is not understood; text comes from standard input or --input", p->rest[0]);
    if (s->models.count == 0) return options_wrong(v, "--model FILE is missing");
    if (s->shortlist && (s->sample || s->prefix || s->no_repeat_ngram > 0 || s->models.count > 1 || s->beam > 32))
        return options_wrong(
            v, "--shortlist is for one model and a beam of at most 32, without --sample, --prefix and --no-repeat");
    if (s->dictionary && !s->replace_unknown) return options_wrong(v, "--dictionary needs --replace-unknown");
    if (s->prefix && strcmp(s->prefix, "-") == 0 && (!s->input || strcmp(s->input, "-") == 0))
        return options_wrong(v, "lines and prefixes cannot both come from standard input; give --input FILE");
    return 0;
}

static int run(int argc, char **argv)
{
    settings s = { .beam = 5,
                   .n_best = 1,
                   .length_penalty = 1,
                   .length_ratio = 2,
                   .length_extra = 10,
                   .max_tokens = 1000,
                   .batch_tokens = 1000,
                   .temperature = 1,
                   .top_p = 1,
                   .precision = -1,
                   .alignment = ALIGNMENT_NONE - 1 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_translate, &s, argc, argv, &p);
    if (status == 0 && !p.help) status = check(&s, &p);
    s.alignment++; /* words count from 0 */
    if (status == 0 && !p.help) status = translate(&s, &p);
    options_free(&verb_translate, &s, &p);
    return status;
}

const verb verb_translate = {
    .name = "translate",
    .summary = "a line in, a line out; of a language model, with what follows it",
    .synopsis = "attend translate --model FILE [--model FILE ..] [--input FILE] [options]",
    .details = "Translates standard input line by line: as many lines come out, in order, whatever the lines are. An "
               "empty line gives an empty\n"
               "line; so does one that cannot be translated (not UTF-8, too long), with a warning that has its number. "
               "docs/translate.md has\n"
               "the formats. A language model goes on from each line, by sampling unless --beam is given; an empty "
               "line begins with nothing\n"
               "(docs/language-models.md).",
    .examples = "  attend translate --model en-de < test.en > test.out\n  echo 'a dog runs .' | attend translate "
                "--model en-de --beam 10 --n-best 3\n"
                "  attend translate --model a --model b --json --alignment soft < test.en\n"
                "  attend translate --model en-de --sample --top-p 0.9 --seed 3 --n-best 5 < test.en\n"
                "  echo 'the company said' | attend translate --model lm --temperature 0.8 --seed 7\n",
    .options = table,
    .run = run,
};
