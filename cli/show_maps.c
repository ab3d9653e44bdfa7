/* show_maps.c: computes the attention maps of sentences, by translation or forced decoding. */
#include "memory_option.h"
#include "show.h"

#include <attend/status.h>
#include <attend/words.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sentence_maps_free(sentence_maps *x)
{
    for (int i = 0; i < x->count; i++) attend_map_free(x->items[i]);
    free(x->items);
    *x = (sentence_maps){ NULL, 0 };
}

/* ---- maps of a sentence ---- */

/* Makes room for the maps of more hypotheses. */
static int reserve_maps(sentence_maps *x, int hypotheses)
{
    const size_t count = (size_t)x->count + (size_t)hypotheses * ATTENTION_KINDS;
    attend_map **items = realloc(x->items, count * sizeof *items);
    if (!items) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d attention maps", hypotheses);
    x->items = items;
    return ATTEND_OK;
}

/* Refuses a map that would exceed the memory limit together with those of the page and of the sentence. A weight takes
 * 4 bytes in the map, as much while it is computed, and 5 on a page; a map takes some pages of memory for its tokens. If
 * the page is full, the lines that follow are not read: there may be no end of them. */
static int check_memory(const show_job *j, int model, const sentence_maps *out, double rows, double columns)
{
    enum { WEIGHT_BYTES = 16, MAP_BYTES = 16384, MAX_PAGE = 10000 };
    const attend_config *config = attend_model_config(j->models[model].m);
    const size_t memory = memory_limit(j->s->memory);
    const double max_bytes = memory > 0 ? (double)memory : INFINITY;
    const double page = (double)j->page_weights * WEIGHT_BYTES + (double)j->page_maps * MAP_BYTES;
    double weights = rows * columns * attend_config_attention_layers(config, j->kind) *
                     attend_config_attention_heads(config, j->kind);
    for (int i = 0; i < out->count; i++) weights += (double)show_weight_count(out->items[i]);
    if (j->page_count >= MAX_PAGE)
        return attend_fail(ATTEND_BAD_USAGE, "a page shows at most %d sentences: give fewer lines, or write json",
                           MAX_PAGE);
    if (page > max_bytes / 4 * 3)
        return attend_fail(ATTEND_NO_MEMORY,
                           "the attention maps of %d sentences take more than the memory limit allows: give fewer "
                           "lines, raise --memory, or write json",
                           j->page_count);
    if (page + weights * WEIGHT_BYTES <= max_bytes) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "its attention maps would take more memory than the limit allows (--memory)");
}

/* A source with its target, a text or a hypothesis, and the model. */
typedef struct decoded {
    int model;
    const char *source, *target;
    const attend_hypothesis *hypothesis;
} decoded;

static int add_map(show_job *j, attend_attention_kind kind, const decoded *d, sentence_maps *out)
{
    const attend_hypothesis *h = d->hypothesis;
    const int status =
        attend_map_new(&out->items[out->count], j->c, j->models[d->model].m, kind, (attend_unit)j->s->unit, d->source,
                       d->target, h ? h->tokens : NULL, h ? h->count : 0, h ? h->score : NAN);
    if (status == ATTEND_OK) out->items[out->count++]->model = d->model;
    return status;
}

/* Whether the page also has the map of this kind. The encoder's map is the same for all hypotheses. */
static bool is_on_page(const show_job *j, int model, attend_attention_kind kind, bool first_hypothesis)
{
    return j->all_kinds && kind != j->kind && (kind != ATTEND_ATTENTION_ENCODER || first_hypothesis) &&
           attend_config_attention_layers(attend_model_config(j->models[model].m), kind) > 0;
}

static int add_maps(show_job *j, const decoded *d, sentence_maps *out)
{
    const bool first = out->count == 0 || out->items[out->count - 1]->model != d->model;
    int status = add_map(j, j->kind, d, out);
    for (int kind = 0; status == ATTEND_OK && kind < ATTENTION_KINDS; kind++)
        if (is_on_page(j, d->model, (attend_attention_kind)kind, first))
            status = add_map(j, (attend_attention_kind)kind, d, out);
    return status;
}

/* The translator reports only that a source is too long; this message gives the limit. */
static int too_long(const attend_model *m)
{
    const int max_tokens = attend_config_max_tokens(attend_model_config(m), false) - 1;
    if (max_tokens < ATTEND_MAP_MAX_TOKENS)
        return attend_fail(ATTEND_BAD_DATA, "the source is too long: the model accepts at most %d tokens", max_tokens);
    return attend_fail(ATTEND_BAD_DATA, "the source is too long: a map has at most %d tokens", ATTEND_MAP_MAX_TOKENS);
}

/* Whether all hypotheses are shown. A page of several models has the best of each. */
static bool shows_all(const show_settings *s)
{
    return s->format == SHOW_HTML && s->models.count == 1;
}

static int map_translation(show_job *j, int model, const char *source, sentence_maps *out)
{
    const size_t size = strlen(source);
    attend_translator *translator = j->models[model].translator;
    int status = attend_translator_run(translator, 1, &source, &size);
    if (status != ATTEND_OK) return status;
    const attend_line_result *r = attend_translator_result(translator, 0);
    if (r->is_too_long || (r->fault && strstr(r->fault, "too long"))) return too_long(j->models[model].m);
    if (r->fault) return attend_fail(ATTEND_BAD_DATA, "%s", r->fault);
    if (!r->source) return attend_fail(ATTEND_BAD_DATA, "it is empty");
    const int number = (int)j->s->hypothesis;
    if (number > r->count)
        return attend_fail(ATTEND_BAD_DATA, "only %d translations were found; --hypothesis %d is out of range",
                           r->count, number);
    const bool all = shows_all(j->s);
    const int first = all ? 0 : number - 1, end = all ? r->count : number;
    status = reserve_maps(out, end - first);
    for (int i = first; status == ATTEND_OK && i < end; i++)
        if ((status = check_memory(j, model, out, r->hypotheses[i].count + 1.0, r->source_count)) == ATTEND_OK)
            status = add_maps(j, &(decoded){ .model = model, .source = source, .hypothesis = &r->hypotheses[i] }, out);
    return status;
}

/* A lower bound on the tokens of a text with its end: a word has at least one. */
static double min_tokens(const char *text)
{
    return text ? attend_word_count(text, strlen(text)) + 1.0 : 1;
}

/* The tokens are not counted before the maps are made: checks by words, and again by the maps. */
static int map_target(show_job *j, int model, const char *source, const char *target, sentence_maps *out)
{
    int status = reserve_maps(out, 1);
    if (status == ATTEND_OK) status = check_memory(j, model, out, min_tokens(target), min_tokens(source));
    if (status == ATTEND_OK)
        status = add_maps(j, &(decoded){ .model = model, .source = source, .target = target }, out);
    return status == ATTEND_OK ? check_memory(j, model, out, 0, 0) : status;
}

static int make_maps(show_job *j, int model, const char *source, const char *target, sentence_maps *out)
{
    if (j->is_language_model) return map_target(j, model, NULL, source, out);
    return target || !j->models[model].translator ? map_target(j, model, source, target, out)
                                                  : map_translation(j, model, source, out);
}

int show_make_maps(show_job *j, const char *source, const char *target, sentence_maps *out)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < j->s->models.count; i++) status = make_maps(j, i, source, target, out);
    return status;
}

/* ---- preparation ---- */

static bool is_language_model(const attend_model *m)
{
    return attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
}

int show_load(show_job *j)
{
    const texts_list *names = &j->s->models;
    j->models = calloc((size_t)names->count, sizeof *j->models);
    j->maps = calloc((size_t)names->count, sizeof *j->maps);
    if (!j->models || !j->maps) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d models", names->count);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < names->count; i++) {
        status = attend_model_load(&j->models[i].m, names->items[i], NULL);
        j->maps[i].name = names->items[i];
        if (status == ATTEND_OK && is_language_model(j->models[i].m) != is_language_model(j->models[0].m))
            status = attend_fail(ATTEND_BAD_USAGE, "%s translates and %s is a language model: show them separately",
                                 names->items[is_language_model(j->models[0].m) ? i : 0],
                                 names->items[is_language_model(j->models[0].m) ? 0 : i]);
    }
    if (status == ATTEND_OK) j->is_language_model = is_language_model(j->models[0].m);
    j->view.models = j->maps, j->view.model_count = names->count;
    return status;
}

void show_job_free(show_job *j)
{
    for (int i = 0; i < j->page_count; i++) sentence_maps_free(&j->page[i]);
    free(j->page);
    attend_string_free(&j->text);
    for (int i = 0; i < 2; i++) attend_string_free(&j->texts[i]);
    attend_ctx_free(j->c);
    for (int i = 0; j->models && i < j->s->models.count; i++) {
        attend_translator_free(j->models[i].translator);
        attend_model_free(j->models[i].m);
    }
    free(j->models);
    free(j->maps);
}

static int layers_of(const show_job *j, int model, int kind)
{
    return attend_config_attention_layers(attend_model_config(j->models[model].m), (attend_attention_kind)kind);
}

/* The first model decides on the kind, and all must have it. */
static int check_kinds(show_job *j, int model)
{
    const char *name = j->maps[model].name;
    char available[64] = "";
    int first = KIND_DEFAULT;
    for (int i = 0; i < ATTENTION_KINDS; i++) {
        if (layers_of(j, model, i) == 0) continue;
        if (first == KIND_DEFAULT) first = i;
        snprintf(available + strlen(available), sizeof available - strlen(available), "%s%s", *available ? ", " : "",
                 attend_attention_kind_names[i]);
    }
    if (first == KIND_DEFAULT)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s has no attention: there is nothing to show; train a model with it (%s)", name,
                           j->is_language_model ? "--architecture transformer" : "--attention additive");
    if (model == 0) j->kind = (attend_attention_kind)(j->s->kind == KIND_DEFAULT ? first : j->s->kind);
    if (layers_of(j, model, (int)j->kind) > 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s has no %s attention; it has: %s%s", name,
                       attend_attention_kind_names[j->kind], available,
                       j->is_language_model && j->kind == ATTEND_ATTENTION_CROSS ? " (a language model has no source)"
                                                                                 : "");
}

static bool has_pairs(const pairs_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (show_is_pairs(&list->items[i])) return true;
    return false;
}

/* Options that do not apply to this model or kind of attention. */
static int check_options(const show_job *j)
{
    const show_settings *s = j->s;
    const char *given = s->target ? "target" : s->beam_given ? "beam" : s->hypothesis_given ? "hypothesis" : NULL;
    if (j->is_language_model && given)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s is a language model and does not translate: --%s does not apply; give the line to show",
                           j->maps[0].name, given);
    if (j->kind == ATTEND_ATTENTION_ENCODER && given)
        return attend_fail(ATTEND_BAD_USAGE,
                           "--%s does not apply to --attention-kind encoder, which does not depend on the target",
                           given);
    if (has_pairs(&s->input) && (s->beam_given || s->hypothesis_given))
        return attend_fail(ATTEND_BAD_USAGE, "--beam and --hypothesis do not apply to pairs, whose targets are given");
    return ATTEND_OK;
}

static int choose_map(show_job *j, int model)
{
    const show_settings *s = j->s;
    const attend_config *config = attend_model_config(j->models[model].m);
    const attend_alignment selected = attend_model_alignment(j->models[model].m);
    const bool use_selected = j->kind == ATTEND_ATTENTION_CROSS && !s->layer_given && !s->head_given;
    j->maps[model].layer = j->view.layer = use_selected ? selected.layer : (int)s->layer;
    j->maps[model].head = j->view.head = use_selected ? selected.head : (int)s->head;
    const attend_map shape = { .kind = j->kind,
                               .layers = attend_config_attention_layers(config, j->kind),
                               .heads = attend_config_attention_heads(config, j->kind) };
    return attend_view_check(&shape, &j->view);
}

static int start_search(show_job *j, int model)
{
    const show_settings *s = j->s;
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    if (j->is_language_model || j->kind == ATTEND_ATTENTION_ENCODER) return ATTEND_OK;
    o.search.beam = (int)s->beam, o.search.n_best = (int)(shows_all(s) ? s->beam : s->hypothesis);
    o.search.max_length = o.max_tokens = ATTEND_MAP_MAX_TOKENS;
    o.threads = (int)s->threads;
    o.memory = memory_limit(s->memory);
    o.compute = (attend_compute_precision)s->compute;
    return attend_translator_new(&j->models[model].translator, j->models[model].m, &o);
}

int show_prepare(show_job *j)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < j->s->models.count; i++) status = check_kinds(j, i);
    j->all_kinds = j->s->format == SHOW_HTML && j->s->kind == KIND_DEFAULT;
    if (status == ATTEND_OK) status = check_options(j);
    for (int i = 0; status == ATTEND_OK && i < j->s->models.count; i++) {
        status = choose_map(j, i);
        if (status == ATTEND_OK) status = start_search(j, i);
    }
    if (status == ATTEND_OK) status = attend_ctx_new(&j->c);
    return status == ATTEND_OK ? attend_ctx_set_compute(j->c, (attend_compute_precision)j->s->compute) : status;
}
