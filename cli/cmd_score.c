/* cmd_score.c: log-probabilities of given targets. */
#include "options.h"
#include "device_option.h"
#include "compute_option.h"
#include "plugin_option.h"
#include "data_files.h"
#include "job.h"
#include "json_members.h"
#include "memory_option.h"
#include "perplexity.h"
#include "score_pairs.h"

#include <attend/processors.h>
#include <math.h>

typedef struct settings {
    const char *model, *device;
    pairs_list input;
    texts_list plugins;
    long long threads, memory, rank_timeout;
    int compute;
    bool per_token, json, quiet, mixed_ranks;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "the model", OPTION_INPUT, AT(model), 0, 0, NULL },
    { "input", "PAIRS",
      "pairs to score: one .tsv file or two line-aligned files; for a language model, files with one sentence per line",
      OPTION_DATA, AT(input), 0, 0, NULL },
    { "per-token", NULL, "also print the log-probability of each token, end token included", OPTION_FLAG, AT(per_token),
      0, 0, NULL },
    { "threads", "N",
      "number of threads; does not change the scores (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    DEVICE_OPTION(AT(device)),
    MEMORY_OPTION(AT(memory), MEMORY_OF_LINES),
    COMPUTE_OPTION(AT(compute)),
    { "json", NULL, "print one JSON object per pair, and one for the totals", OPTION_FLAG, AT(json), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    RANK_TIMEOUT_OPTION(AT(rank_timeout)),
    MIXED_RANKS_OPTION(AT(mixed_ranks), "a score"),
    { "quiet", NULL, "print no warnings and no summary", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

typedef struct totals {
    double log_probability;
    unsigned long long pairs, rows, faults; /* rows: target tokens, end tokens included */
    bool is_language_model;                 /* lines, not pairs */
    perplexity lines;                       /* of a language model: in several units */
} totals;

/* {"log_probability": x, "rows": n, "pieces": [...], "tokens": [...]}: the tokens as text, and their
 * log-probabilities. */
static void print_pair_json(const attend_scored_pair *r, bool per_token)
{
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_number(&w, "log_probability", 6, r->log_probability);
    json_integer(&w, "rows", r->rows);
    if (per_token) {
        json_begin_array(&w, "pieces");
        for (int i = 0; i < r->target_count; i++)
            attend_json_put_bytes(&w, r->target_text + r->target_spans[i].begin,
                                  (size_t)(r->target_spans[i].end - r->target_spans[i].begin));
        attend_json_put_text(&w, "</s>");
        attend_json_end_array(&w);
        json_begin_array(&w, "tokens");
        for (int i = 0; i < r->rows; i++) attend_json_put_number(&w, 6, (double)r->row_log_probability[i]);
        attend_json_end_array(&w);
    }
    json_end_line(&w);
}

static void print_fault(const attend_scored_pair *r, const settings *s, const totals *t, unsigned long long number)
{
    if (s->json)
        json_print_fault(stdout, r->fault);
    else
        attend_print(stdout, "nan\n");
    if (!s->quiet)
        attend_print(stderr, "attend score: %s %llu is not scored: %s\n", t->is_language_model ? "line" : "pair",
                     number + 1, r->fault);
}

static void print_pair(const attend_scored_pair *r, const settings *s, totals *t, unsigned long long number)
{
    if (r->fault) {
        print_fault(r, s, t, number);
        t->faults++;
        return;
    }
    t->log_probability += r->log_probability, t->rows += (unsigned long long)r->rows, t->pairs++;
    if (s->json) {
        print_pair_json(r, s->per_token);
        return;
    }
    attend_print(stdout, "%.6f", r->log_probability);
    for (int i = 0; s->per_token && i < r->rows; i++) attend_print(stdout, " %.6f", (double)r->row_log_probability[i]);
    attend_print(stdout, "\n");
}

static void print_totals_json(const totals *t, double perplexity_of_pairs)
{
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    if (t->is_language_model) {
        perplexity_json(&w, &t->lines);
    } else {
        json_integer(&w, "pairs", (long long)t->pairs);
        json_integer(&w, "faults", (long long)t->faults);
        json_integer(&w, "rows", (long long)t->rows);
        json_number(&w, "log_probability", 6, t->log_probability);
        json_number(&w, "perplexity", 4, perplexity_of_pairs);
    }
    json_end_line(&w);
}

/* The totals: as JSON after the pairs, or as a summary on standard error. */
static void print_totals(const totals *t, const settings *s)
{
    const double perplexity_of_pairs = t->rows ? exp(-t->log_probability / (double)t->rows) : NAN;
    if (s->json) {
        print_totals_json(t, perplexity_of_pairs);
    } else if (t->is_language_model && !s->quiet) {
        perplexity_print(stderr, &t->lines);
    } else if (!s->quiet) {
        char text[PERPLEXITY_TEXT];
        attend_print(stderr, "%llu pair%s, %llu target tokens (end tokens included): log p %.2f, perplexity %s",
                     t->pairs, t->pairs == 1 ? "" : "s", t->rows, t->log_probability,
                     perplexity_text(text, 4, perplexity_of_pairs));
        if (t->faults) attend_print(stderr, "; %llu pair%s not scored", t->faults, t->faults == 1 ? "" : "s");
        attend_print(stderr, "\n");
    }
}

typedef struct visitor {
    const settings *s;
    totals t;
} visitor;

static int visit(void *user, const attend_scored_pair *r, unsigned long long index)
{
    visitor *x = user;
    print_pair(r, x->s, &x->t, index);
    perplexity_add(&x->t.lines, r);
    return ATTEND_OK;
}

static int score(settings *s)
{
    attend_model *m = NULL;
    visitor x = { .s = s };
    int status = attend_model_load(&m, s->model, NULL), usage = 0;
    if (status == ATTEND_OK)
        status = job_check(&verb_score, s, &(job_file){ .what = "model", .path = s->model }, 1, s->mixed_ranks);
    if (status == ATTEND_OK) {
        const attend_task task = attend_model_config(m)->task;
        x.t.is_language_model = task == ATTEND_TASK_LANGUAGE_MODEL;
        usage = data_files_resolve(&verb_score, "input", &s->input, task);
    }
    const score_options o = { .threads = s->threads, .memory = s->memory, .compute = s->compute, .answers = true };
    if (status == ATTEND_OK && usage == 0 && !s->quiet) compute_option_note(&verb_score, s->compute);
    if (status == ATTEND_OK && usage == 0) status = score_pairs(m, &s->input, &o, visit, &x);
    attend_model_free(m);
    if (status != ATTEND_OK) return cli_fail(&verb_score, status);
    if (usage == 0) print_totals(&x.t, s);
    return usage == 0 ? perplexity_check(&verb_score, &x.t.lines, s->model) : usage;
}

static int check_and_score(settings *s, const parsed *p)
{
    if (p->positional_count > 0)
        return usage_error(&verb_score, "unexpected argument '%s'; give pairs with --input", p->positional[0]);
    if (!s->model || s->input.name_count == 0)
        return usage_error(&verb_score, "--model FILE and --input PAIRS are both required");
    const int status =
        device_option_use(&verb_score, p, &(device_choice){ s->device, &s->compute, &s->threads, NULL, s->quiet });
    return status == 0 ? score(s) : status;
}

static int run(int argc, char **argv)
{
    settings s = { .threads = attend_processors_threads(), .memory = MEMORY_DEFAULT, .rank_timeout = RANK_TIMEOUT };
    parsed p;
    job_begin();
    int status = options_parse(&verb_score, &s, argc, argv, &p);
    if (!p.help) {
        status = job_join(&verb_score, s.rank_timeout, status);
        if (!options_given(&verb_score, &p, "threads")) s.threads = job_threads();
        if (status == 0) status = check_and_score(&s, &p);
        status = job_end(&verb_score, status);
    }
    options_free(&verb_score, &s, &p);
    return status;
}

const verb verb_score = {
    .name = "score",
    .summary = "compute the log-probability of each pair or line",
    .synopsis = "attend score --model FILE --input PAIRS [--per-token] [--json]",
    .details =
        "Prints one line per pair: the natural logarithm of p(target | source), end token included, followed by\n"
        "those of the tokens if --per-token is given. A pair that cannot be scored (an empty side, text that is not\n"
        "UTF-8) gives nan. The perplexity of all pairs is printed to standard error. If the model's computation\n"
        "overflows for a pair, the status is 1.\n"
        "A language model scores lines of text; its perplexity is given per token, word, character and byte, counting\n"
        "the end of each line as one unit (docs/language-models.md).",
    .examples = "  attend score --model en-de --input test.en test.de\n  attend score --model lm --input test.txt\n",
    .options = table,
    .run = run,
};
