/* pipeline.c: text -> NFC, and lower case if the tokenizer has that -> tokens with spans -> ATTEND_END after a source. */
#include "text/pipeline.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include "text/detokenize.h"
#include "text/tokenizer.h"
#include <string.h>

int attend_pipelines_from_model(attend_pipeline sides[2], const attend_model *m)
{
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    sides[ATTEND_SOURCE] = (attend_pipeline){ .side = ATTEND_SOURCE };
    sides[ATTEND_TARGET] = (attend_pipeline){ .side = ATTEND_TARGET };
    int status =
        is_language_model ? ATTEND_OK : attend_tokenizer_from_model(&sides[ATTEND_SOURCE].tokenizer, m, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_from_model(&sides[ATTEND_TARGET].tokenizer, m, "target");
    if (status == ATTEND_OK) /* of what the user writes: a source, or the beginning of a line */
        status =
            attend_seen_words_from_model(&sides[is_language_model].seen, m, is_language_model ? "target" : "source");
    attend_pipelines_set_unit(sides, ATTEND_UNIT_AUTO);
    return status;
}

void attend_pipelines_set_unit(attend_pipeline sides[2], attend_unit unit)
{
    for (int i = 0; i < 2; i++)
        sides[i].unit = unit != ATTEND_UNIT_AUTO ? unit
                        : sides[i].tokenizer     ? attend_tokenizer_unit(sides[i].tokenizer)
                                                 : ATTEND_UNIT_WORD;
}

void attend_pipeline_free(attend_pipeline *p)
{
    attend_tokenizer_free(p->tokenizer);
    attend_seen_words_free(&p->seen);
    attend_ids_free(&p->ids);
    attend_string_free(&p->text);
    attend_string_free(&p->line);
    p->tokenizer = NULL;
}

attend_pipeline attend_pipeline_borrow(const attend_pipeline *from)
{
    return (attend_pipeline){ .tokenizer = from->tokenizer,
                              .side = from->side,
                              .seen = { .bits = from->seen.bits, .size = from->seen.size },
                              .unit = from->unit };
}

void attend_pipeline_free_borrowed(attend_pipeline *p)
{
    attend_string_free(&p->seen.lower);
    attend_ids_free(&p->ids);
    attend_string_free(&p->text);
    attend_string_free(&p->line);
}

void attend_pipeline_clear(attend_pipeline *p)
{
    enum { LARGE = 1 << 20 };
    p->ids.count = 0, p->text.size = 0;
    if (p->ids.capacity > LARGE) attend_ids_free(&p->ids);
    if (p->text.capacity > LARGE) attend_string_free(&p->text);
    if (p->line.capacity > LARGE) attend_string_free(&p->line);
}

/* ---- the steps ---- */

static int add_end(attend_ids *ids, size_t text_size)
{
    return attend_ids_add(ids, ATTEND_END, text_size, text_size);
}

/* Tokens of a normalised text, and the end of a source. */
static int encode_normal(const attend_tokenizer *t, attend_side side, const char *text, size_t size, attend_ids *out,
                         double dropout, uint64_t seed, uint64_t position)
{
    const int before = out->count;
    const int status = attend_tokenizer_encode_normal(t, text, size, out, dropout, seed, position);
    if (status != ATTEND_OK || side != ATTEND_SOURCE || out->count == before) return status;
    return add_end(out, size);
}

int attend_pipeline_encode(const attend_tokenizer *t, attend_side side, const char *text, size_t size, attend_ids *out,
                           double dropout, uint64_t seed, uint64_t position)
{
    attend_string own = { 0 };
    int status = attend_tokenizer_to_normal(t, &text, &size, &own);
    if (status == ATTEND_OK) status = encode_normal(t, side, text, size, out, dropout, seed, position);
    attend_string_free(&own);
    return status;
}

int attend_pipeline_add(attend_pipeline *p, const char *text, size_t size, attend_encoded_text *at)
{
    *at = (attend_encoded_text){ .first = p->ids.count, .offset = p->text.size };
    int status = attend_tokenizer_to_normal(p->tokenizer, &text, &size, &p->line);
    if (status == ATTEND_OK) status = attend_string_add(&p->text, text, size);
    if (status == ATTEND_OK) status = attend_string_add(&p->text, "", 1);
    if (status == ATTEND_OK) status = encode_normal(p->tokenizer, p->side, text, size, &p->ids, 0, 0, 0);
    if (status != ATTEND_OK) {
        attend_pipeline_remove(p, at);
        return status;
    }
    at->size = size;
    at->count = p->ids.count - at->first;
    return ATTEND_OK;
}

static int check_tokens(const attend_tokenizer *t, const int *tokens, int count)
{
    for (int i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= attend_tokenizer_size(t) || tokens[i] == ATTEND_BEGIN ||
            tokens[i] == ATTEND_END)
            return attend_fail(ATTEND_BAD_USAGE, "token %d of %d is %d, which cannot be part of a text", i + 1, count,
                               tokens[i]);
    return ATTEND_OK;
}

bool attend_pipeline_exceeds(const attend_pipeline *p, const char *text, size_t size, int max_tokens)
{
    enum { SHORT = 64 << 10 };
    return size > SHORT && attend_tokenizer_min_tokens(p->tokenizer, text, size) > (size_t)max_tokens;
}

int attend_pipeline_add_nothing(attend_pipeline *p, attend_encoded_text *at)
{
    *at = (attend_encoded_text){ .first = p->ids.count, .offset = p->text.size };
    return attend_string_add(&p->text, "", 1);
}

int attend_pipeline_add_tokens(attend_pipeline *p, const int *tokens, int count, attend_encoded_text *at)
{
    *at = (attend_encoded_text){ .first = p->ids.count, .offset = p->text.size };
    int status = check_tokens(p->tokenizer, tokens, count);
    if (status == ATTEND_OK) status = attend_ids_reserve(&p->ids, (size_t)count);
    if (status != ATTEND_OK) return status;
    if (count) memcpy(p->ids.ids + at->first, tokens, (size_t)count * sizeof *tokens);
    status = attend_detokenize_line(p->tokenizer, tokens, count, NULL, &p->text, p->ids.spans + at->first);
    at->size = p->text.size - at->offset;
    if (status == ATTEND_OK) status = attend_string_add(&p->text, "", 1);
    if (status != ATTEND_OK) {
        attend_pipeline_remove(p, at);
        return status;
    }
    at->count = count;
    p->ids.count += count;
    return ATTEND_OK;
}

int attend_pipeline_add_end(attend_pipeline *p, attend_encoded_text *at)
{
    const int status = add_end(&p->ids, at->size);
    if (status == ATTEND_OK) at->count++;
    return status;
}

void attend_pipeline_remove(attend_pipeline *p, attend_encoded_text *at)
{
    p->ids.count = at->first, p->text.size = at->offset;
    at->count = 0, at->size = 0;
}

int attend_pipeline_length(const attend_pipeline *p, const attend_encoded_text *at)
{
    return p->side == ATTEND_SOURCE ? attend_pipeline_source_length(at->count) : at->count;
}

int *attend_pipeline_join(const attend_pipeline *p, int count, const attend_encoded_text *const *texts, int *lengths)
{
    size_t total = 0, at = 0;
    for (int i = 0; i < count; i++) total += (size_t)(lengths[i] = texts[i]->count);
    int *tokens = attend_memory_zeroed(total, sizeof *tokens);
    for (int i = 0; tokens && i < count; i++) {
        if (lengths[i]) memcpy(tokens + at, attend_pipeline_ids(p, texts[i]), (size_t)lengths[i] * sizeof *tokens);
        at += (size_t)lengths[i];
    }
    return tokens;
}
