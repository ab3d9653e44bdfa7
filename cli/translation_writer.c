#include "translation_writer.h"

#include "format/json.h"
#include <stdlib.h>

void translation_writer_free(translation_writer *w)
{
    free(w->quoted);
    free(w->links);
    w->quoted = NULL, w->quoted_room = 0, w->links = NULL, w->link_room = 0;
}

/* ---- parts ---- */

static bool quote(translation_writer *w, const char *text)
{
    const size_t size = attend_json_quote(NULL, text);
    if (size > w->quoted_room) {
        char *more = realloc(w->quoted, 2 * size);
        if (!more) return false;
        w->quoted = more, w->quoted_room = 2 * size;
    }
    attend_json_quote(w->quoted, text);
    fwrite(w->quoted, 1, size, w->to);
    return true;
}

/* "source": ["a", "b", "</s>"] */
static bool write_tokens(translation_writer *w, const char *name, bool target, const int *words, int count, bool end)
{
    const attend_tokenizer *t = attend_translator_tokenizer(w->translator, target);
    bool ok = true;
    fprintf(w->to, ", \"%s\": [", name);
    for (int i = 0; ok && i < count; i++) {
        if (i) fputs(", ", w->to);
        ok = quote(w, attend_tokenizer_token(t, words[i]));
    }
    if (ok && end) {
        if (count) fputs(", ", w->to);
        ok = quote(w, attend_tokenizer_token(t, ATTEND_END));
    }
    fputs("]", w->to);
    return ok;
}

/* The links of a translation into w->links: how many, or -1. */
static int find_links(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    if (h->count > w->link_room) {
        attend_word_link *more = realloc(w->links, 2 * (size_t)h->count * sizeof *more);
        if (!more) return -1;
        w->links = more, w->link_room = 2 * h->count;
    }
    return attend_hypothesis_links(r, h, w->links, h->count);
}

/* ---- JSON ---- */

static bool json_alignment(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    if (!h->weights) return true;
    const int links = find_links(w, r, h);
    fputs(", \"alignment\": [", w->to);
    for (int i = 0; i < links; i++) fprintf(w->to, "%s[%d, %d]", i ? ", " : "", w->links[i].source, w->links[i].target);
    fputs("]", w->to);
    if (w->alignment != ALIGNMENT_SOFT) return links >= 0;
    fputs(", \"weights\": [", w->to);
    for (int i = 0; i <= h->count; i++) {
        fputs(i ? ", [" : "[", w->to);
        for (int j = 0; j < r->source_count; j++)
            fprintf(w->to, "%s%.5f", j ? ", " : "",
                    (double)h->weights[(size_t)i * (size_t)r->source_count + (size_t)j]);
        fputs("]", w->to);
    }
    fputs("]", w->to);
    return links >= 0;
}

static bool json_hypothesis(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    fputs("\"text\": ", w->to);
    bool ok = quote(w, h->text);
    if (ok && w->lines) {
        fputs(", \"continuation\": ", w->to);
        ok = quote(w, h->text + h->prefix_size);
    }
    fprintf(w->to, ", \"score\": %.6f, \"log_probability\": %.6f", h->score, h->log_probability);
    if (ok) ok = write_tokens(w, "target", true, h->tokens, h->count, w->lines || r->source != NULL);
    return ok && json_alignment(w, r, h);
}

static bool write_json(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    fprintf(w->to, "{\"line\": %llu, ", number + 1);
    if (r->fault) {
        fputs("\"text\": \"\", \"fault\": ", w->to);
        const bool ok = quote(w, r->fault);
        fputs("}\n", w->to);
        return ok;
    }
    bool ok = json_hypothesis(w, r, &r->hypotheses[0]);
    if (ok && !w->lines) ok = write_tokens(w, "source", false, r->source, r->source_count, false);
    if (w->list) fputs(", \"n_best\": [", w->to);
    for (int i = 0; ok && w->list && i < r->count; i++) {
        fputs(i ? ", {" : "{", w->to);
        ok = json_hypothesis(w, r, &r->hypotheses[i]);
        fputs("}", w->to);
    }
    fputs(w->list ? "]}\n" : "}\n", w->to);
    return ok;
}

/* ---- plain ---- */

/* " ||| 0-0 1-2", or " ||| 0.1,0.9 0.8,0.2 0.5,0.5": a row for each piece and the end */
static bool plain_alignment(translation_writer *w, const attend_line_result *r, const attend_hypothesis *h)
{
    if (w->alignment == ALIGNMENT_NONE) return true;
    fputs(" |||", w->to);
    const int links = w->alignment == ALIGNMENT_HARD ? find_links(w, r, h) : 0;
    for (int i = 0; i < links; i++) fprintf(w->to, " %d-%d", w->links[i].source, w->links[i].target);
    for (int i = 0; w->alignment == ALIGNMENT_SOFT && h->weights && i <= h->count; i++)
        for (int j = 0; j < r->source_count; j++)
            fprintf(w->to, "%s%.5f", j ? "," : " ",
                    (double)h->weights[(size_t)i * (size_t)r->source_count + (size_t)j]);
    return links >= 0;
}

static bool write_plain(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    bool ok = true;
    for (int i = 0; ok && i < (w->list ? r->count : 1); i++) {
        const attend_hypothesis *h = &r->hypotheses[i];
        if (w->list)
            fprintf(w->to, "%llu ||| %s ||| logp=%.4f ||| %.4f", number, h->text, h->log_probability, h->score);
        else
            fputs(h->text, w->to);
        ok = plain_alignment(w, r, h);
        fputs("\n", w->to);
    }
    return ok;
}

bool translation_write(translation_writer *w, unsigned long long number, const attend_line_result *r)
{
    return w->json ? write_json(w, number, r) : write_plain(w, number, r);
}
