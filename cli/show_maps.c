/* show_maps.c: computes the attention maps of sentences, by translation or forced decoding. */
#include "show.h"

#include <attend/status.h>
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

static int reserve_maps(sentence_maps *x, int hypotheses)
{
    x->items = calloc((size_t)hypotheses * ATTENTION_KINDS, sizeof *x->items);
    return x->items ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory for %d attention maps", hypotheses);
}

/* A source with its target: a text or a hypothesis. */
typedef struct decoded {
    const char *source, *target;
    const attend_hypothesis *hypothesis;
} decoded;

static int add_map(show_job *j, attend_attention_kind kind, const decoded *d, sentence_maps *out)
{
    const attend_hypothesis *h = d->hypothesis;
    const int status = attend_map_new(&out->items[out->count], j->c, j->m, kind, d->source, d->target,
                                      h ? h->tokens : NULL, h ? h->count : 0, h ? h->score : NAN);
    if (status == ATTEND_OK) out->count++;
    return status;
}

/* Whether the page also has the map of this kind. The encoder's map is the same for all hypotheses. */
static bool is_on_page(const show_job *j, attend_attention_kind kind, bool first_hypothesis)
{
    return j->all_kinds && kind != j->kind && (kind != ATTEND_ATTENTION_ENCODER || first_hypothesis) &&
           attend_config_attention_layers(attend_model_config(j->m), kind) > 0;
}

static int add_maps(show_job *j, const decoded *d, sentence_maps *out)
{
    const bool first = out->count == 0;
    int status = add_map(j, j->kind, d, out);
    for (int kind = 0; status == ATTEND_OK && kind < ATTENTION_KINDS; kind++)
        if (is_on_page(j, (attend_attention_kind)kind, first)) status = add_map(j, (attend_attention_kind)kind, d, out);
    return status;
}

/* The translator reports only that a source is too long; this message gives the limit. */
static int too_long(const show_job *j)
{
    const int max_tokens = attend_config_max_tokens(attend_model_config(j->m), false) - 1;
    if (max_tokens < ATTEND_MAP_MAX_TOKENS)
        return attend_fail(ATTEND_BAD_DATA, "the source is too long: the model accepts at most %d tokens", max_tokens);
    return attend_fail(ATTEND_BAD_DATA, "the source is too long: a map has at most %d tokens", ATTEND_MAP_MAX_TOKENS);
}

static int map_translation(show_job *j, const char *source, sentence_maps *out)
{
    const size_t size = strlen(source);
    int status = attend_translator_run(j->translator, 1, &source, &size);
    if (status != ATTEND_OK) return status;
    const attend_line_result *r = attend_translator_result(j->translator, 0);
    if (r->fault && strstr(r->fault, "too long")) return too_long(j);
    if (r->fault) return attend_fail(ATTEND_BAD_DATA, "%s", r->fault);
    if (!r->source) return attend_fail(ATTEND_BAD_DATA, "it is empty");
    const int number = (int)j->s->hypothesis;
    if (number > r->count)
        return attend_fail(ATTEND_BAD_DATA, "only %d translations were found; --hypothesis %d is out of range",
                           r->count, number);
    const bool all = j->s->format == SHOW_HTML;
    const int first = all ? 0 : number - 1, end = all ? r->count : number;
    status = reserve_maps(out, end - first);
    for (int i = first; status == ATTEND_OK && i < end; i++)
        status = add_maps(j, &(decoded){ .source = source, .hypothesis = &r->hypotheses[i] }, out);
    return status;
}

static int map_target(show_job *j, const char *source, const char *target, sentence_maps *out)
{
    const int status = reserve_maps(out, 1);
    return status == ATTEND_OK ? add_maps(j, &(decoded){ .source = source, .target = target }, out) : status;
}

int show_make_maps(show_job *j, const char *source, const char *target, sentence_maps *out)
{
    if (j->is_language_model) return map_target(j, NULL, source, out);
    return target || !j->translator ? map_target(j, source, target, out) : map_translation(j, source, out);
}

/* ---- preparation ---- */

static int layers_of(const show_job *j, int kind)
{
    return attend_config_attention_layers(attend_model_config(j->m), (attend_attention_kind)kind);
}

static int choose_kind(show_job *j)
{
    const show_settings *s = j->s;
    char available[64] = "";
    int first = KIND_DEFAULT;
    for (int i = 0; i < ATTENTION_KINDS; i++) {
        if (layers_of(j, i) == 0) continue;
        if (first == KIND_DEFAULT) first = i;
        snprintf(available + strlen(available), sizeof available - strlen(available), "%s%s", *available ? ", " : "",
                 attend_attention_kind_names[i]);
    }
    if (first == KIND_DEFAULT)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s has no attention: there is nothing to show; train a model with it (%s)", s->model,
                           j->is_language_model ? "--architecture transformer" : "--attention additive");
    j->kind = (attend_attention_kind)(s->kind == KIND_DEFAULT ? first : s->kind);
    j->all_kinds = s->format == SHOW_HTML && s->kind == KIND_DEFAULT;
    if (layers_of(j, (int)j->kind) > 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "%s has no %s attention; it has: %s%s", s->model,
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
                           s->model, given);
    if (j->kind == ATTEND_ATTENTION_ENCODER && given)
        return attend_fail(ATTEND_BAD_USAGE,
                           "--%s does not apply to --attention-kind encoder, which does not depend on the target",
                           given);
    if (has_pairs(&s->input) && (s->beam_given || s->hypothesis_given))
        return attend_fail(ATTEND_BAD_USAGE, "--beam and --hypothesis do not apply to pairs, whose targets are given");
    return ATTEND_OK;
}

static int choose_map(show_job *j)
{
    const show_settings *s = j->s;
    const attend_config *config = attend_model_config(j->m);
    const attend_alignment selected = attend_model_alignment(j->m);
    const bool use_selected = j->kind == ATTEND_ATTENTION_CROSS && !s->layer_given && !s->head_given;
    j->view.layer = use_selected ? selected.layer : (int)s->layer;
    j->view.head = use_selected ? selected.head : (int)s->head;
    const attend_map shape = { .kind = j->kind,
                               .layers = attend_config_attention_layers(config, j->kind),
                               .heads = attend_config_attention_heads(config, j->kind) };
    return attend_view_check(&shape, &j->view);
}

static int start_search(show_job *j)
{
    const show_settings *s = j->s;
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    if (j->is_language_model || j->kind == ATTEND_ATTENTION_ENCODER) return ATTEND_OK;
    o.search.beam = (int)s->beam, o.search.n_best = (int)(s->format == SHOW_HTML ? s->beam : s->hypothesis);
    o.search.max_length = o.max_tokens = ATTEND_MAP_MAX_TOKENS;
    o.threads = (int)s->threads;
    return attend_translator_new(&j->translator, j->m, &o);
}

int show_prepare(show_job *j)
{
    int status = choose_kind(j);
    if (status == ATTEND_OK) status = check_options(j);
    if (status == ATTEND_OK) status = choose_map(j);
    if (status == ATTEND_OK) status = start_search(j);
    return status == ATTEND_OK ? attend_ctx_new(&j->c) : status;
}
