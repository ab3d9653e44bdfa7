/* cmd_convert.c: quantises a model, adds a shortlist, or averages several models. */
#include "memory_option.h"
#include "options.h"
#include "plugin_option.h"
#include "shortlist_pairs.h"

#include <attend/file.h>
#include <attend/processors.h>
#include <attend/shortlist.h>
#include <attend/status.h>
#include <limits.h>
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
    { "output", "FILE", "the model to write", OPTION_FILE, AT(output), 0, 0, NULL },
    { "average", NULL,
      "average the weights of the models given as arguments, which must come from one training run: --average "
      "m.update-*",
      OPTION_FLAG, AT(average), 0, 0, NULL },
    { "precision", NULL, "precision of the weight matrices (default: unchanged)", OPTION_CHOICE, AT(precision), 0, 0,
      attend_precision_names },
    { "shortlist", "PAIRS",
      "add a shortlist: align these training pairs by the word aligner and store, for each source token, the target "
      "tokens aligned with it; translate --shortlist predicts only these",
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

static int make_shortlist(attend_model *m, const settings *s)
{
    const attend_config *config = attend_model_config(m);
    const shortlist_options o = { .threads = (int)s->threads, .memory = memory_limit(s->memory), .quiet = s->quiet };
    attend_shortlist *list = NULL;
    if (config->task == ATTEND_TASK_LANGUAGE_MODEL)
        return attend_fail(ATTEND_BAD_USAGE, "%s is a language model and has no source, on which a shortlist depends",
                           s->average ? "the average" : s->model);
    int status = attend_shortlist_new(&list, config->source_vocab, config->target_vocab);
    if (status == ATTEND_OK) status = shortlist_count_pairs(list, m, &s->shortlist, &o);
    if (status == ATTEND_OK) status = attend_shortlist_attach(list, m, (int)s->frequent, (int)s->per_token);
    attend_shortlist_free(list);
    return status;
}

/* A model with a checkpoint beside it is that of a training, whose work another model would replace. Training itself
 * asks for --fresh. A model may be converted in place. */
static int check_is_not_trained(const settings *s, const parsed *p)
{
    char checkpoint[PATH_MAX];
    const int length = snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", s->output);
    if (length >= (int)sizeof checkpoint || access(s->output, F_OK) != 0 || access(checkpoint, F_OK) != 0)
        return ATTEND_OK;
    const attend_file_identity output = attend_file_identify(s->output);
    for (int i = 0; i < p->positional_count || (i == 0 && s->model); i++) {
        const attend_file_identity input = attend_file_identify(s->model ? s->model : p->positional[i]);
        if (attend_file_is_same(&output, &input)) return ATTEND_OK;
    }
    return attend_fail(ATTEND_BAD_USAGE,
                       "--output %s is the model of another training, whose checkpoint is %s: choose another output "
                       "file, or move the model",
                       s->output, checkpoint);
}

/* Bytes of a model file; 0: unknown, and loading it says why. */
static double size_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) ? (double)file.st_size : 0;
}

/* --memory, if it is given, before anything is loaded. Quantisation has the model and, at least, a quarter of it in
 * 8 bits; an average has itself, the first model and one more. The word aligner of a shortlist has a limit of its own
 * (make_shortlist). */
static int check_memory(const settings *s, const parsed *p, bool quantize)
{
    enum { PROGRAM = 16 << 20 };
    const double limit = (double)memory_limit(s->memory), mebibyte = 1 << 20;
    double largest = s->model ? size_of(s->model) : 0;
    for (int i = 0; s->average && i < p->positional_count; i++) largest = fmax(largest, size_of(p->positional[i]));
    const double needed = PROGRAM + largest * (s->average ? 3 : 1.25);
    if (!options_given(&verb_convert, p, "memory") || (!quantize && !s->average) || limit == 0 || needed <= limit)
        return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s takes at least %.0fM, and the memory limit is %.0f%c: raise it",
                       s->average ? "the average" : "quantising the model", ceil(needed / mebibyte),
                       limit < mebibyte ? limit / 1024 : limit / mebibyte, limit < mebibyte ? 'k' : 'M');
}

static int convert(const settings *s, const parsed *p, bool quantize)
{
    attend_model *m = NULL;
    int status = check_is_not_trained(s, p);
    if (status == ATTEND_OK) status = check_memory(s, p, quantize);
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

static attend_content content(const void *from, const option *o)
{
    (void)from, (void)o;
    return ATTEND_CONTENT_MODEL;
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
            status = usage_error(&verb_convert, "unexpected argument '%s'; give a model with --model", p.positional[0]);
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
    .content = content,
    .aliases = aliases,
    .run = run,
};
