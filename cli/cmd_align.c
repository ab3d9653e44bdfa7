/* cmd_align.c: which word comes from which? Attention of a model that is made to say given targets, as links between words. */
#include "options.h"
#include "align_maps.h"
#include "gold_links.h"
#include "json_text.h"
#include "pairs_stream.h"

#include "core/status.h"
#include <attend/scorer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *reverse_model, *gold;
    pairs_list input;
    long long threads, layer, head;
    int kind, symmetry;
    bool layer_given, head_given;
    bool pieces, maps, choose, json, quiet;
    bool every; /* way of two models, against gold */
} settings;

static const char *const kinds[] = { "hard", "soft", NULL };
static const char *const symmetries[] = { "intersection",        "union", "grow-diag", "grow-diag-final",
                                          "grow-diag-final-and", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model with attention", OPTION_TEXT, AT(model), 0, 0, NULL },
    { "reverse-model", "FILE", "one that translates the targets to the sources; alone, or with --model", OPTION_TEXT,
      AT(reverse_model), 0, 0, NULL },
    { "symmetrize", "intersection|union|grow-diag|grow-diag-final|grow-diag-final-and",
      "how the links of two models become one alignment; grow-diag-final-and unless said", OPTION_WORD, AT(symmetry), 0,
      0, symmetries },
    { "input", "PAIRS", "pairs to align: one .tsv file or two line-aligned files", OPTION_PAIRS, AT(input), 0, 0,
      NULL },
    { "alignment", "hard|soft", "the word looked at most, or all weights between words as JSON", OPTION_WORD, AT(kind),
      0, 0, kinds },
    { "pieces", NULL, "soft ones between pieces of words and ends, as the model has them", OPTION_FLAG, AT(pieces), 0,
      0, NULL },
    { "layer", "N", "align by this layer, from 0; -1: the mean of all; as the model has it unless given", OPTION_WHOLE,
      AT(layer), -1, 1000, NULL },
    { "head", "N", "align by this head, from 0; -1: the mean of all, and so with --layer alone", OPTION_WHOLE, AT(head),
      -1, 1000, NULL },
    { "maps", NULL,
      "how well every layer and head aligns, instead of links: by --gold, or by IBM Model 1 on these pairs",
      OPTION_FLAG, AT(maps), 0, 0, NULL },
    { "choose", NULL, "the same, and the model aligns by the best from now on: it is kept in its file", OPTION_FLAG,
      AT(choose), 0, 0, NULL },
    { "gold", "FILE",
      "links that are right: prints the alignment error instead (a line a pair, \"0-0 1?2\", or lines of \"pair source "
      "target S|P\" from 1)",
      OPTION_TEXT, AT(gold), 0, 0, NULL },
    { "threads", "N", "any number gives the same links", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { "json", NULL, "a JSON object a pair, or one for the alignment error", OPTION_FLAG, AT(json), 0, 0, NULL },
    { "quiet", NULL, "no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* Links of the first model, of the second, and of both by each rule. */
enum { THERE, BACK, TOGETHER, WAYS = TOGETHER + ATTEND_GROW_DIAG_FINAL_AND + 1 };

typedef struct job {
    const settings *s;
    attend_model *models[2];
    attend_scorer *scorers[2];
    attend_word_link *links[3]; /* there, back, together */
    int counts[3], room;
    gold_links gold;
    attend_aer_sums sums[WAYS];
} job;

/* ---- links of a pair ---- */

static int take_room(job *j, int words)
{
    if (words <= j->room) return ATTEND_OK;
    for (int i = 0; i < 3; i++) {
        attend_word_link *larger = realloc(j->links[i], 2 * (size_t)words * sizeof *larger);
        if (!larger) return attend_fail(ATTEND_NO_MEMORY, "no memory for the links of %d words", words);
        j->links[i] = larger;
    }
    j->room = words;
    return ATTEND_OK;
}

static int find_links(job *j, int pair)
{
    for (int d = 0; d < 2; d++) {
        j->counts[d] = 0;
        if (!j->scorers[d]) continue;
        const attend_scored_pair *r = attend_scorer_result(j->scorers[d], pair);
        const int status = take_room(j, r->source_count + r->target_count + 1);
        if (status != ATTEND_OK) return status;
        j->counts[d] = attend_scorer_links(r, j->links[d], j->room);
        for (int i = 0; d == BACK && i < j->counts[d]; i++) {
            attend_word_link *l = &j->links[d][i];
            *l = (attend_word_link){ .source = l->target, .target = l->source, .sure = l->sure };
        }
    }
    return ATTEND_OK;
}

static int unite(job *j, attend_symmetrization how)
{
    return attend_symmetrize(how, j->links[THERE], j->counts[THERE], j->links[BACK], j->counts[BACK],
                             j->links[TOGETHER], &j->counts[TOGETHER]);
}

/* Which of a job's ways of linking is the one asked for. */
static int way_of(const settings *s)
{
    return s->model && s->reverse_model ? TOGETHER + s->symmetry : s->model ? THERE : BACK;
}

static int add_errors(job *j, unsigned long long number)
{
    const attend_word_link *gold;
    const int count = gold_links_of(&j->gold, number, &gold), asked = way_of(j->s);
    int status = ATTEND_OK;
    for (int way = 0; status == ATTEND_OK && way < WAYS; way++) {
        if (way != asked && !j->s->every) continue;
        const int list = way < TOGETHER ? way : TOGETHER;
        if (list == TOGETHER) status = unite(j, (attend_symmetrization)(way - TOGETHER));
        if (status == ATTEND_OK) status = attend_aer_add(&j->sums[way], j->links[list], j->counts[list], gold, count);
    }
    return status;
}

/* ---- what is printed ---- */

static void print_links(const job *j, int list)
{
    const char *const form[2] = { "%s%d-%d", "%s[%d, %d]" };
    if (j->s->json) printf("{\"links\": [");
    for (int i = 0; i < j->counts[list]; i++)
        printf(form[j->s->json], i ? (j->s->json ? ", " : " ") : "", j->links[list][i].source,
               j->links[list][i].target);
    printf(j->s->json ? "]}\n" : "\n");
}

/* The words of a side, as blanks separate them. */
static void print_words(const char *name, const char *text)
{
    printf("\"%s\": [", name);
    for (int n = 0; *(text += strspn(text, " \t")); n++) {
        const size_t size = strcspn(text, " \t");
        if (n) printf(", ");
        json_text(stdout, text, size);
        text += size;
    }
    printf("], ");
}

static void print_pieces(const char *name, const char *text, const attend_span *spans, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++) {
        if (i) printf(", ");
        json_text(stdout, text + spans[i].begin, (size_t)(spans[i].end - spans[i].begin));
    }
    printf("%s\"</s>\"], ", count ? ", " : "");
}

static void print_row(const double *weights, const attend_real *pieces, int count)
{
    printf("[");
    for (int j = 0; j < count; j++) printf("%s%.5f", j ? ", " : "", weights ? weights[j] : (double)pieces[j]);
    printf("]");
}

static int print_soft(const attend_scored_pair *r, bool pieces)
{
    int sources, targets;
    attend_scorer_word_counts(r, &sources, &targets);
    double *weights = calloc((size_t)sources * (size_t)targets + 1, sizeof *weights);
    if (!weights) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d words", sources);
    printf("{");
    if (pieces) {
        print_pieces("source", r->source_text, r->source_spans, r->source_count - 1);
        print_pieces("target", r->target_text, r->target_spans, r->target_count);
    } else {
        attend_scorer_word_weights(r, weights);
        print_words("source", r->source_text);
        print_words("target", r->target_text);
    }
    printf("\"weights\": [");
    for (int i = 0; i < (pieces ? r->rows : targets); i++) {
        if (i) printf(", ");
        if (pieces)
            print_row(NULL, r->weights + (size_t)i * (size_t)r->source_count, r->source_count);
        else
            print_row(weights + (size_t)i * (size_t)sources, NULL, sources);
    }
    printf("]}\n");
    free(weights);
    return ATTEND_OK;
}

static int one_pair(job *j, int pair, unsigned long long number)
{
    const settings *s = j->s;
    const attend_scored_pair *r = attend_scorer_result(j->scorers[s->model ? THERE : BACK], pair);
    if (r->fault && !s->quiet) fprintf(stderr, "attend align: pair %llu is not aligned: %s\n", number + 1, r->fault);
    if (r->fault && !s->gold && (s->json || s->kind == 1)) {
        printf("{\"fault\": \"%s\"}\n", r->fault);
        return ATTEND_OK;
    }
    if (s->kind == 1 && !s->gold) return print_soft(r, s->pieces);
    int status = find_links(j, pair);
    if (status == ATTEND_OK && s->gold) return add_errors(j, number);
    const int way = way_of(s);
    if (status == ATTEND_OK && way >= TOGETHER) status = unite(j, (attend_symmetrization)(way - TOGETHER));
    if (status == ATTEND_OK) print_links(j, way < TOGETHER ? way : TOGETHER);
    return status;
}

static void print_errors(const job *j, unsigned long long pairs)
{
    const int asked = way_of(j->s);
    if (j->s->json) printf("{\"pairs\": %llu", pairs);
    for (int way = 0; way < WAYS; way++) {
        const attend_aer_sums *a = &j->sums[way];
        const double precision = a->predicted > 0 ? a->matched_possible / a->predicted : 0,
                     recall = a->sure > 0 ? a->matched_sure / a->sure : 0;
        const char *name = way == THERE ? "forward" : way == BACK ? "reverse" : symmetries[way - TOGETHER];
        if (way != asked && !j->s->every) continue;
        if (j->s->json)
            printf(", \"%s\": {\"aer\": %.6f, \"precision\": %.6f, \"recall\": %.6f, \"links\": %.0f, \"sure\": %.0f}",
                   name, attend_aer(a), precision, recall, a->predicted, a->sure);
        else
            printf("AER %.4f  precision %.4f  recall %.4f  (%.0f links, %.0f sure)  %s\n", attend_aer(a), precision,
                   recall, a->predicted, a->sure, name);
    }
    if (j->s->json) printf("}\n");
}

/* ---- all of it ---- */

static int load(job *j, int which, const char *path)
{
    if (!path) return ATTEND_OK;
    int status = j->s->choose ? align_maps_check(path) : ATTEND_OK;
    if (status == ATTEND_OK) status = attend_model_load(&j->models[which], path, NULL);
    const attend_config *config = status == ATTEND_OK ? attend_model_config(j->models[which]) : NULL;
    if (config && config->task == ATTEND_TASK_LANGUAGE_MODEL)
        status = attend_fail(ATTEND_BAD_USAGE, "%s is a language model: it has no source to align with", path);
    else if (config && attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) == 0)
        status = attend_fail(ATTEND_BAD_USAGE, "%s has no attention to align with", path);
    if (status != ATTEND_OK || j->s->maps) return status;
    status = attend_scorer_new(&j->scorers[which], j->models[which], (int)j->s->threads, true);
    attend_alignment alignment = attend_model_alignment(j->models[which]);
    if (j->s->layer_given) alignment = (attend_alignment){ .layer = (int)j->s->layer, .head = -1 };
    if (j->s->head_given) alignment.head = (int)j->s->head;
    return status == ATTEND_OK ? attend_scorer_set_alignment(j->scorers[which], alignment) : status;
}

static int try_maps(job *j, pairs_stream *from)
{
    const settings *s = j->s;
    const align_maps_job maps = { .models = { j->models[THERE], j->models[BACK] },
                                  .paths = { s->model, s->reverse_model },
                                  .threads = (int)s->threads,
                                  .gold = s->gold ? &j->gold : NULL,
                                  .gold_path = s->gold,
                                  .json = s->json,
                                  .choose = s->choose,
                                  .quiet = s->quiet };
    return align_maps(&maps, from);
}

static int align_all(job *j, pairs_stream *from)
{
    int status = ATTEND_OK;
    while (status == ATTEND_OK && (status = pairs_stream_next(from)) == ATTEND_OK && from->count > 0) {
        const char *const *sides[2] = { (const char *const *)from->sources, (const char *const *)from->targets };
        for (int d = 0; status == ATTEND_OK && d < 2; d++)
            if (j->scorers[d]) status = attend_scorer_run(j->scorers[d], from->count, sides[d], sides[1 - d]);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++)
            status = one_pair(j, i, from->first + (unsigned long long)i);
    }
    return status;
}

static int align(const settings *s)
{
    job j = { .s = s };
    pairs_stream *from = NULL;
    int status = load(&j, THERE, s->model);
    if (status == ATTEND_OK) status = load(&j, BACK, s->reverse_model);
    if (status == ATTEND_OK && s->gold) status = gold_links_read(&j.gold, s->gold);
    if (status == ATTEND_OK) status = pairs_stream_open(&from, &s->input);
    if (status == ATTEND_OK) status = s->maps ? try_maps(&j, from) : align_all(&j, from);
    if (status == ATTEND_OK && s->gold && !s->maps) {
        status = gold_links_check(&j.gold, s->gold, from->first);
        if (status == ATTEND_OK) print_errors(&j, from->first);
    }
    if (status != ATTEND_OK) status = cli_fail(&verb_align, status);
    gold_links_free(&j.gold);
    pairs_stream_close(from);
    for (int i = 0; i < 3; i++) free(j.links[i]);
    for (int i = 0; i < 2; i++) attend_scorer_free(j.scorers[i]), attend_model_free(j.models[i]);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .symmetry = ATTEND_GROW_DIAG_FINAL_AND };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_align, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        const bool both = s.model && s.reverse_model, rule = options_given(&verb_align, &p, "symmetrize");
        s.every = both && !rule;
        s.maps = s.maps || s.choose;
        s.layer_given = options_given(&verb_align, &p, "layer"), s.head_given = options_given(&verb_align, &p, "head");
        if (p.rest_count > 0)
            status = options_wrong(&verb_align, "'%s' is not understood; pairs are given by --input", p.rest[0]);
        else if ((!s.model && !s.reverse_model) || s.input.count == 0)
            status = options_wrong(&verb_align, "--model FILE and --input PAIRS are both needed");
        else if (rule && !both)
            status = options_wrong(&verb_align, "--symmetrize needs two models: --model and --reverse-model");
        else if (s.kind == 1 && s.reverse_model)
            status = options_wrong(&verb_align, "soft alignments are those of --model alone");
        else if (s.maps && (s.layer_given || s.head_given || s.kind == 1 || rule))
            status = options_wrong(&verb_align, "--maps and --choose try every layer and head of each model by itself");
        else if (s.pieces && s.kind != 1)
            status = options_wrong(&verb_align, "--pieces goes with --alignment soft");
        else
            status = align(&s);
    }
    options_free(&verb_align, &s, &p);
    return status;
}

const verb verb_align = {
    .name = "align",
    .summary = "which word comes from which: Pharaoh alignments",
    .synopsis = "attend align --model FILE --input PAIRS [--reverse-model FILE] [--alignment soft] [--gold FILE]\n"
                "       attend align --model FILE --input PAIRS --choose [--gold FILE]",
    .details =
        "Makes the model say each target and prints where it looked: of every target word the source word with "
        "the most attention, as\n"
        "source-target from 0; pieces of words are merged to words. A second model, of the other direction, "
        "makes links that both agree on\n"
        "(docs/metrics.md has the rules). With --gold, the alignment error rate (Och, Ney 2003); of two models "
        "each alone and by each rule. A model of several layers or\n"
        "heads aligns by one of them, or by a mean: as it was chosen at the end of its training, or by --choose.",
    .examples = "  attend align --model en-de --input test.en test.de\n  attend align --model en-fr --reverse-model "
                "fr-en --input dev.en dev.fr --gold dev.wa\n"
                "  attend align --model en-de --input valid.en valid.de --choose\n",
    .options = table,
    .run = run,
};
