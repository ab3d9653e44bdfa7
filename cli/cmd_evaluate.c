/* cmd_evaluate.c: how good are these translations? */
#include "options.h"

#include "text/lines.h"
#include <attend/metric.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *hypothesis, *reference;
    int metric, tokens;
    bool lowercase, json, all;
} settings;

static const char *const metrics[] = { "bleu", "chrf", "chrf++", "ter", "wer", "cer", "exact", "token-accuracy", NULL };
static const char *const tokens[] = { "13a", "none", "char", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "hypothesis", "FILE", "translations, a line each", OPTION_TEXT, AT(hypothesis), 0, 0, NULL },
    { "reference", "FILE", "what they should be", OPTION_TEXT, AT(reference), 0, 0, NULL },
    { "metric", "bleu|chrf|chrf++|ter|wer|cer|exact|token-accuracy", "one score; all of them unless said", OPTION_WORD,
      AT(metric), 0, 0, metrics },
    { "bleu-tokens", "13a|none|char", "how BLEU cuts a line into words", OPTION_WORD, AT(tokens), 0, 0, tokens },
    { "lowercase", NULL, "capitals do not matter", OPTION_FLAG, AT(lowercase), 0, 0, NULL },
    { "json", NULL, "one JSON object", OPTION_FLAG, AT(json), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

enum { KINDS = 8 };

typedef struct scores {
    attend_metric_options options[KINDS];
    attend_metric_sums sums[KINDS];
    bool wanted[KINDS];
    unsigned long long lines;
} scores;

static int add_line(scores *s, const char *hypothesis, const char *reference)
{
    const char *const references[1] = { reference };
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < KINDS; i++)
        if (s->wanted[i]) status = attend_metric_add(&s->options[i], &s->sums[i], hypothesis, references, 1);
    s->lines++;
    return status;
}

/* Both files line by line. */
static int read_both(scores *s, attend_lines *hypotheses, attend_lines *references)
{
    for (;;) {
        const char *text[2];
        size_t size[2];
        int status = attend_lines_next(hypotheses, &text[0], &size[0]);
        if (status == ATTEND_OK) status = attend_lines_next(references, &text[1], &size[1]);
        if (status != ATTEND_OK) return status;
        if (!text[0] && !text[1]) return ATTEND_OK;
        if (!text[0] || !text[1]) {
            fprintf(stderr, "attend evaluate: %s ends at line %llu, and %s goes on: they must have as many lines\n",
                    attend_lines_name(text[0] ? references : hypotheses), s->lines,
                    attend_lines_name(text[0] ? hypotheses : references));
            return -1;
        }
        status = add_line(s, text[0], text[1]);
        if (status != ATTEND_OK) return status;
    }
}

static void print(const scores *s, const settings *o)
{
    if (o->json) printf("{\"lines\": %llu", s->lines);
    for (int i = 0; i < KINDS; i++) {
        char signature[160];
        if (!s->wanted[i]) continue;
        const double score = attend_metric_score(&s->options[i], &s->sums[i]);
        attend_metric_signature(&s->options[i], 1, signature, sizeof signature);
        if (o->json)
            printf(", \"%s\": {\"score\": %.4f, \"signature\": \"%s\"}", metrics[i], score, signature);
        else
            printf("%-15s %6.2f   %s\n", metrics[i], score, signature);
    }
    if (o->json) printf("}\n");
}

static int evaluate(const settings *o, bool all)
{
    scores s = { .lines = 0 };
    for (int i = 0; i < KINDS; i++) {
        s.wanted[i] = all || i == o->metric;
        s.options[i] = (attend_metric_options){ .kind = (attend_metric_kind)i,
                                                .tokens = (attend_bleu_tokens)o->tokens,
                                                .lowercase = o->lowercase };
    }
    attend_lines *hypotheses = NULL, *references = NULL;
    int status = attend_lines_open(&hypotheses, o->hypothesis);
    if (status == ATTEND_OK) status = attend_lines_open(&references, o->reference);
    if (status == ATTEND_OK) status = read_both(&s, hypotheses, references);
    if (status == ATTEND_OK)
        print(&s, o);
    else
        status = status < 0 ? ATTEND_BAD_DATA : cli_fail(&verb_evaluate, status);
    attend_lines_close(hypotheses);
    attend_lines_close(references);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .tokens = 0 };
    parsed p;
    int status = options_parse(&verb_evaluate, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_evaluate, "'%s' is not understood", p.rest[0]);
        else if (!s.hypothesis || !s.reference)
            status = options_wrong(&verb_evaluate, "--hypothesis FILE and --reference FILE are both needed");
        else
            status = evaluate(&s, !options_given(&verb_evaluate, &p, "metric"));
    }
    options_free(&verb_evaluate, &s, &p);
    return status;
}

const verb verb_evaluate = {
    .name = "evaluate",
    .summary = "how good translations are",
    .synopsis = "attend evaluate --hypothesis FILE --reference FILE [--metric NAME] [--lowercase] [--json]",
    .details =
        "BLEU, chrF, TER, errors by word and character, exact match; BLEU, chrF and TER as sacreBLEU computes them.",
    .examples = "  attend evaluate --hypothesis test.out --reference test.de --lowercase\n",
    .options = table,
    .run = run,
};
