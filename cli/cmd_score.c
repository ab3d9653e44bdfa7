/* cmd_score.c: how probable are these targets? */
#include "options.h"
#include "data_files.h"
#include "json_text.h"
#include "pairs_stream.h"
#include "perplexity.h"

#include <attend/scorer.h>
#include <math.h>
#include <unistd.h>

typedef struct settings {
    const char *model;
    pairs_list input;
    long long threads;
    bool per_token, json, quiet;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model made by attend train", OPTION_TEXT, AT(model), 0, 0, NULL },
    { "input", "PAIRS",
      "pairs to score: one .tsv file or two line-aligned files; for a language model, files of text, a sentence a line",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "per-token", NULL, "the log-probability of each piece and of the end behind it", OPTION_FLAG, AT(per_token), 0, 0,
      NULL },
    { "threads", "N", "any number gives the same numbers", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "json", NULL, "a JSON object a line, and one for the whole", OPTION_FLAG, AT(json), 0, 0, NULL },
    { "quiet", NULL, "no summary and no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

typedef struct totals {
    double log_probability;
    unsigned long long pairs, rows, faults;
    bool lines;          /* of a language model, and not pairs */
    perplexity of_lines; /* the same in more units */
} totals;

/* A piece as it stands in the text; the end behind the last. */
static void print_piece(const attend_scored_pair *r, int i)
{
    const attend_span span = i < r->target_count ? r->target_spans[i] : (attend_span){ 0, 0 };
    if (i < r->target_count)
        json_text(stdout, r->target_text + span.begin, (size_t)(span.end - span.begin));
    else
        json_text(stdout, "</s>", 4);
}

static void print_pair(const attend_scored_pair *r, const settings *s, totals *t, unsigned long long number)
{
    if (r->fault) {
        if (s->json)
            printf("{\"fault\": \"%s\"}\n", r->fault);
        else
            printf("nan\n");
        if (!s->quiet)
            fprintf(stderr, "attend score: %s %llu is not scored: %s\n", t->lines ? "line" : "pair", number + 1,
                    r->fault);
        t->faults++;
        return;
    }
    t->log_probability += r->log_probability, t->rows += (unsigned long long)r->rows, t->pairs++;
    printf(s->json ? "{\"log_probability\": %.6f, \"rows\": %d" : "%.6f", r->log_probability, r->rows);
    if (s->json && s->per_token) {
        printf(", \"pieces\": [");
        for (int i = 0; i < r->rows; i++) {
            if (i) printf(", ");
            print_piece(r, i);
        }
        printf("], \"tokens\": [");
    }
    for (int i = 0; s->per_token && i < r->rows; i++)
        printf("%s%.6f", !s->json ? " " : i ? ", " : "", (double)r->row_log_probability[i]);
    if (s->json && s->per_token) printf("]");
    printf(s->json ? "}\n" : "\n");
}

/* The whole: as JSON behind the pairs, else for a person. */
static void print_totals(const totals *t, const settings *s)
{
    const double whole = t->rows ? exp(-t->log_probability / (double)t->rows) : NAN;
    if (t->lines && s->json) {
        printf("{");
        perplexity_json(stdout, &t->of_lines);
        printf("}\n");
    } else if (t->lines) {
        if (!s->quiet) perplexity_print(stderr, &t->of_lines);
    } else if (s->json) {
        printf("{\"pairs\": %llu, \"faults\": %llu, \"rows\": %llu, \"log_probability\": %.6f, \"perplexity\": ",
               t->pairs, t->faults, t->rows, t->log_probability);
        if (isfinite(whole))
            printf("%.4f}\n", whole);
        else
            printf("null}\n");
    } else if (!s->quiet) {
        fprintf(stderr, "%llu pairs, %llu words and ends: log p %.2f, perplexity %.4f", t->pairs, t->rows,
                t->log_probability, whole);
        if (t->faults) fprintf(stderr, "; %llu pairs were not scored", t->faults);
        fprintf(stderr, "\n");
    }
}

static int score(settings *s)
{
    attend_model *m = NULL;
    attend_scorer *scorer = NULL;
    pairs_stream *from = NULL;
    totals t = { 0 };
    int status = attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK) {
        const attend_task task = attend_model_config(m)->task;
        const int wrong = data_settle(&verb_score, "input", &s->input, task);
        t.lines = task == ATTEND_TASK_LANGUAGE_MODEL;
        if (wrong) {
            attend_model_free(m);
            return wrong;
        }
    }
    if (status == ATTEND_OK) status = attend_scorer_new(&scorer, m, (int)s->threads, false);
    if (status == ATTEND_OK) status = pairs_stream_open(&from, &s->input);
    while (status == ATTEND_OK && (status = pairs_stream_next(from)) == ATTEND_OK && from->count > 0) {
        status = attend_scorer_run(scorer, from->count, t.lines ? NULL : (const char *const *)from->sources,
                                   (const char *const *)from->targets);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++) {
            print_pair(attend_scorer_result(scorer, i), s, &t, from->first + (unsigned long long)i);
            perplexity_add(&t.of_lines, attend_scorer_result(scorer, i));
        }
    }
    if (status != ATTEND_OK) status = cli_fail(&verb_score, status);
    if (status == 0) print_totals(&t, s);
    pairs_stream_close(from);
    attend_scorer_free(scorer);
    attend_model_free(m);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .model = NULL };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_score, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_score, "'%s' is not understood; pairs are given by --input", p.rest[0]);
        else if (!s.model || s.input.name_count == 0)
            status = options_wrong(&verb_score, "--model FILE and --input PAIRS are both needed");
        else
            status = score(&s);
    }
    options_free(&verb_score, &s, &p);
    return status;
}

const verb verb_score = {
    .name = "score",
    .summary = "log-probability of each pair, or line",
    .synopsis = "attend score --model FILE --input PAIRS [--per-token] [--json]",
    .details =
        "A line for each pair: the natural logarithm of p(target | source), its end included; with --per-token those "
        "of its pieces behind it.\n"
        "A pair that cannot be scored (an empty side, not UTF-8) is nan. The perplexity of the whole goes to "
        "standard error.\n"
        "For a language model --input has lines of text, whose probabilities they are; the perplexity is then said a "
        "token, a word, a\ncharacter and a byte, the end of a line being one of each (docs/language-models.md).",
    .examples = "  attend score --model en-de --input test.en test.de\n  attend score --model lm --input test.txt\n",
    .options = table,
    .run = run,
};
