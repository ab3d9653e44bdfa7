/* cmd_convert.c: quantises a model, adds a shortlist, or averages several models. */
#include "memory_option.h"
#include "options.h"
#include "plugin_option.h"
#include "score_pairs.h"

#include <attend/processors.h>
#include <attend/shortlist.h>
#include <attend/status.h>
#include <attend/trainer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *output;
    pairs_list shortlist;
    texts_list plugins;
    long long threads, memory, frequent, per_token;
    int precision;
    bool average, quiet;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "the model to convert", OPTION_INPUT, AT(model), 0, 0, NULL },
    { "output", "FILE", "the model to write", OPTION_OUTPUT, AT(output), 0, 0, NULL },
    { "average", NULL,
      "average the weights of the models given as arguments, which must come from one training run: --average "
      "m.update-*",
      OPTION_FLAG, AT(average), 0, 0, NULL },
    { "precision", NULL, "precision of the weight matrices (default: unchanged)", OPTION_CHOICE, AT(precision), 0, 0,
      attend_precision_names },
    { "shortlist", "PAIRS",
      "add a shortlist: align these training pairs by attention and store, for each source token, the target tokens "
      "aligned with it; translate --shortlist predicts only these",
      OPTION_PAIRS, AT(shortlist), 0, 0, NULL },
    { "frequent", "N", "number of most frequent target tokens on every shortlist", OPTION_INTEGER, AT(frequent), 0, 1e6,
      NULL },
    { "per-token", "N", "maximum number of target tokens for each source token", OPTION_INTEGER, AT(per_token), 1, 1e6,
      NULL },
    { "threads", "N",
      "number of threads for the shortlist; does not change it (default: one per physical core that this process may "
      "use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    MEMORY_OPTION(AT(memory), MEMORY_OF_LINES),
    PLUGIN_OPTION(AT(plugins)),
    { "quiet", NULL, "print no progress and no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static const option_alias aliases[] = {
    { "per-token", "per-word", NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

/* Whether target token t is aligned with source token j: by the highest weight, or by at least min_weight. */
static bool is_aligned(const attend_scored_pair *s, int t, int j)
{
    const double min_weight = 0.1;
    const attend_real *w = s->weights + (size_t)t * (size_t)s->source_count;
    if ((double)w[j] >= min_weight) return true;
    for (int i = 0; i < s->source_count; i++)
        if (w[i] > w[j] || (w[i] == w[j] && i < j)) return false;
    return true;
}

/* Adds all tokens of a target word for each source token that one of them is aligned with. */
static int count_pair(attend_shortlist *list, const attend_scored_pair *s)
{
    int *words = malloc(((size_t)s->target_count + 1) * sizeof *words), status = ATTEND_OK;
    if (!words) return attend_fail(ATTEND_NO_MEMORY, "out of memory counting the tokens of a shortlist");
    attend_words_of_spans(s->target_text, strlen(s->target_text), s->target_spans, s->target_count, words);
    for (int first = 0, last; first < s->target_count && status == ATTEND_OK; first = last) {
        for (last = first + 1; last < s->target_count && words[last] >= 0 && words[last] == words[first];) last++;
        for (int j = 0; j < s->source_count; j++) {
            bool aligned = false;
            for (int t = first; t < last; t++) aligned |= is_aligned(s, t, j);
            for (int t = first; aligned && t < last && status == ATTEND_OK; t++)
                status = attend_shortlist_add(list, s->source[j], s->target[t]);
        }
        for (int t = first; t < last && status == ATTEND_OK; t++) status = attend_shortlist_count(list, s->target[t]);
    }
    free(words);
    return status;
}

typedef struct visitor {
    attend_shortlist *list;
    unsigned long long used;
    double max_bytes; /* of the list */
    bool progress;    /* on a terminal */
    bool quiet;
} visitor;

static int visit(void *user, const attend_scored_pair *pair, unsigned long long index)
{
    enum { PROGRESS_EVERY = 1024 }; /* pairs */
    visitor *x = user;
    if (x->progress && index % PROGRESS_EVERY == 0) attend_print(stderr, "\r%llu pairs aligned", x->used);
    if (pair->fault && !x->quiet)
        attend_print(stderr,
                     x->progress ? "\rattend convert: pair %llu is left out: %s\n"
                                 : "attend convert: pair %llu is left out: %s\n",
                     index + 1, pair->fault);
    if (pair->fault || !pair->weights) return ATTEND_OK;
    x->used++;
    const int status = count_pair(x->list, pair);
    if (status != ATTEND_OK || (double)attend_shortlist_bytes(x->list) <= x->max_bytes) return status;
    return attend_fail(
        ATTEND_NO_MEMORY,
        "the alignments of %llu pairs take more than the memory limit: raise --memory, or give fewer pairs", x->used);
}

static int make_shortlist(attend_model *m, const settings *s)
{
    const attend_config *config = attend_model_config(m);
    const size_t memory = memory_limit(s->memory);
    visitor x = { .progress = !s->quiet && isatty(STDERR_FILENO), .quiet = s->quiet };
    x.max_bytes = memory ? (double)memory / 2 : INFINITY; /* the other half is for scoring */
    const score_options o = { .threads = s->threads, .memory = (long long)(memory - memory / 2), .weights = true };
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) == 0)
        return attend_fail(ATTEND_BAD_USAGE, "--shortlist aligns words by attention, but %s %s",
                           s->average ? "the average" : s->model,
                           config->task == ATTEND_TASK_LANGUAGE_MODEL ? "is a language model and has no source"
                                                                      : "has no attention");
    int status = attend_shortlist_new(&x.list, config->source_vocab, config->target_vocab);
    if (status == ATTEND_OK) status = score_pairs(m, &s->shortlist, &o, visit, &x);
    if (!s->quiet && x.used > 0)
        attend_print(stderr, x.progress ? "\r%llu pairs aligned\n" : "%llu pairs aligned\n", x.used);
    if (status == ATTEND_OK) status = attend_shortlist_attach(x.list, m, (int)s->frequent, (int)s->per_token);
    attend_shortlist_free(x.list);
    return status;
}

/* The output replaces a model, or a file that does not exist or is empty, and nothing else. */
static int check_output(const char *path)
{
    struct stat file;
    bool is_checkpoint = false;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size == 0) return ATTEND_OK;
    const int status = attend_is_checkpoint(path, &is_checkpoint);
    if (status == ATTEND_BAD_MODEL)
        return attend_fail(ATTEND_BAD_USAGE, "--output %s exists and is not a model; choose another output file", path);
    if (status == ATTEND_OK && is_checkpoint)
        return attend_fail(ATTEND_BAD_USAGE,
                           "--output %s is a checkpoint, from which training resumes; choose another output file",
                           path);
    return status;
}

static int convert(const settings *s, const parsed *p, bool quantize)
{
    attend_model *m = NULL;
    int status = check_output(s->output);
    if (status == ATTEND_OK)
        status = s->average ? attend_models_average(&m, p->positional, p->positional_count)
                            : attend_model_load(&m, s->model, NULL);
    bool has_text;
    if (status == ATTEND_OK) status = attend_model_check_text(m, &has_text);
    if (status == ATTEND_OK && s->shortlist.count > 0 && attend_model_member_count(m) > 1)
        status = attend_fail(ATTEND_BAD_USAGE, "%s is an ensemble, which cannot use a shortlist", s->model);
    if (status == ATTEND_OK && s->shortlist.count > 0) status = make_shortlist(m, s);
    if (status == ATTEND_OK && quantize) status = attend_model_quantize(m, (attend_precision)s->precision);
    if (status == ATTEND_OK) status = attend_model_save(m, s->output);
    attend_model_free(m);
    return status == ATTEND_OK ? 0 : cli_fail(&verb_convert, status);
}

static const void *defaults(void)
{
    static settings s;
    s = (settings){
        .frequent = 100, .per_token = 100, .threads = attend_processors_threads(), .memory = MEMORY_DEFAULT
    };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    int status = options_parse(&verb_convert, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        const bool quantize = options_given(&verb_convert, &p, "precision");
        if (s.average && s.model)
            status = usage_error(&verb_convert, "--average takes its models as arguments; leave out --model");
        else if (s.average && p.positional_count < 2)
            status = usage_error(&verb_convert, "--average requires at least two models: --average m.update-*");
        else if (!s.average && p.positional_count > 0)
            status = usage_error(&verb_convert, "unexpected argument '%s'", p.positional[0]);
        else if ((!s.model && !s.average) || !s.output)
            status = usage_error(&verb_convert, "%s FILE is required", s.model || s.average ? "--output" : "--model");
        else if (!s.average && !quantize && s.shortlist.count == 0)
            status = usage_error(&verb_convert, "nothing to do: give --precision, --shortlist or --average");
        else
            status = convert(&s, &p, quantize);
    }
    options_free(&verb_convert, &s, &p);
    return status;
}

const verb verb_convert = {
    .name = "convert",
    .summary = "quantise a model, add a shortlist, or average models",
    .synopsis = "attend convert --model FILE | --average FILE... --output FILE [--precision int8] [--shortlist PAIRS]",
    .details = "--precision quantises the weight matrices; the resulting model is smaller and faster, but cannot be\n"
               "trained further. --shortlist stores which target tokens are likely translations of each source token,\n"
               "which makes translation faster. --average first averages several models of one training run.",
    .examples = "  attend convert --model en-de --output en-de.int8 --precision int8\n"
                "  attend convert --average en-de.update-* --output en-de.average\n"
                "  attend convert --model en-de --output en-de.fast --precision int8 --shortlist train.en train.de\n",
    .options = table,
    .defaults = defaults,
    .arguments_are_inputs = true,
    .aliases = aliases,
    .run = run,
};
