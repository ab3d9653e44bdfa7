/* cmd_translate.c: a line in, a line out, in order, while reading. */
#include "options.h"

#include "text/lines.h"
#include <attend/translator.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *input, *output;
    long long beam, n_best, batch_tokens, max_words, length_extra, threads;
    double length_penalty, coverage_penalty, length_ratio;
    bool quiet;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model made by attend train", OPTION_TEXT, AT(model), 0, 0, NULL },
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
    { "length-extra", "N", ".. N more", OPTION_WHOLE, AT(length_extra), 0, 100000, NULL },
    { "max-words", "N", "a longer line is not translated", OPTION_WHOLE, AT(max_words), 1, 1e6, NULL },
    { "batch-tokens", "N", "source words that run together", OPTION_WHOLE, AT(batch_tokens), 1, 1e7, NULL },
    { "threads", "N", "any number gives the same translations", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "quiet", NULL, "no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* Lines that run together. */
enum { MOST_LINES = 4096 };

typedef struct chunk {
    char *lines[MOST_LINES];
    size_t sizes[MOST_LINES];
    int count;
    uint64_t first; /* number of the first line, from 0 */
} chunk;

static void chunk_clear(chunk *c)
{
    for (int i = 0; i < c->count; i++) free(c->lines[i]);
    c->first += (uint64_t)c->count;
    c->count = 0;
}

/* Reads up to `most` lines; a line that cannot be read as one is kept as an empty line with a warning. */
static int chunk_read(chunk *c, attend_lines *from, int most, const settings *s)
{
    while (c->count < most) {
        const char *text;
        size_t size;
        const int status = attend_lines_next(from, &text, &size);
        if (status != ATTEND_OK && attend_lines_failed(from)) return status;
        if (status != ATTEND_OK) {
            if (!s->quiet) fprintf(stderr, "attend translate: %s; an empty line stands for it\n", attend_message());
            text = "", size = 0;
        }
        if (!text) break;
        char *copy = malloc(size + 1);
        if (!copy) return ATTEND_NO_MEMORY;
        memcpy(copy, text, size);
        copy[size] = '\0';
        c->lines[c->count] = copy;
        c->sizes[c->count++] = size;
    }
    return ATTEND_OK;
}

static bool chunk_write(const chunk *c, const attend_translator *t, const settings *s, FILE *to)
{
    for (int i = 0; i < c->count; i++) {
        const attend_line_result *r = attend_translator_result(t, i);
        const unsigned long long number = (unsigned long long)c->first + (unsigned long long)i;
        if (r->fault && !s->quiet)
            fprintf(stderr, "attend translate: line %llu was not translated: %s; an empty line stands for it\n",
                    number + 1, r->fault);
        if (s->n_best == 1) {
            fprintf(to, "%s\n", r->list[0].text);
            continue;
        }
        for (int j = 0; j < r->count; j++)
            fprintf(to, "%llu ||| %s ||| logp=%.4f ||| %.4f\n", number, r->list[j].text, r->list[j].log_probability,
                    r->list[j].score);
    }
    return fflush(to) == 0 && !ferror(to);
}

static int stream(attend_translator *t, attend_lines *from, FILE *to, const settings *s)
{
    static chunk c;
    const bool person = !s->input && isatty(0);
    for (;;) {
        int status = chunk_read(&c, from, person ? 1 : MOST_LINES, s);
        if (status == ATTEND_OK && c.count == 0) return ATTEND_OK;
        if (status == ATTEND_OK) status = attend_translator_run(t, c.count, (const char *const *)c.lines, c.sizes);
        if (status != ATTEND_OK) return status;
        if (!chunk_write(&c, t, s, to)) {
            if (errno == EPIPE) return ATTEND_OK; /* whoever reads has enough */
            fprintf(stderr, "attend translate: cannot write: %s\n", strerror(errno));
            return ATTEND_IO;
        }
        chunk_clear(&c);
    }
}

static int translate(const settings *s)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)s->beam, o.search.n_best = (int)s->n_best;
    o.search.length_penalty = s->length_penalty, o.search.coverage_penalty = s->coverage_penalty;
    o.search.length_ratio = s->length_ratio, o.search.length_extra = (int)s->length_extra;
    o.threads = (int)s->threads, o.batch_tokens = (int)s->batch_tokens, o.max_words = (int)s->max_words;
    attend_model *m = NULL;
    attend_translator *t = NULL;
    attend_lines *from = NULL;
    FILE *to = stdout;
    int status = attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK) status = attend_translator_new(&t, m, &o);
    if (status == ATTEND_OK) status = attend_lines_open(&from, s->input ? s->input : "-");
    if (status == ATTEND_OK && s->output && !(to = fopen(s->output, "wb"))) {
        fprintf(stderr, "attend translate: %s: %s\n", s->output, strerror(errno));
        status = ATTEND_IO;
    } else if (status != ATTEND_OK) {
        cli_fail(&verb_translate, status);
    } else {
        status = stream(t, from, to, s);
        if (status != ATTEND_OK && status != ATTEND_IO) cli_fail(&verb_translate, status);
    }
    if (to && to != stdout && fclose(to) != 0) status = ATTEND_IO;
    attend_lines_close(from);
    attend_translator_free(t);
    attend_model_free(m);
    return status == ATTEND_NO_MEMORY ? 1 : status;
}

static int run(int argc, char **argv)
{
    settings s = { .beam = 5,
                   .n_best = 1,
                   .length_penalty = 1,
                   .length_ratio = 2,
                   .length_extra = 10,
                   .max_words = 1000,
                   .batch_tokens = 1000 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_translate, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_translate, "'%s' is not understood; text comes from standard input or --input",
                                   p.rest[0]);
        else if (!s.model)
            status = options_wrong(&verb_translate, "--model FILE is missing");
        else if (s.n_best > s.beam)
            status = options_wrong(&verb_translate, "--n-best %lld is more than --beam %lld finds", s.n_best, s.beam);
        else
            status = translate(&s);
    }
    options_free(&verb_translate, &s, &p);
    return status;
}

const verb verb_translate = {
    .name = "translate",
    .summary = "a line in, a line out",
    .synopsis = "attend translate --model FILE [--input FILE] [options]",
    .details = "Translates standard input line by line: as many lines come out, in order, whatever the lines are. An "
               "empty line gives an empty\n"
               "line; so does one that cannot be translated (not UTF-8, too long), with a warning that has its number.",
    .examples = "  attend translate --model en-de < test.en > test.out\n  echo 'a dog runs .' | attend translate "
                "--model en-de --beam 10 --n-best 3\n",
    .options = table,
    .run = run,
};
