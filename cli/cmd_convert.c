/* cmd_convert.c: several models averaged to one; a model in fewer bits, or with a shortlist taken from aligned pairs. */
#include "options.h"
#include "pairs_stream.h"

#include <attend/scorer.h>
#include <attend/shortlist.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *output;
    pairs_list shortlist;
    long long threads, frequent, per_word;
    int precision;
    bool average, quiet;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model made by attend train", OPTION_TEXT, AT(model), 0, 0, NULL },
    { "output", "FILE", "the model to make", OPTION_TEXT, AT(output), 0, 0, NULL },
    { "average", NULL, "the mean of the models named besides, the last ones of a training: --average m.update-*",
      OPTION_FLAG, AT(average), 0, 0, NULL },
    { "precision", "fp32|bf16|int8", "bits of its matrices; as they are unless said", OPTION_WORD, AT(precision), 0, 0,
      precision_words },
    { "shortlist", "PAIRS",
      "training pairs: attention says which target words come of which source words, and translate --shortlist then "
      "looks at "
      "those alone",
      OPTION_PAIRS, AT(shortlist), 0, 0, NULL },
    { "frequent", "N", "target words that are on every sentence's list: the most frequent", OPTION_WHOLE, AT(frequent),
      0, 1e6, NULL },
    { "per-word", "N", "target words that a source word brings at most", OPTION_WHOLE, AT(per_word), 1, 1e6, NULL },
    { "threads", "N", "for the shortlist; any number gives the same", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "quiet", NULL, "no progress", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* Whether piece t of the target looks at piece j of the source: most, or at least so much. */
static bool looks_at(const attend_scored_pair *s, int t, int j)
{
    const double looked_at = 0.1;
    const attend_real *w = s->weights + (size_t)t * (size_t)s->source_count;
    if ((double)w[j] >= looked_at) return true;
    for (int i = 0; i < s->source_count; i++)
        if (w[i] > w[j] || (w[i] == w[j] && i < j)) return false;
    return true;
}

/* Whether a piece of the target begins a word. */
static bool begins_word(const attend_scored_pair *s, int t)
{
    const int at = s->target_spans[t].begin;
    return at == 0 || s->target_text[at] == ' ' || s->target_text[at - 1] == ' ';
}

/* What one piece of a word looks at brings the whole word. */
static int count_pair(attend_shortlist *list, const attend_scored_pair *s)
{
    int status = ATTEND_OK;
    for (int first = 0, last; first < s->target_count && status == ATTEND_OK; first = last) {
        for (last = first + 1; last < s->target_count && !begins_word(s, last);) last++;
        for (int j = 0; j < s->source_count; j++) {
            bool aligned = false;
            for (int t = first; t < last; t++) aligned |= looks_at(s, t, j);
            for (int t = first; aligned && t < last && status == ATTEND_OK; t++)
                status = attend_shortlist_add(list, s->source[j], s->target[t]);
        }
        for (int t = first; t < last && status == ATTEND_OK; t++) status = attend_shortlist_count(list, s->target[t]);
    }
    return status;
}

static int make_shortlist(attend_model *m, const settings *s)
{
    const attend_config *config = attend_model_config(m);
    attend_shortlist *list = NULL;
    attend_scorer *scorer = NULL;
    pairs_stream *from = NULL;
    if (attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) == 0) {
        fprintf(stderr, "attend convert: %s %s, so that it cannot say which words come of which\n",
                s->average ? "the average" : s->model,
                config->task == ATTEND_TASK_LANGUAGE_MODEL ? "is a language model, which has no source"
                                                           : "has no attention");
        return -1;
    }
    int status = attend_shortlist_new(&list, config->source_vocab, config->target_vocab);
    if (status == ATTEND_OK) status = attend_scorer_new(&scorer, m, (int)s->threads, true);
    if (status == ATTEND_OK) status = pairs_stream_open(&from, &s->shortlist);
    unsigned long long used = 0;
    while (status == ATTEND_OK && (status = pairs_stream_next(from)) == ATTEND_OK && from->count > 0) {
        status = attend_scorer_run(scorer, from->count, (const char *const *)from->sources,
                                   (const char *const *)from->targets);
        for (int i = 0; i < from->count && status == ATTEND_OK; i++) {
            const attend_scored_pair *pair = attend_scorer_result(scorer, i);
            if (pair->fault || !pair->weights) continue;
            status = count_pair(list, pair);
            used++;
        }
        if (!s->quiet && isatty(2)) fprintf(stderr, "\r%llu pairs aligned", used);
    }
    if (!s->quiet && used > 0) fprintf(stderr, "%s%llu pairs aligned\n", isatty(2) ? "\r" : "", used);
    if (status == ATTEND_OK) status = attend_shortlist_attach(list, m, (int)s->frequent, (int)s->per_word);
    pairs_stream_close(from);
    attend_scorer_free(scorer);
    attend_shortlist_free(list);
    return status;
}

static int convert(const settings *s, const parsed *p, bool shorten)
{
    attend_model *m = NULL;
    int status = s->average ? attend_models_average(&m, p->rest, p->rest_count) : attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK && s->shortlist.count > 0) status = make_shortlist(m, s);
    if (status == ATTEND_OK && shorten) status = attend_model_quantize(m, (attend_precision)s->precision);
    if (status == ATTEND_OK) status = attend_model_save(m, s->output);
    attend_model_free(m);
    return status == -1 ? ATTEND_BAD_USAGE : status == ATTEND_OK ? 0 : cli_fail(&verb_convert, status);
}

static int run(int argc, char **argv)
{
    settings s = { .frequent = 100, .per_word = 100 };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_convert, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        const bool shorten = options_given(&verb_convert, &p, "precision");
        if (s.average && s.model)
            status = options_wrong(&verb_convert, "--average has its models behind it, without --model");
        else if (s.average && p.rest_count < 2)
            status = options_wrong(&verb_convert, "--average needs two models at least: --average m.update-*");
        else if (!s.average && p.rest_count > 0)
            status = options_wrong(&verb_convert, "'%s' is not understood", p.rest[0]);
        else if ((!s.model && !s.average) || !s.output)
            status = options_wrong(&verb_convert, "%s FILE is missing", s.model || s.average ? "--output" : "--model");
        else if (!s.average && !shorten && s.shortlist.count == 0)
            status = options_wrong(&verb_convert, "nothing to do: give --precision, --shortlist, both, or --average");
        else
            status = convert(&s, &p, shorten);
    }
    options_free(&verb_convert, &s, &p);
    return status;
}

const verb verb_convert = {
    .name = "convert",
    .summary = "make a model smaller and faster, or one of several",
    .synopsis = "attend convert --model FILE | --average FILES.. --output FILE [--precision int8] [--shortlist PAIRS]",
    .details =
        "Keeps the matrices of a model in fewer bits (it can then be used, and not trained any more), or adds a "
        "shortlist of the "
        "target\nwords that may come of each source word, or both. Of several models of one training, makes their "
        "average first.",
    .examples = "  attend convert --model en-de --output en-de.int8 --precision int8\n"
                "  attend convert --average en-de.update-* --output en-de.average\n"
                "  attend convert --model en-de --output en-de.fast --precision int8 --shortlist train.en train.de\n",
    .options = table,
    .run = run,
};
