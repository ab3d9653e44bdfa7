/* cmd_translate.c: translates lines as they are read, in order. */
#include "options.h"
#include "plugin_option.h"
#include "output_file.h"
#include "ready_input.h"
#include "search_options.h"

#include "array.h"
#include "compute_option.h"
#include "job.h"
#include "packed.h"
#include "result_text.h"
#include "sentence_parts.h"
#include "shared_work.h"
#include "translation_writer.h"
#include "unit_option.h"
#include "unknown_report.h"

#include <attend/status.h>
#include <attend/lines.h>
#include <attend/sentences.h>
#include <attend/translator.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    search_settings search;
    texts_list models, plugins;
    const char *input, *output, *prefix, *dictionary;
    long long n_best, max_length, no_repeat_ngram, top_k, seed, rank_timeout;
    double temperature, top_p;
    bool sample, replace_unknown, json, quiet, shortlist, split_sentences, confidence, mixed_ranks;
    bool is_language_model; /* continue the lines instead of translating them */
    int precision;          /* index into attend_precision_names; -1: that of the file */
    int unit;               /* an attend_unit */
    int alignment;          /* index into `alignments`; ALIGNMENT_NONE - 1 if not given */
} settings;

static const char *const alignments[] = { "hard", "soft", NULL }; /* from ALIGNMENT_HARD on */

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE",
      "the model; if repeated, the models form an ensemble that averages their probabilities (they must share their "
      "vocabularies)",
      OPTION_INPUTS, AT(models), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    { "input", "FILE", "lines to translate (default: standard input, unless a sentence is given)", OPTION_INPUT,
      AT(input), 0, 0, NULL },
    { "output", "FILE", "where to write the translations (default: standard output)", OPTION_OUTPUT, AT(output), 0, 0,
      NULL },
    { "split-sentences", NULL,
      "split lines of several sentences, translate each sentence, and join the translations; for a model that was "
      "trained on sentences",
      OPTION_FLAG, AT(split_sentences), 0, 0, NULL },
    { "n-best", "N",
      "print the N best translations of each line, as: line number from 0 ||| text ||| logp=LOG-PROBABILITY ||| score; "
      "1: the best alone, as text",
      OPTION_INTEGER, AT(n_best), 1, 1024, NULL },
    { "max-length", "N",
      "maximum number of tokens of a translation, whatever the length of the source (default: by --length-ratio)",
      OPTION_INTEGER, AT(max_length), 1, 1e6, NULL },
    { "no-repeat-ngram", "N",
      "do not repeat an n-gram of N tokens within a translation (default: repetition is allowed)", OPTION_INTEGER,
      AT(no_repeat_ngram), 1, 1000, NULL },
    { "sample", NULL,
      "sample tokens instead of searching for the best (default with a language model); --n-best N draws N samples",
      OPTION_FLAG, AT(sample), 0, 0, NULL },
    { "temperature", "X", "sampling temperature; below 1 sharpens the distribution, above 1 flattens it", OPTION_REAL,
      AT(temperature), 1e-6, 1000, NULL },
    { "top-k", "N", "sample from the N most probable tokens only (default: all)", OPTION_INTEGER, AT(top_k), 1, 1e9,
      NULL },
    { "top-p", "X", "sample from the most probable tokens whose probabilities add up to X", OPTION_REAL, AT(top_p),
      1e-6, 1, NULL },
    { "seed", "N", "random seed of sampling; samples also depend on the line number", OPTION_INTEGER, AT(seed), 0, 9e15,
      NULL },
    { "prefix", "FILE",
      "file with one line per input line: the text with which its translation must begin; may be empty", OPTION_INPUT,
      AT(prefix), 0, 0, NULL },
    { "replace-unknown", NULL, "replace each unknown token by the source word with the highest attention weight",
      OPTION_FLAG, AT(replace_unknown), 0, 0, NULL },
    { "dictionary", "FILE", "translations for --replace-unknown: each line has a source word, a TAB and a target word",
      OPTION_INPUT, AT(dictionary), 0, 0, NULL },
    { "alignment", NULL,
      "append ' ||| ' and the alignment: links between words (0-0 1-2), or all attention weights between tokens",
      OPTION_CHOICE, AT(alignment), 0, 0, alignments },
    UNIT_OPTION(AT(unit), "what links count"),
    { "confidence", NULL,
      "append ' ||| ' and the confidence, from 0 to 1: the geometric mean of the probabilities of the tokens",
      OPTION_FLAG, AT(confidence), 0, 0, NULL },
    { "json", NULL,
      "print one JSON object per line: text, score, log-probability, confidence, tokens, unknown characters and words, "
      "alignment, n-best list",
      OPTION_FLAG, AT(json), 0, 0, NULL },
    { "precision", NULL, "precision of the weights; lower is faster (default: that of the file)", OPTION_CHOICE,
      AT(precision), 0, 0, attend_precision_names },
    { "shortlist", NULL,
      "restrict the output to the model's shortlist, which attend convert --shortlist adds to a model; much faster",
      OPTION_FLAG, AT(shortlist), 0, 0, NULL },
    RANK_TIMEOUT_OPTION(AT(rank_timeout)),
    MIXED_RANKS_OPTION(AT(mixed_ranks), "a translation"),
    { "quiet", NULL, "print no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "max-input-length", "max-words", NULL, NULL },
    { "no-repeat-ngram", "no-repeat", NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

/* ---- chunks of lines ---- */

/* A chunk ends at one of these limits, times the number of ranks, or when no other line is complete (ready_input.h). */
enum { MAX_LINES = 4096, MAX_BYTES = 4 << 20 };

typedef struct chunk {
    char **lines, **prefixes;     /* (room) NULL: no prefix */
    size_t *sizes, *prefix_sizes; /* (room) */
    int count, room;
    size_t bytes;
    unsigned long long first; /* index of the first line */
} chunk;

/* Makes room for so many lines in an empty chunk. */
static int chunk_reserve(chunk *c, int lines)
{
    if (lines <= c->room) return ATTEND_OK;
    const size_t count = (size_t)lines;
    int room[4] = { c->room, c->room, c->room, c->room };
    if (!array_reserve(&c->lines, &room[0], count, sizeof *c->lines) ||
        !array_reserve(&c->prefixes, &room[1], count, sizeof *c->prefixes) ||
        !array_reserve(&c->sizes, &room[2], count, sizeof *c->sizes) ||
        !array_reserve(&c->prefix_sizes, &room[3], count, sizeof *c->prefix_sizes))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d lines", lines);
    c->room = room[0];
    return ATTEND_OK;
}

static void chunk_free(chunk *c)
{
    free(c->lines), free(c->prefixes), free(c->sizes), free(c->prefix_sizes);
}

typedef struct inputs {
    const char *sentence;           /* given as an argument: the only line. NULL: none, or it has been read */
    attend_lines *lines, *prefixes; /* lines NULL: there is only a sentence */
    bool unequal;                   /* the numbers of lines differ */
} inputs;

static void chunk_clear(chunk *c)
{
    for (int i = 0; i < c->count; i++) free(c->lines[i]), free(c->prefixes[i]);
    c->first += (unsigned long long)c->count;
    c->count = 0, c->bytes = 0;
}

/* A copy of the next line; NULL after the last. A line that exceeds the limit of attend_lines becomes an empty line,
 * with a warning. */
static int next_line(attend_lines *from, const settings *s, char **copy, size_t *size)
{
    const char *text;
    *copy = NULL;
    if (!from) return ATTEND_OK;
    const int status = attend_lines_next(from, &text, size);
    if (status != ATTEND_OK && attend_lines_failed(from)) return status;
    if (status != ATTEND_OK) {
        if (!s->quiet)
            attend_print(stderr, "attend translate: %s; its translation is an empty line\n", attend_message());
        text = "", *size = 0;
    }
    if (!text) return ATTEND_OK;
    *copy = malloc(*size + 1);
    if (!*copy) return attend_fail(ATTEND_NO_MEMORY, "out of memory for a line of %zu bytes", *size);
    memcpy(*copy, text, *size);
    (*copy)[*size] = '\0';
    return ATTEND_OK;
}

/* The sentence that was given as an argument. */
static int take_sentence(inputs *in, char **copy, size_t *size)
{
    *size = strlen(in->sentence);
    *copy = strdup(in->sentence);
    in->sentence = NULL;
    return *copy ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory for a sentence of %zu bytes", *size);
}

/* Whether the next line, and its prefix, are complete within some milliseconds. */
static bool is_ready(void *input, int milliseconds)
{
    inputs *in = input;
    return (!in->lines || attend_lines_wait(in->lines, milliseconds)) &&
           (!in->prefixes || attend_lines_wait(in->prefixes, milliseconds));
}

static int chunk_read(chunk *c, inputs *in, const settings *s)
{
    const int ranks = attend_ranks_count(job_ranks());
    int waits = 0;
    while (c->count < MAX_LINES * ranks && c->bytes < (size_t)MAX_BYTES * (size_t)ranks && !in->unequal) {
        char *line = NULL, *prefix = NULL;
        const int i = c->count;
        if (!ready_input_goes_on(is_ready, in, i, &waits)) break;
        int status = chunk_reserve(c, i + 1);
        if (status == ATTEND_OK)
            status =
                in->sentence ? take_sentence(in, &line, &c->sizes[i]) : next_line(in->lines, s, &line, &c->sizes[i]);
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

/* Where results go. */
typedef struct output {
    translation_writer writer;
    FILE *warnings;
    unknown_report unknown;
    unsigned long long translated, non_finite; /* lines with a translation, and faults of the model */
} output;

static int flush(const translation_writer *w, const settings *s)
{
    if (fflush(w->to) == 0 && !ferror(w->to)) return ATTEND_OK;
    return attend_fail(ATTEND_IO, "cannot write %s: %s", s->output ? s->output : "standard output",
                       attend_errno_text(errno));
}

static void count_result(output *out, const attend_line_result *r)
{
    out->translated += !r->fault && *r->hypotheses[0].text;
    out->non_finite += r->is_non_finite;
}

/* A model that has translated nothing because of its own weights is an error; a line without a translation is none. */
static int check_finite(const output *out, const settings *s)
{
    char names[1024];
    size_t used = 0;
    for (int i = 0; i < s->models.count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", s->models.items[i]);
    return out->translated > 0 ? ATTEND_OK : attend_check_finite(names, out->non_finite, out->non_finite);
}

/* Writes the results of `count` lines of the chunk, from `first` on. */
static int chunk_write(const chunk *c, int first, int count, output *out, const settings *s)
{
    translation_writer *w = &out->writer;
    char why[LINE_FAULT];
    for (int i = 0; i < count; i++) {
        const attend_line_result *r = attend_translator_result(w->translator, i);
        const unsigned long long number = c->first + (unsigned long long)(first + i);
        const int status = unknown_report_add(&out->unknown, number, r);
        if (status != ATTEND_OK) return status;
        count_result(out, r);
        if (r->fault && !s->quiet)
            attend_print(out->warnings,
                         "attend translate: line %llu is not translated: %s; its translation is an empty line\n",
                         number + 1,
                         line_fault(&verb_translate, why, r->fault, r->is_too_long, (int)s->search.max_input_length));
        if (!translation_write(w, number, r))
            return attend_fail(ATTEND_NO_MEMORY, "out of memory writing line %llu", number + 1);
    }
    return flush(w, s);
}

/* Translates a chunk in parts whose results fit into memory. */
static int chunk_translate(attend_translator *t, const chunk *c, output *out, const settings *s)
{
    int status = ATTEND_OK;
    for (int first = 0, done = 0; status == ATTEND_OK && first < c->count; first += done) {
        status =
            attend_translator_run_some(t, c->count - first, (const char *const *)c->lines + first, c->sizes + first,
                                       s->prefix ? (const char *const *)c->prefixes + first : NULL,
                                       c->prefix_sizes + first, &done);
        if (status == ATTEND_OK) status = chunk_write(c, first, done, out, s);
    }
    return status;
}

/* Adds the translations of `count` sentences, from `first` on, to that of their line, and writes the lines whose last
 * sentence is among them. */
static int parts_write(const chunk *c, const sentence_parts *p, int first, int count, output *out, const settings *s,
                       attend_string *line)
{
    const translation_writer *w = &out->writer;
    char why[LINE_FAULT];
    int status = ATTEND_OK;
    for (int i = first; status == ATTEND_OK && i < first + count; i++) {
        const attend_line_result *r = attend_translator_result(w->translator, i - first);
        status = unknown_report_add(&out->unknown, c->first + (unsigned long long)p->lines[i], r);
        if (status != ATTEND_OK) break;
        count_result(out, r);
        if (r->fault && !s->quiet)
            attend_print(out->warnings,
                         "attend translate: line %llu: a sentence is not translated: %s; it is left out\n",
                         c->first + (unsigned long long)p->lines[i] + 1,
                         line_fault(&verb_translate, why, r->fault, r->is_too_long, (int)s->search.max_input_length));
        if (!r->fault) status = attend_sentences_append(line, r->hypotheses[0].text, strlen(r->hypotheses[0].text));
        if (status != ATTEND_OK || (i + 1 < p->count && p->lines[i + 1] == p->lines[i])) continue;
        translation_write_text(w, line->size ? line->text : "");
        line->size = 0;
    }
    return status == ATTEND_OK ? flush(w, s) : status;
}

/* The same as chunk_translate, sentence by sentence. */
static int chunk_translate_sentences(attend_translator *t, const chunk *c, output *out, const settings *s)
{
    sentence_parts p = { 0 };
    attend_string line = { 0 };
    int status = sentence_parts_split(&p, (const char *const *)c->lines, c->sizes, c->count);
    for (int first = 0, done = 0; status == ATTEND_OK && first < p.count; first += done) {
        status = attend_translator_run_some(t, p.count - first, p.texts + first, p.sizes + first, NULL, NULL, &done);
        if (status == ATTEND_OK) status = parts_write(c, &p, first, done, out, s, &line);
    }
    attend_string_free(&line);
    sentence_parts_free(&p);
    return status;
}

static int translate_chunk(attend_translator *t, const chunk *c, output *out, const settings *s)
{
    return s->split_sentences ? chunk_translate_sentences(t, c, out, s) : chunk_translate(t, c, out, s);
}

/* Whether a failure is only that the reader has closed the pipe; nothing is missing then. */
static bool is_closed(int status, inputs *in)
{
    if (status != ATTEND_IO || errno != EPIPE) return false;
    in->unequal = false;
    return true;
}

/* Reads, translates and writes one chunk after another. *lines: how many were translated. */
static int stream_alone(attend_translator *t, inputs *in, output *out, const settings *s, unsigned long long *lines)
{
    chunk c = { 0 };
    int status = ATTEND_OK;
    for (;;) {
        status = chunk_read(&c, in, s);
        if (status != ATTEND_OK || c.count == 0) break;
        status = translate_chunk(t, &c, out, s);
        if (is_closed(status, in)) {
            status = ATTEND_OK;
            break;
        }
        if (status != ATTEND_OK) break;
        chunk_clear(&c);
    }
    *lines = c.first;
    chunk_clear(&c);
    chunk_free(&c);
    return status;
}

/* ---- chunks that ranks share ---- */

typedef struct shared_stream {
    attend_translator *t;
    inputs *in;
    output *out;
    const settings *s;
    chunk read; /* rank 0 */
    chunk own;  /* the part of this rank: its texts belong to the part */
    bool ends;
} shared_stream;

/* A shared_work.give: the lines of a chunk, in order, about as many bytes for each rank. */
static int give(void *user, attend_string *parts, int ranks, bool *more)
{
    shared_stream *x = user;
    chunk *c = &x->read;
    chunk_clear(c);
    int status = x->ends ? ATTEND_OK : chunk_read(c, x->in, x->s);
    *more = status == ATTEND_OK && c->count > 0;
    for (int rank = 0; *more && status == ATTEND_OK && rank < ranks; rank++) {
        const int first = shared_work_first(c->sizes, c->count, ranks, rank),
                  end = rank + 1 < ranks ? shared_work_first(c->sizes, c->count, ranks, rank + 1) : c->count;
        attend_string *part = &parts[rank];
        status = packed_add_number(part, c->first + (unsigned long long)first);
        if (status == ATTEND_OK) status = packed_add_number(part, (uint64_t)(end - first));
        for (int i = first; status == ATTEND_OK && i < end; i++) {
            status = packed_add_text(part, c->lines[i], c->sizes[i]);
            if (status == ATTEND_OK) status = packed_add_text(part, c->prefixes[i], c->prefix_sizes[i]);
        }
    }
    return status;
}

static int read_part(shared_stream *x, const attend_string *part)
{
    packed_reader r = packed_open(part);
    chunk *c = &x->own;
    c->first = packed_number(&r);
    const uint64_t count = packed_number(&r);
    c->count = 0;
    if (count > part->size) return shared_work_damaged();
    const int status = chunk_reserve(c, (int)count);
    for (; status == ATTEND_OK && c->count < (int)count; c->count++) {
        c->lines[c->count] = (char *)packed_text(&r, &c->sizes[c->count]);
        c->prefixes[c->count] = (char *)packed_text(&r, &c->prefix_sizes[c->count]);
        if (r.is_damaged || !c->lines[c->count]) return shared_work_damaged();
    }
    return status;
}

/* A shared_work.work: what the lines give, as bytes to write. */
static int work(void *user, const attend_string *part, attend_string *result)
{
    shared_stream *x = user;
    char *texts[2] = { NULL, NULL };
    size_t sizes[2] = { 0, 0 };
    output out = { .writer = x->out->writer, .unknown.keeps_all = true };
    int status = read_part(x, part);
    if (status != ATTEND_OK) return status;
    out.writer.to = open_memstream(&texts[0], &sizes[0]), out.warnings = open_memstream(&texts[1], &sizes[1]);
    if (!out.writer.to || !out.warnings) status = attend_fail(ATTEND_NO_MEMORY, "out of memory for translations");
    attend_translator_set_line(x->t, x->own.first);
    if (status == ATTEND_OK) status = translate_chunk(x->t, &x->own, &out, x->s);
    const bool is_complete =
        (!out.writer.to || fclose(out.writer.to) == 0) && (!out.warnings || fclose(out.warnings) == 0);
    if (status == ATTEND_OK && !is_complete) status = attend_fail(ATTEND_NO_MEMORY, "out of memory for translations");
    for (int i = 0; i < 2; i++) {
        if (status == ATTEND_OK) status = packed_add_text(result, texts[i], sizes[i]);
        free(texts[i]);
    }
    if (status == ATTEND_OK) status = packed_add_number(result, out.translated);
    if (status == ATTEND_OK) status = packed_add_number(result, out.non_finite);
    if (status == ATTEND_OK) status = unknown_report_pack(&out.unknown, result);
    unknown_report_free(&out.unknown);
    x->out->writer.links = out.writer.links, x->out->writer.link_capacity = out.writer.link_capacity;
    return status;
}

/* A shared_work.take. */
static int take(void *user, const attend_string *result)
{
    shared_stream *x = user;
    packed_reader r = packed_open(result);
    size_t size, warning_size;
    const char *const text = packed_text(&r, &size), *const warnings = packed_text(&r, &warning_size);
    if (!text || !warnings) return shared_work_damaged();
    if (warning_size) write_unchanged_bytes(stderr, warnings, warning_size); /* escaped already */
    x->out->translated += packed_number(&r), x->out->non_finite += packed_number(&r);
    int status = unknown_report_add_packed(&x->out->unknown, &r);
    if (status != ATTEND_OK || x->ends) return status;
    if (size) result_write(x->out->writer.to, text, size);
    status = flush(&x->out->writer, x->s);
    x->ends = is_closed(status, x->in);
    return x->ends ? ATTEND_OK : status;
}

static int stream_shared(attend_translator *t, inputs *in, output *out, const settings *s, unsigned long long *lines)
{
    shared_stream x = { .t = t, .in = in, .out = out, .s = s };
    const shared_work w = { .user = &x, .give = give, .work = work, .take = take };
    const int status = shared_work_run(job_ranks(), &w);
    *lines = x.read.first;
    chunk_clear(&x.read);
    chunk_free(&x.read);
    chunk_free(&x.own);
    return status;
}

static int stream(attend_translator *t, inputs *in, output *out, const settings *s)
{
    unsigned long long lines = 0;
    const int status = attend_ranks_count(job_ranks()) > 1 ? stream_shared(t, in, out, s, &lines)
                                                           : stream_alone(t, in, out, s, &lines);
    if (status != ATTEND_OK) return status;
    if (!in->unequal) return check_finite(out, s);
    return attend_fail(
        ATTEND_BAD_DATA,
        "%s has %s lines than %s; it must have one line, possibly empty, for each input line. %llu lines are "
        "translated",
        attend_lines_name(in->prefixes), attend_lines_number(in->prefixes) > lines ? "more" : "fewer",
        attend_lines_name(in->lines), lines);
}

/* ---- models ---- */

static attend_translator_options options_of(const settings *s, const attend_dictionary *d)
{
    attend_translator_options o = search_settings_options(&s->search);
    o.search.n_best = (int)s->n_best, o.search.max_length = (int)s->max_length,
    o.search.no_repeat_ngram = (int)s->no_repeat_ngram;
    o.search.sample = s->sample, o.search.temperature = s->temperature, o.search.top_k = (int)s->top_k;
    o.search.top_p = s->top_p, o.search.seed = (uint64_t)s->seed;
    o.search.shortlist = s->shortlist;
    o.search.weights = s->json || s->alignment != ALIGNMENT_NONE;
    o.replace_unknown = s->replace_unknown, o.dictionary = d;
    o.unit = (attend_unit)s->unit;
    return o;
}

/* ---- language models ---- */

/* Refuses options that need a source. */
static int check_language_model(const verb *v, const parsed *p, const char *path)
{
    static const struct {
        const char *name, *why;
    } of_sources[] = { { "prefix", "the input lines are its prefixes" },
                       { "length-ratio", "use --length-extra to limit the number of added tokens" },
                       { "coverage-penalty", "it has no source" },
                       { "replace-unknown", "it has no source" },
                       { "dictionary", "it has no source" },
                       { "alignment", "it has no source" },
                       { "shortlist", "it has no source" },
                       { "split-sentences", "it continues a line as a whole" } };
    for (size_t i = 0; i < sizeof of_sources / sizeof *of_sources; i++)
        if (options_given(v, p, of_sources[i].name))
            return usage_error(v, "--%s does not apply to %s, a language model: %s", of_sources[i].name, path,
                               of_sources[i].why);
    return 0;
}

/* A language model continues lines, by sampling unless a search is requested. */
static void set_language_model_defaults(settings *s, const parsed *p)
{
    enum { ADDED_TOKENS = 100 };
    if (!options_given(&verb_translate, p, "beam") && !options_given(&verb_translate, p, "length-penalty"))
        s->sample = true;
    if (!options_given(&verb_translate, p, "length-extra")) s->search.length_extra = ADDED_TOKENS;
    s->is_language_model = true;
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
        return attend_fail(ATTEND_BAD_USAGE, "--alignment requires attention, but %s has none", s->models.items[0]);
    return status;
}

/* Opens the output and translates all lines. */
static int run_stream(const settings *s, attend_translator *t, inputs *in)
{
    output out = { .writer = { .to = stdout, .translator = t, .json = s->json, .list = s->n_best > 1 },
                   .warnings = stderr };
    translation_writer *w = &out.writer;
    w->alignment = s->alignment, w->is_language_model = s->is_language_model, w->confidence = s->confidence;
    if (s->output && job_speaks() && !output_is_standard(s->output) && !(w->to = fopen(s->output, "wb")))
        return attend_fail(ATTEND_IO, "cannot write %s: %s", s->output, attend_errno_text(errno));
    if (attend_ranks_count(job_ranks()) > 1) result_write_exactly();
    const attend_tokenizer *reader = attend_translator_tokenizer(t, s->is_language_model);
    if (s->replace_unknown && !s->quiet &&
        attend_tokenizer_kind(attend_translator_tokenizer(t, true)) != ATTEND_TOKENS_WORD)
        attend_print(
            stderr,
            "attend translate: --replace-unknown has no effect: the model's tokens are parts of words, and none is "
            "unknown\n");
    int status = stream(t, in, &out, s);
    if (w->to != stdout && fclose(w->to) != 0 && status == ATTEND_OK)
        status = attend_fail(ATTEND_IO, "cannot write %s: %s", s->output, attend_errno_text(errno));
    if (!s->quiet)
        unknown_report_print(&out.unknown, &verb_translate, attend_tokenizer_kind(reader) == ATTEND_TOKENS_WORD);
    unknown_report_free(&out.unknown);
    translation_writer_free(w);
    return status;
}

static int check_sampling(const settings *s, const parsed *p);

/* An argument is text; a user may mean the file of that name. */
static void note_file(const settings *s, const char *sentence)
{
    if (!s->quiet && !strchr(sentence, ' ') && access(sentence, F_OK) == 0)
        attend_print(stderr, "attend translate: note: '%s' is translated as text; --input %s translates the file\n",
                     sentence, sentence);
}

/* Whether all ranks have the same models, dictionary and options. */
static int check_ranks(const settings *s)
{
    const int count = s->models.count;
    job_file *files = calloc((size_t)count + 1, sizeof *files);
    if (!files) return attend_fail(ATTEND_NO_MEMORY, "out of memory for models");
    for (int i = 0; i < count; i++) files[i] = (job_file){ .what = "model", .path = s->models.items[i] };
    files[count] = (job_file){ .what = "dictionary", .path = s->dictionary };
    const int status = job_check(&verb_translate, s, files, count + 1, s->mixed_ranks);
    free(files);
    return status;
}

static int translate(settings *s, const parsed *p)
{
    attend_model **models = calloc((size_t)s->models.count, sizeof *models);
    attend_dictionary *dictionary = NULL;
    attend_translator *t = NULL;
    inputs in = { .sentence = p->positional_count ? p->positional[0] : NULL };
    int status = models ? load(s, models) : attend_fail(ATTEND_NO_MEMORY, "out of memory for models"), wrong = 0;
    if (status == ATTEND_OK && attend_model_config(models[0])->task == ATTEND_TASK_LANGUAGE_MODEL) {
        wrong = check_language_model(&verb_translate, p, s->models.items[0]);
        set_language_model_defaults(s, p);
    }
    if (status == ATTEND_OK && wrong == 0) wrong = check_sampling(s, p);
    if (wrong) {
        for (int i = 0; i < s->models.count; i++) attend_model_free(models[i]);
        free(models);
        return wrong;
    }
    if (status == ATTEND_OK && s->dictionary) status = attend_dictionary_read(&dictionary, s->dictionary);
    const attend_translator_options o = options_of(s, dictionary);
    if (status == ATTEND_OK) status = check_ranks(s);
    if (status == ATTEND_OK && !s->quiet) compute_option_note(&verb_translate, s->search.compute);
    if (status == ATTEND_OK)
        status = attend_translator_new_ensemble(&t, (const attend_model *const *)models, s->models.count, &o);
    const bool reads = job_speaks(); /* rank 0 gives the others their lines */
    if (status == ATTEND_OK && s->prefix && reads) status = attend_lines_open(&in.prefixes, s->prefix);
    if (in.sentence)
        note_file(s, in.sentence);
    else if (status == ATTEND_OK && reads)
        status = attend_lines_open(&in.lines, s->input ? s->input : "-");
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

/* Options of search and of sampling exclude each other. A language model decides which of them applies. */
static int check_sampling(const settings *s, const parsed *p)
{
    static const char *const of_search[] = { "beam", "length-penalty", "coverage-penalty" };
    static const char *const of_sampling[] = { "temperature", "top-k", "top-p", "seed" };
    const verb *v = &verb_translate;
    for (size_t i = 0; s->sample && i < sizeof of_search / sizeof *of_search; i++)
        if (options_given(v, p, of_search[i]))
            return usage_error(v, "--%s applies to search and cannot be combined with --sample", of_search[i]);
    for (size_t i = 0; !s->sample && i < sizeof of_sampling / sizeof *of_sampling; i++)
        if (options_given(v, p, of_sampling[i])) return usage_error(v, "--%s requires --sample", of_sampling[i]);
    if (!s->sample && s->n_best > s->search.beam)
        return usage_error(v, "--n-best %lld is larger than --beam %lld", s->n_best, s->search.beam);
    return 0;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_translate;
    if (p->positional_count > 1)
        return usage_error(
            v, "unexpected argument '%s'; quote the sentence, or put several sentences into a file (--input)",
            p->positional[1]);
    if (p->positional_count == 1 && (s->input || s->prefix))
        return usage_error(v, "give a sentence or --%s FILE, not both", s->input ? "input" : "prefix");
    if (s->models.count == 0) return usage_error(v, "--model FILE is required");
    if (s->shortlist &&
        (s->sample || s->prefix || s->no_repeat_ngram > 0 || s->models.count > 1 || s->search.beam > 32))
        return usage_error(
            v, "--shortlist requires a single model and a beam of at most 32, and cannot be combined with --sample, "
               "--prefix or --no-repeat-ngram");
    if (s->split_sentences &&
        (s->json || s->prefix || s->n_best > 1 || s->confidence || options_given(v, p, "alignment")))
        return usage_error(v, "--split-sentences cannot be combined with --json, --prefix, --n-best, --alignment or "
                              "--confidence, which apply to a line as a whole");
    if (s->dictionary && !s->replace_unknown) return usage_error(v, "--dictionary requires --replace-unknown");
    return 0;
}

static const void *defaults(void)
{
    static const attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    static settings s;
    s = (settings){ .search = search_settings_defaults(),
                    .n_best = o.n_best,
                    .temperature = o.temperature,
                    .top_p = o.top_p,
                    .seed = (long long)o.seed,
                    .precision = -1,
                    .rank_timeout = RANK_TIMEOUT,
                    .alignment = ALIGNMENT_NONE - 1 };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    job_begin();
    int status = options_parse(&verb_translate, &s, argc, argv, &p);
    s.alignment++; /* from an index into `alignments` to ALIGNMENT_* */
    if (!p.help) {
        status = job_join(&verb_translate, s.rank_timeout, status);
        if (!options_given(&verb_translate, &p, "threads")) s.search.threads = job_threads();
        if (status == 0) status = check(&s, &p);
        if (status == 0) status = search_settings_use_device(&verb_translate, &s.search, &p, s.quiet);
        if (status == 0) status = translate(&s, &p);
        status = job_end(&verb_translate, status);
    }
    options_free(&verb_translate, &s, &p);
    return status;
}

const verb verb_translate = {
    .name = "translate",
    .summary = "translate lines, or continue them with a language model",
    .synopsis = "attend translate --model FILE [--model FILE]... [--input FILE | SENTENCE] [options]",
    .details =
        "Translates a sentence that is given as an argument, or each input line. There is exactly one output\n"
        "line per input line, in the same order. An empty line gives an empty line. A line that cannot be\n"
        "translated (not UTF-8, too long) also gives an empty line, with a warning that states the line number.\n"
        "docs/translate.md describes the formats. A language model continues each line, by sampling unless\n"
        "--beam is given; an empty line starts a new text (docs/language-models.md).",
    .examples = "  attend translate --model en-de 'a dog runs .'\n"
                "  attend translate --model en-de < test.en > test.out\n"
                "  attend translate --model en-de --beam 10 --n-best 3 'a dog runs .'\n"
                "  attend translate --model en-de --split-sentences --input paragraphs.txt\n"
                "  attend translate --model a --model b --json --alignment soft < test.en\n"
                "  attend translate --model en-de --sample --top-p 0.9 --seed 3 --n-best 5 < test.en\n"
                "  echo 'the company said' | attend translate --model lm --temperature 0.8 --seed 7\n",
    .options = table,
    .shared = &search_option_group,
    .defaults = defaults,
    .aliases = aliases,
    .stdin_option = "input",
    .run = run,
};
