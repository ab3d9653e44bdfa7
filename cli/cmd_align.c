/* cmd_align.c: word alignments from attention: the model decodes the given targets (forced decoding), and links are read
 * from its attention weights. Without a model, by the word aligner (align_words.h). */
#include "align_links.h"
#include "compute_option.h"
#include "device_option.h"
#include "align_maps.h"
#include "align_words.h"
#include "json_members.h"
#include "memory_option.h"
#include "options.h"
#include "plugin_option.h"
#include "pair_reader.h"
#include "unit_option.h"

#include <attend/processors.h>
#include <attend/status.h>
#include <attend/scorer.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *device, *model, *reverse_model, *gold, *aligner, *save, *dictionary;
    double threshold;
    pairs_list input;
    texts_list plugins;
    long long threads, memory, layer, head;
    int kind, symmetry, unit, compute;
    bool layer_given, head_given, shift;
    bool tokens, evaluate_maps, select_map, json, quiet;
    bool symmetrize; /* the option is given */
} settings;

enum { HARD, SOFT };
static const char *const kinds[] = { "hard", "soft", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE",
      "a model with attention; without any, a word aligner that is trained on the pairs (docs/alignment.md)",
      OPTION_INPUT, AT(model), 0, 0, NULL },
    { "reverse-model", "FILE", "a model that translates from target to source; with or without --model", OPTION_INPUT,
      AT(reverse_model), 0, 0, NULL },
    { "aligner", "FILE", "align by this word aligner, which --save has written, instead of training one", OPTION_INPUT,
      AT(aligner), 0, 0, NULL },
    { "dictionary", "FILE", "write the translation of each source word by the word aligner, for translate --dictionary",
      OPTION_OUTPUT, AT(dictionary), 0, 0, NULL },
    { "save", "FILE", "write the word aligner that is trained on the pairs", OPTION_FILE, AT(save), 0, 0, NULL },
    { "threshold", "X",
      "links of the word aligner: the geometric mean of their posteriors in both directions is at least X; larger "
      "values "
      "give fewer and surer links",
      OPTION_REAL, AT(threshold), 0.01, 1, NULL },
    { "symmetrize", NULL, "how to combine the links of both models, or of both directions of the word aligner",
      OPTION_CHOICE, AT(symmetry), 0, 0, attend_symmetrization_names },
    { "input", "PAIRS", "pairs to align: one .tsv file or two line-aligned files", OPTION_PAIRS, AT(input), 0, 0,
      NULL },
    { "alignment", NULL,
      "hard: for each target word, the source word with the largest weight; soft: all weights between words, as JSON",
      OPTION_CHOICE, AT(kind), 0, 0, kinds },
    { "tokens", NULL, "with --alignment soft: print the weights between tokens instead of words, end tokens included",
      OPTION_FLAG, AT(tokens), 0, 0, NULL },
    UNIT_OPTION(AT(unit), "what links and weights count"),
    { "layer", "N",
      "align by this layer, counted from 0; -1: the mean over all layers (default: the selection stored in the model)",
      OPTION_INTEGER, AT(layer), -1, 1000, NULL },
    { "head", "N",
      "align by this head, counted from 0; -1: the mean over all heads (default: the selection stored in the model, or "
      "-1 if --layer is given)",
      OPTION_INTEGER, AT(head), -1, 1000, NULL },
    { "shift", NULL, "read the weights of a token one step later (default: as stored in the model)", OPTION_FLAG,
      AT(shift), 0, 0, NULL },
    { "evaluate-maps", NULL,
      "print the alignment error rate of every layer and head instead of links; without --gold, against links of a "
      "word aligner that is trained on the pairs",
      OPTION_FLAG, AT(evaluate_maps), 0, 0, NULL },
    { "select-map", NULL, "like --evaluate-maps, and store the best layer and head in the model file", OPTION_FLAG,
      AT(select_map), 0, 0, NULL },
    { "gold", "FILE",
      "print the alignment error rate against these gold links instead of links; the file has either one line per pair "
      "(\"0-0 1?2\") or one line per link (\"pair source target S|P\", counted from 1)",
      OPTION_INPUT, AT(gold), 0, 0, NULL },
    { "threads", "N",
      "number of threads; does not change the links (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(threads), 1, 1024, NULL },
    COMPUTE_OPTION(AT(compute)),
    DEVICE_OPTION(AT(device)),
    MEMORY_OPTION(AT(memory), MEMORY_OF_LINES),
    { "json", NULL, "print one JSON object per pair, or one with the alignment error rate", OPTION_FLAG, AT(json), 0, 0,
      NULL },
    PLUGIN_OPTION(AT(plugins)),
    { "quiet", NULL, "print no warnings", OPTION_FLAG, AT(quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};
static const option_alias aliases[] = {
    { "tokens", "pieces", NULL, NULL },
    { "evaluate-maps", "maps", NULL, NULL },
    { "select-map", "choose", NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

typedef struct job {
    const settings *s;
    attend_model *models[2];
    attend_scorer *scorers[2];
    align_links links;
    unsigned long long aligned, non_finite[2]; /* pairs without a fault, and faults of each model */
} job;

/* ---- links of a pair ---- */

/* Finds the links of both models; none if the pair has a fault. */
static int find_links(job *j, int pair, bool has_fault)
{
    align_links *a = &j->links;
    int status = ATTEND_OK;
    for (int d = 0; status == ATTEND_OK && d < 2; d++) {
        a->counts[d] = 0;
        if (!j->scorers[d] || has_fault) continue;
        const attend_scored_pair *r = attend_scorer_result(j->scorers[d], pair);
        status = align_links_reserve(a, d, r->source_count + r->target_count);
        if (status == ATTEND_OK) a->counts[d] = attend_scorer_links(r, a->lists[d], a->capacities[d]);
        for (int i = 0; d == LINKS_REVERSE && i < a->counts[d]; i++) {
            attend_word_link *l = &a->lists[d][i];
            *l = (attend_word_link){ .source = l->target, .target = l->source, .sure = l->sure };
        }
    }
    return status;
}

/* The alignment that the options request, and those that are compared with gold links. */
static void choose_methods(align_links *a, const settings *s)
{
    const bool both = s->model && s->reverse_model, words = !s->model && !s->reverse_model;
    if (both || words)
        a->requested = s->symmetrize || both ? LINKS_SYMMETRIZED + s->symmetry : LINKS_AGREED;
    else
        a->requested = s->model ? LINKS_FORWARD : LINKS_REVERSE;
    a->compares[a->requested] = true;
    for (int method = 0; (both || words) && !s->symmetrize && method < LINKS_METHODS; method++)
        a->compares[method] = words || method != LINKS_AGREED;
    a->json = s->json;
}

/* ---- output ---- */

/* The words of a side, or its other units. */
static void json_units(attend_json_writer *w, const char *name, attend_unit unit, const char *text,
                       const attend_span *spans, int count)
{
    json_begin_array(w, name);
    attend_span word;
    if (unit == ATTEND_UNIT_PIECE)
        for (int i = 0; i < count; i++) {
            const size_t size = (size_t)(spans[i].end - spans[i].begin);
            if (attend_word_next(text + spans[i].begin, size, &(size_t){ 0 }, &word))
                attend_json_put_bytes(w, text + spans[i].begin + word.begin, (size_t)(word.end - word.begin));
        }
    else
        for (size_t at = 0, size = strlen(text); attend_unit_next(unit, text, size, &at, &word);)
            attend_json_put_bytes(w, text + word.begin, at - (size_t)word.begin);
    attend_json_end_array(w);
}

static void json_tokens(attend_json_writer *w, const char *name, const char *text, const attend_span *spans, int count)
{
    json_begin_array(w, name);
    for (int i = 0; i < count; i++)
        attend_json_put_bytes(w, text + spans[i].begin, (size_t)(spans[i].end - spans[i].begin));
    attend_json_put_text(w, "</s>");
    attend_json_end_array(w);
}

static void print_token_weights(const attend_scored_pair *r)
{
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_tokens(&w, "source", r->source_text, r->source_spans, r->source_count - 1);
    json_tokens(&w, "target", r->target_text, r->target_spans, r->target_count);
    json_begin_array(&w, "weights");
    for (int i = 0; i < r->rows; i++) {
        attend_json_begin_array(&w);
        for (int j = 0; j < r->source_count; j++)
            attend_json_put_number(&w, 5, (double)r->weights[(size_t)i * (size_t)r->source_count + (size_t)j]);
        attend_json_end_array(&w);
    }
    attend_json_end_array(&w);
    json_end_line(&w);
}

static int print_word_weights(const attend_scored_pair *r)
{
    int sources, targets;
    attend_scorer_word_counts(r, &sources, &targets);
    double *weights = calloc((size_t)sources * (size_t)targets + 1, sizeof *weights);
    if (!weights) return attend_fail(ATTEND_NO_MEMORY, "out of memory for the weights of %d words", sources);
    attend_scorer_word_weights(r, weights);
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_units(&w, "source", r->source_unit, r->source_text, r->source_spans, r->source_count - 1);
    json_units(&w, "target", r->target_unit, r->target_text, r->target_spans, r->target_count);
    json_begin_array(&w, "weights");
    for (int i = 0; i < targets; i++) {
        attend_json_begin_array(&w);
        for (int j = 0; j < sources; j++)
            attend_json_put_number(&w, 5, weights[(size_t)i * (size_t)sources + (size_t)j]);
        attend_json_end_array(&w);
    }
    attend_json_end_array(&w);
    json_end_line(&w);
    free(weights);
    return ATTEND_OK;
}

/* A pair is left out if either model cannot score it. */
static const attend_scored_pair *result_of(const job *j, const pair_reader *from, int first, int pair)
{
    const attend_scored_pair *r = NULL;
    for (int d = 1; d >= 0; d--) {
        const attend_scored_pair *one = j->scorers[d] ? attend_scorer_result(j->scorers[d], pair) : NULL;
        if (one && (!r || !r->fault)) r = one;
    }
    return pair_reader_result(from, first + pair, r);
}

/* Aligns pair number `pair` of those that were scored, which begin at `first` of the batch. */
static int align_pair(job *j, const pair_reader *from, int first, int pair)
{
    const settings *s = j->s;
    const unsigned long long number = from->first + (unsigned long long)(first + pair);
    const attend_scored_pair *r = result_of(j, from, first, pair);
    j->aligned += !r->fault;
    for (int d = 0; d < 2; d++)
        j->non_finite[d] += j->scorers[d] && attend_scorer_result(j->scorers[d], pair)->is_non_finite;
    if (r->fault && !s->quiet)
        attend_print(stderr, "attend align: pair %llu is not aligned: %s\n", number + 1, r->fault);
    if (r->fault && !s->gold && (s->json || s->kind == SOFT)) {
        json_print_fault(stdout, r->fault);
        return ATTEND_OK;
    }
    if (s->kind == SOFT && !s->gold && !s->tokens) return print_word_weights(r);
    if (s->kind == SOFT && !s->gold) {
        print_token_weights(r);
        return ATTEND_OK;
    }
    const int status = find_links(j, pair, r->fault != NULL);
    if (status != ATTEND_OK) return status;
    return s->gold ? align_links_compare(&j->links, number) : align_links_print(&j->links);
}

/* ---- all pairs ---- */

/* Two models share the memory. */
static size_t memory_of_model(const settings *s)
{
    return memory_limit(s->memory) / (s->model && s->reverse_model ? 2 : 1);
}

static int load(job *j, int which, const char *path)
{
    if (!path) return ATTEND_OK;
    int status = j->s->select_map ? align_maps_check_writable(path) : ATTEND_OK;
    if (status == ATTEND_OK) status = attend_model_load(&j->models[which], path, NULL);
    const attend_config *config = status == ATTEND_OK ? attend_model_config(j->models[which]) : NULL;
    if (config && config->task == ATTEND_TASK_LANGUAGE_MODEL)
        status =
            attend_fail(ATTEND_BAD_USAGE,
                        "%s is a language model; it has no source to align with: train a translation model on pairs",
                        path);
    else if (config && attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) == 0)
        status =
            attend_fail(ATTEND_BAD_USAGE,
                        "%s has no attention; it cannot align: train a model with it (--attention additive)", path);
    if (status != ATTEND_OK || j->s->evaluate_maps) return status;
    status = attend_scorer_new(&j->scorers[which], j->models[which], (int)j->s->threads, true);
    if (status == ATTEND_OK) status = attend_scorer_set_memory(j->scorers[which], memory_of_model(j->s));
    if (status == ATTEND_OK)
        status = attend_scorer_set_compute(j->scorers[which], (attend_compute_precision)j->s->compute);
    if (status == ATTEND_OK) status = attend_scorer_set_unit(j->scorers[which], (attend_unit)j->s->unit);
    attend_alignment alignment = attend_model_alignment(j->models[which]);
    if (j->s->layer_given) alignment = (attend_alignment){ .layer = (int)j->s->layer, .head = -1 };
    if (j->s->head_given) alignment.head = (int)j->s->head;
    if (j->s->shift) alignment.shifted = true;
    return status == ATTEND_OK ? attend_scorer_set_alignment(j->scorers[which], alignment) : status;
}

static int evaluate_maps(job *j, pair_reader *from)
{
    const settings *s = j->s;
    const align_maps_job maps = { .models = { j->models[LINKS_FORWARD], j->models[LINKS_REVERSE] },
                                  .paths = { s->model, s->reverse_model },
                                  .threads = (int)s->threads,
                                  .compute = s->compute,
                                  .memory = memory_of_model(s),
                                  .gold = s->gold ? &j->links.gold : NULL,
                                  .gold_path = s->gold,
                                  .json = s->json,
                                  .select = s->select_map,
                                  .quiet = s->quiet };
    return align_maps(&maps, from);
}

/* Aligns the batch in parts whose results, of both models, fit into memory. */
static int align_batch(job *j, const pair_reader *from)
{
    const char *const *sides[2] = { (const char *const *)from->sources, (const char *const *)from->targets };
    int status = ATTEND_OK;
    for (int first = 0, done = 0; status == ATTEND_OK && first < from->count; first += done) {
        done = from->count - first;
        for (int d = 0; status == ATTEND_OK && d < 2; d++)
            if (j->scorers[d])
                status = attend_scorer_run_some(j->scorers[d], done, sides[d] + first, sides[1 - d] + first, &done);
        for (int i = 0; status == ATTEND_OK && i < done; i++) status = align_pair(j, from, first, i);
    }
    return status;
}

static int align_all(job *j, pair_reader *from)
{
    int status = ATTEND_OK;
    from->answers = true;
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0)
        status = align_batch(j, from);
    /* a model that aligns nothing because of its own weights is an error */
    const char *const models[2] = { j->s->model, j->s->reverse_model };
    for (int d = 0; status == ATTEND_OK && j->aligned == 0 && d < 2; d++)
        if (models[d]) status = attend_check_finite(models[d], j->non_finite[d], j->non_finite[d]);
    return status;
}

static int align_by_words(job *j, pair_reader *from)
{
    const settings *s = j->s;
    const align_words_job words = { .aligner = s->aligner,
                                    .save = s->save,
                                    .dictionary = s->dictionary,
                                    .threshold = s->threshold,
                                    .unit = (attend_unit)s->unit,
                                    .threads = (int)s->threads,
                                    .memory = memory_limit(s->memory),
                                    .compare = s->gold != NULL,
                                    .json = s->json,
                                    .quiet = s->quiet };
    return align_words(&words, &j->links, from);
}

static int align(const settings *s)
{
    job j = { .s = s };
    pair_reader *from = NULL;
    choose_methods(&j.links, s);
    int status = load(&j, LINKS_FORWARD, s->model);
    if (status == ATTEND_OK) status = load(&j, LINKS_REVERSE, s->reverse_model);
    if (status == ATTEND_OK && s->gold) status = gold_links_read(&j.links.gold, s->gold, memory_limit(s->memory));
    if (status == ATTEND_OK) status = pair_reader_open(&from, &s->input);
    if (status == ATTEND_OK)
        status = s->evaluate_maps               ? evaluate_maps(&j, from)
                 : s->model || s->reverse_model ? align_all(&j, from)
                                                : align_by_words(&j, from);
    if (status == ATTEND_OK && s->gold && !s->evaluate_maps) {
        status = gold_links_check(&j.links.gold, s->gold, from->first);
        if (status == ATTEND_OK) align_links_print_errors(&j.links, from->first);
    }
    if (status != ATTEND_OK) status = cli_fail(&verb_align, status);
    pair_reader_close(from);
    align_links_free(&j.links);
    for (int i = 0; i < 2; i++) attend_scorer_free(j.scorers[i]), attend_model_free(j.models[i]);
    return status;
}

/* Without a model: options of attention are errors. */
static int check_words(const settings *s, const parsed *p)
{
    static const char *const others[] = {
        "layer", "head", "shift", "evaluate-maps", "select-map", "tokens", "compute"
    };
    const verb *v = &verb_align;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (options_given(v, p, others[i])) return usage_error(v, "--%s requires --model FILE", others[i]);
    if (s->kind == SOFT) return usage_error(v, "--alignment soft requires --model FILE");
    if (s->unit == ATTEND_UNIT_PIECE) return usage_error(v, "--unit piece requires --model FILE");
    if (s->aligner && s->save) return usage_error(v, "--save writes an aligner that is trained; it excludes --aligner");
    if (s->aligner && options_given(v, p, "unit")) return usage_error(v, "--unit is that of the aligner");
    return 0;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(const settings *s, const parsed *p)
{
    const verb *v = &verb_align;
    const bool any = s->model || s->reverse_model, both = s->model && s->reverse_model, rule = s->symmetrize;
    if (p->positional_count > 0)
        return usage_error(v, "unexpected argument '%s'; give pairs with --input", p->positional[0]);
    if (s->input.count == 0) return usage_error(v, "--input PAIRS is required");
    if (!any) return check_words(s, p);
    if (s->aligner || s->save || s->dictionary || options_given(v, p, "threshold"))
        return usage_error(v,
                           "--aligner, --save, --dictionary and --threshold are for the word aligner, without --model "
                           "and --reverse-model");
    if (rule && !both) return usage_error(v, "--symmetrize requires two models: --model and --reverse-model");
    if (s->kind == SOFT && s->reverse_model)
        return usage_error(v, "--alignment soft cannot be combined with --reverse-model");
    if (s->evaluate_maps && (s->layer_given || s->head_given || s->shift || s->kind == SOFT || rule))
        return usage_error(v, "--evaluate-maps and --select-map evaluate every layer and head; they cannot be combined "
                              "with --layer, --head, --shift, --alignment soft or --symmetrize");
    if (s->tokens && s->kind != SOFT) return usage_error(v, "--tokens requires --alignment soft");
    return 0;
}

/* Links are printed. */
static attend_content content(const void *from, const option *o)
{
    (void)from;
    return strcmp(o->name, "save") == 0 ? ATTEND_CONTENT_ALIGNER : ATTEND_CONTENT_TEXT;
}

static const void *defaults(void)
{
    static settings s;
    s = (settings){ .symmetry = ATTEND_GROW_DIAG_FINAL_AND,
                    .threshold = attend_aligner_defaults().threshold,
                    .threads = attend_processors_threads(),
                    .memory = MEMORY_DEFAULT };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    int status = options_parse(&verb_align, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        s.symmetrize = options_given(&verb_align, &p, "symmetrize");
        s.evaluate_maps = s.evaluate_maps || s.select_map;
        s.layer_given = options_given(&verb_align, &p, "layer"), s.head_given = options_given(&verb_align, &p, "head");
        status = check(&s, &p);
        if (status == 0 && (s.model || s.reverse_model))
            status =
                device_option_use(&verb_align, &p, &(device_choice){ s.device, &s.compute, &s.threads, NULL, s.quiet });
        if (status == 0 && !s.quiet) compute_option_note(&verb_align, s.compute);
        if (status == 0) status = align(&s);
    }
    options_free(&verb_align, &s, &p);
    return status;
}

const verb verb_align = {
    .name = "align",
    .summary = "align the words of sentence pairs, by attention or by a statistical aligner",
    .synopsis =
        "attend align --input PAIRS [--save FILE | --aligner FILE] [--threshold X] [--gold FILE]\n"
        "       attend align --model FILE --input PAIRS [--reverse-model FILE] [--alignment soft] [--gold FILE]\n"
        "       attend align --model FILE --input PAIRS --select-map [--gold FILE]",
    .details =
        "Without a model, trains a statistical aligner on the pairs (a hidden Markov model in both directions that\n"
        "learn to agree) and prints the links on which both directions agree; docs/alignment.md has its error rates.\n"
        "--save keeps the aligner and --aligner uses it on other pairs.\n"
        "\n"
        "With a model, runs it on each pair (forced decoding) and links every target word to the source word with the\n"
        "largest attention weight. Prints one line of links per pair in Pharaoh format (source-target, counted\n"
        "from 0); weights between tokens are combined into weights between words. A side of single words (names,\n"
        "pronunciations), which the model reads letter by letter, is linked by its letters. With --reverse-model,\n"
        "combines the links of two models that translate in opposite directions (docs/metrics.md). With --gold,\n"
        "prints the alignment error rate (Och and Ney 2003); with two models, that of each model and of each\n"
        "combination. A model with several layers or heads has several attention maps. Links come from one of\n"
        "them, or from a mean, which is selected at the end of training or by --select-map.",
    .examples = "  attend align --input train.tsv --save aligner > train.links\n"
                "  attend align --aligner aligner --input dev.en dev.fr --gold dev.wa\n"
                "  attend align --model en-de --input test.en test.de\n"
                "  attend align --model en-fr --reverse-model fr-en --input dev.en dev.fr --gold dev.wa\n"
                "  attend align --model en-de --input valid.en valid.de --select-map\n",
    .options = table,
    .defaults = defaults,
    .content = content,
    .aliases = aliases,
    .run = run,
};
