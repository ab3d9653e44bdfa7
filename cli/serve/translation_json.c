/* translation_json.c: the answer of /translate. */
#include "serve/translation.h"

#include <attend/json.h>
#include <attend/status.h>
#include <attend/words.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures ---- */

refusal translation_fault_refusal(const char *fault)
{
    return strstr(fault, "too long") ? REFUSED_TOKENS : REFUSED_INVALID;
}

/* Answers if a line has no translation; true: it did. */
static bool refuse_line(server *s, http_exchange *e, const translation *t, int text, int line)
{
    attend_future *f = t->futures[line];
    const attend_line_result *r = attend_future_result(f);
    const attend_future_state state = attend_future_poll(f);
    if (state == ATTEND_FUTURE_DONE && !r->fault) return false;
    if (state == ATTEND_FUTURE_DONE)
        server_refuse(s, e, 400, translation_fault_refusal(r->fault), "line %d of text %d cannot be translated: %s",
                      line - t->first[text] + 1, text + 1, r->fault);
    else if (state == ATTEND_FUTURE_EXPIRED)
        server_refuse(s, e, 503, REFUSED_DEADLINE, "the translation took longer than %g seconds", s->deadline);
    else if (state == ATTEND_FUTURE_CANCELLED)
        server_refuse(s, e, 503, REFUSED_STATE, "the request was cancelled");
    else if (attend_future_status(f) == ATTEND_BAD_USAGE)
        server_refuse(s, e, 400, REFUSED_INVALID, "%s", attend_future_message(f));
    else
        server_refuse(s, e, 500, REFUSED_STATE, "%s", attend_future_message(f));
    return true;
}

/* The weights of the answer. */
static bool has_too_many_weights(const server *s, const translation *t)
{
    double total = 0;
    for (int i = 0; t->request.attention && i < t->count; i++) {
        const attend_line_result *r = attend_future_result(t->futures[i]);
        total += (double)r->source_count * (r->hypotheses[0].count + 1);
    }
    return total > (double)s->max_weights;
}

static bool refuse(server *s, http_exchange *e, const translation *t)
{
    if (t->status == ATTEND_BUSY) {
        server_refuse(s, e, 503, REFUSED_QUEUE, "the server is busy; try again later");
        return true;
    }
    if (t->status != ATTEND_OK) {
        const bool invalid = t->status == ATTEND_BAD_USAGE;
        server_refuse(s, e, invalid ? 400 : 500, invalid ? REFUSED_INVALID : REFUSED_STATE, "%s", t->message);
        return true;
    }
    for (int i = 0; i < t->request.text_count; i++)
        for (int j = t->first[i]; j < t->first[i + 1]; j++)
            if (refuse_line(s, e, t, i, j)) return true;
    const bool is_too_large = has_too_many_weights(s, t);
    if (is_too_large) server_refuse(s, e, 413, REFUSED_WEIGHTS, TOO_MANY_WEIGHTS);
    return is_too_large;
}

/* ---- texts ---- */

/* The hypothesis of rank `rank` of a line, or its last one if it has fewer. */
static const attend_hypothesis *hypothesis_of(const translation *t, int line, int rank)
{
    const attend_line_result *r = attend_future_result(t->futures[line]);
    return &r->hypotheses[rank < r->count ? rank : r->count - 1];
}

static int add_segment(attend_string *all, const translation *t, int text, int line, const attend_hypothesis *h)
{
    const attend_line_result *r = attend_future_result(t->futures[line]);
    const attend_unit automatic = ATTEND_UNIT_WORD; /* a line that was not decoded has no units */
    attend_word_link *links = h->weights ? calloc((size_t)h->count + 1, sizeof *links) : NULL;
    if (h->weights && !links) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    const html_target target = { .text = h->text,
                                 .source_unit = r->source ? r->source_unit : automatic,
                                 .target_unit = r->source ? r->target_unit : automatic,
                                 .links = links,
                                 .link_count = links ? attend_hypothesis_links(r, h, links, h->count) : 0 };
    const int status = html_write_segment(all, &t->documents[text], line - t->first[text], &target);
    free(links);
    return status;
}

/* The translation of rank `rank` of a text: that of each line. */
static int join_lines(attend_string *all, const translation *t, int text, int rank)
{
    const html_document *d = t->documents ? &t->documents[text] : NULL;
    int status = ATTEND_OK;
    for (int i = t->first[text]; status == ATTEND_OK && i < t->first[text + 1]; i++) {
        const attend_hypothesis *h = hypothesis_of(t, i, rank);
        if (d)
            status = html_write_between(all, d, i - t->first[text]);
        else if (i > t->first[text])
            status = t->lines[i - 1].has_return ? attend_string_add(all, "\r\n", 2) : attend_string_add(all, "\n", 1);
        if (status == ATTEND_OK)
            status = d ? add_segment(all, t, text, i, h) : attend_string_add(all, h->text, strlen(h->text));
    }
    return status == ATTEND_OK && d ? html_write_between(all, d, d->segment_count) : status;
}

static void put_text(attend_json_writer *w, const translation *t, int text, int rank)
{
    attend_string all = { 0 };
    if (w->status == ATTEND_OK) w->status = join_lines(&all, t, text, rank);
    attend_json_put_bytes(w, all.text ? all.text : "", all.size);
    attend_string_free(&all);
}

/* Alternatives: as many as the line with the most has, without the best. */
static void put_alternatives(attend_json_writer *w, const translation *t, int text)
{
    int count = 0;
    for (int i = t->first[text]; i < t->first[text + 1]; i++) {
        const attend_line_result *r = attend_future_result(t->futures[i]);
        if (r->count > count) count = r->count;
    }
    attend_json_begin_array(w);
    for (int rank = 1; rank < count; rank++) put_text(w, t, text, rank);
    attend_json_end_array(w);
}

static void put_detected(attend_json_writer *w, const char *code)
{
    attend_json_begin_object(w);
    attend_json_put_key(w, "confidence"), attend_json_put_integer(w, 100);
    attend_json_put_key(w, "language"), attend_json_put_text(w, code);
    attend_json_end_object(w);
}

/* ---- attention ---- */

/* Tokens as the parts of a text that they stand for. */
static void put_tokens(attend_json_writer *w, const char *name, const char *text, const attend_span *spans, int count)
{
    attend_json_put_key(w, name), attend_json_begin_array(w);
    for (int i = 0; i < count; i++)
        attend_json_put_bytes(w, text + spans[i].begin, (size_t)(spans[i].end - spans[i].begin));
    attend_json_end_array(w);
}

static void put_weights(attend_json_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    attend_json_put_key(w, "weights"), attend_json_begin_array(w);
    for (int i = 0; h->weights && i <= h->count; i++) {
        attend_json_begin_array(w);
        for (int j = 0; j < r->source_count; j++)
            attend_json_put_number(w, 5, (double)h->weights[(size_t)i * (size_t)r->source_count + (size_t)j]);
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
}

static void put_links(attend_json_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    attend_word_link *links = calloc((size_t)h->count + 1, sizeof *links);
    if (!links) {
        w->status = attend_fail(ATTEND_NO_MEMORY, "out of memory");
        return;
    }
    const int count = attend_hypothesis_links(r, h, links, h->count);
    attend_json_put_key(w, "alignment"), attend_json_begin_array(w);
    for (int i = 0; i < count; i++) {
        attend_json_begin_array(w);
        attend_json_put_integer(w, links[i].source), attend_json_put_integer(w, links[i].target);
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
    free(links);
}

/* The last row and column are those of the end of the sentence. */
static void put_attention(attend_json_writer *w, const attend_line_result *r)
{
    const attend_hypothesis *h = &r->hypotheses[0];
    attend_json_begin_object(w);
    put_tokens(w, "source", r->source_text, r->source_spans, r->source_count);
    put_tokens(w, "target", h->text, h->spans, h->count);
    attend_json_put_key(w, "probabilities"), attend_json_begin_array(w);
    for (int i = 0; h->token_log_probability && i <= h->count; i++)
        attend_json_put_number(w, 4, exp((double)h->token_log_probability[i]));
    attend_json_end_array(w);
    attend_json_put_key(w, "confidence"), attend_json_put_number(w, 4, h->confidence);
    put_weights(w, r, h);
    put_links(w, r, h);
    attend_json_end_object(w);
}

/* One object for each line of a text. */
static void put_attention_of_text(attend_json_writer *w, const translation *t, int text)
{
    attend_json_begin_array(w);
    for (int i = t->first[text]; i < t->first[text + 1]; i++) put_attention(w, attend_future_result(t->futures[i]));
    attend_json_end_array(w);
}

/* ---- the answer ---- */

typedef enum part { PART_TEXT, PART_ALTERNATIVES, PART_DETECTED, PART_ATTENTION } part;

static void put_part(attend_json_writer *w, const server *s, const translation *t, part which, int text)
{
    switch (which) {
    case PART_TEXT:
        put_text(w, t, text, 0);
        break;
    case PART_ALTERNATIVES:
        put_alternatives(w, t, text);
        break;
    case PART_DETECTED:
        put_detected(w, s->models.pairs[t->pair].source);
        break;
    case PART_ATTENTION:
        put_attention_of_text(w, t, text);
        break;
    }
}

/* A member of the answer: a value for a text, or an array of them for an array. */
static void put_member(attend_json_writer *w, const server *s, const translation *t, const char *name, part which)
{
    attend_json_put_key(w, name);
    if (t->request.is_array) attend_json_begin_array(w);
    for (int i = 0; i < t->request.text_count; i++) put_part(w, s, t, which, i);
    if (t->request.is_array) attend_json_end_array(w);
}

void translation_reply(server *s, http_exchange *e)
{
    static const char cancelled[] = "{\"error\": \"the request was cancelled\"}\n";
    translation *t = http_data(e);
    const translate_request *r = &t->request;
    attend_string json = { 0 };
    attend_json_writer w = attend_json_to_string(&json);
    if (translation_is_gone(t)) { /* its client may still read, if it closed one direction only */
        http_reply_static(e, 503, "application/json", cancelled, strlen(cancelled));
        return;
    }
    if (refuse(s, e, t)) return;
    w.minimal = true;
    attend_json_begin_object(&w);
    if (r->alternatives > 0) put_member(&w, s, t, "alternatives", PART_ALTERNATIVES);
    if (r->attention) put_member(&w, s, t, "attention", PART_ATTENTION);
    if (strcmp(r->source, "auto") == 0) put_member(&w, s, t, "detectedLanguage", PART_DETECTED);
    put_member(&w, s, t, "translatedText", PART_TEXT);
    attend_json_end_object(&w);
    attend_json_put_space(&w, "\n");
    translation_free_results(t);
    if (w.status == ATTEND_OK && !translation_reserve(t, json.size)) {
        attend_string_free(&json);
        server_refuse(s, e, 503, REFUSED_ANSWERS, "the server has no memory for this answer now");
        return;
    }
    server_reply_json(s, e, 200, &w, &json);
}
