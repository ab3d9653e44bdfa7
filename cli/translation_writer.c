#include "translation_writer.h"

#include "array.h"
#include "json_members.h"
#include "result_text.h"

#include <attend/print.h>
#include <stdlib.h>
#include <string.h>

void translation_writer_free(translation_writer *w)
{
    free(w->links);
    w->links = NULL, w->link_capacity = 0;
}

/* Stores the links of a translation in w->links. Returns their number; -1: out of memory. */
static int find_links(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    if (!array_reserve(&w->links, &w->link_capacity, (size_t)h->count, sizeof *w->links)) return -1;
    return attend_hypothesis_links(r, h, w->links, h->count);
}

static double weight_at(const attend_line_result *r, const attend_hypothesis *h, int i, int j)
{
    return (double)h->weights[(size_t)i * (size_t)r->source_count + (size_t)j];
}

/* ---- JSON ---- */

/* "source": ["a", "b", "</s>"] */
static void json_tokens(const translation_writer *w, attend_json_writer *json, const char *name, bool target,
                        const int *tokens, int count, bool end)
{
    const attend_tokenizer *t = attend_translator_tokenizer(w->translator, target);
    json_begin_array(json, name);
    for (int i = 0; i < count; i++) attend_json_put_text(json, attend_tokenizer_token(t, tokens[i]));
    if (end) attend_json_put_text(json, attend_tokenizer_token(t, ATTEND_END));
    attend_json_end_array(json);
}

static bool json_alignment(translation_writer *w, attend_json_writer *json, const attend_line_result *r,
                           const attend_hypothesis *h)
{
    if (!h->weights) return true;
    const int links = find_links(w, r, h);
    json_begin_array(json, "alignment");
    for (int i = 0; i < links; i++) {
        attend_json_begin_array(json);
        attend_json_put_integer(json, w->links[i].source);
        attend_json_put_integer(json, w->links[i].target);
        attend_json_end_array(json);
    }
    attend_json_end_array(json);
    if (w->alignment != ALIGNMENT_SOFT) return links >= 0;
    json_begin_array(json, "weights");
    for (int i = 0; i <= h->count; i++) {
        attend_json_begin_array(json);
        for (int j = 0; j < r->source_count; j++) attend_json_put_number(json, 5, weight_at(r, h, i, j));
        attend_json_end_array(json);
    }
    attend_json_end_array(json);
    return links >= 0;
}

static bool json_hypothesis(translation_writer *w, attend_json_writer *json, const attend_line_result *r,
                            const attend_hypothesis *h)
{
    json_text(json, "text", h->text);
    if (w->is_language_model) json_text(json, "continuation", h->text + h->prefix_size);
    json_number(json, "score", 6, h->score);
    json_number(json, "log_probability", 6, h->log_probability);
    json_number(json, "confidence", 4, h->confidence);
    json_tokens(w, json, "target", true, h->tokens, h->count, w->is_language_model || r->source != NULL);
    return json_alignment(w, json, r, h);
}

/* "unknown": ["x"]: characters and words of the line that the training data did not have, each time they occur. */
static void json_unknown(attend_json_writer *json, const attend_line_result *r)
{
    json_begin_array(json, "unknown");
    for (int i = 0; i < r->unknown_count; i++) attend_json_put_bytes(json, r->unknowns[i].text, r->unknowns[i].size);
    attend_json_end_array(json);
}

static bool write_json(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    attend_json_writer json = attend_json_to_file(w->to);
    bool ok = true;
    attend_json_begin_object(&json);
    json_integer(&json, "line", (long long)number + 1);
    if (r->fault) {
        json_text(&json, "text", "");
        json_text(&json, "fault", r->fault);
    } else {
        ok = json_hypothesis(w, &json, r, &r->hypotheses[0]);
        if (!w->is_language_model) json_tokens(w, &json, "source", false, r->source, r->source_count, false);
        json_unknown(&json, r);
    }
    if (!r->fault && w->list) {
        json_begin_array(&json, "n_best");
        for (int i = 0; ok && i < r->count; i++) {
            attend_json_begin_object(&json);
            ok = json_hypothesis(w, &json, r, &r->hypotheses[i]);
            attend_json_end_object(&json);
        }
        attend_json_end_array(&json);
    }
    json_end_line(&json);
    return ok;
}

/* ---- text ---- */

void translation_write_text(const translation_writer *w, const char *text)
{
    result_write(w->to, text, strlen(text));
    write_unchanged(w->to, "\n");
}

/* " ||| 0-0 1-2", or " ||| 0.1,0.9 0.8,0.2 0.5,0.5": one row per token and for the end token */
static bool plain_alignment(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    if (w->alignment == ALIGNMENT_NONE) return true;
    write_unchanged(w->to, " |||");
    const int links = w->alignment == ALIGNMENT_HARD ? find_links(w, r, h) : 0;
    for (int i = 0; i < links; i++) attend_print(w->to, " %d-%d", w->links[i].source, w->links[i].target);
    for (int i = 0; w->alignment == ALIGNMENT_SOFT && h->weights && i <= h->count; i++)
        for (int j = 0; j < r->source_count; j++) attend_print(w->to, "%s%.5f", j ? "," : " ", weight_at(r, h, i, j));
    return links >= 0;
}

static bool write_plain(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    bool ok = true;
    for (int i = 0; ok && i < (w->list ? r->count : 1); i++) {
        const attend_hypothesis *h = &r->hypotheses[i];
        if (w->list) attend_print(w->to, "%llu ||| ", number);
        result_write(w->to, h->text, strlen(h->text));
        if (w->list) attend_print(w->to, " ||| logp=%.4f", h->log_probability);
        if (w->confidence) attend_print(w->to, w->list ? " confidence=%.4f" : " ||| %.4f", h->confidence);
        if (w->list) attend_print(w->to, " ||| %.4f", h->score);
        ok = plain_alignment(w, r, h);
        write_unchanged(w->to, "\n");
    }
    return ok;
}

bool translation_write(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    return w->json ? write_json(w, number, r) : write_plain(w, number, r);
}
