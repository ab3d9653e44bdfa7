/* unknowns.c: what a text has that the training data did not have. */
#include "text/unknowns.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "text/tokenizer.h"

void attend_unknown_list_free(attend_unknown_list *l)
{
    attend_memory_free(l->items);
    *l = (attend_unknown_list){ 0 };
}

static int add(attend_unknown_list *l, size_t begin, size_t end, bool is_word)
{
    if ((size_t)l->count == l->capacity) {
        void *more = attend_grow_array(l->items, l->capacity, l->capacity + 1, sizeof *l->items, &l->capacity);
        if (!more) return attend_fail(ATTEND_NO_MEMORY, "no memory for the unknown words of a line");
        l->items = more;
    }
    l->items[l->count++] = (attend_unknown_span){ { (int)begin, (int)end }, is_word };
    return ATTEND_OK;
}

/* Tokens that stand for what the vocabulary does not have. A character that is encoded as bytes counts once. */
static int add_tokens(const attend_pipeline *p, const attend_encoded_text *at, attend_unknown_list *l)
{
    const char *text = attend_pipeline_text(p, at);
    const int *ids = attend_pipeline_ids(p, at);
    const attend_span *spans = attend_pipeline_spans(p, at);
    const bool has_bytes = attend_tokenizer_kind(p->tokenizer) != ATTEND_TOKENS_WORD;
    int status = ATTEND_OK;
    for (int i = 0, end = 0; status == ATTEND_OK && i < at->count; i++) {
        const bool is_byte = has_bytes && ids[i] >= ATTEND_FIRST_BYTE && ids[i] < ATTEND_FIRST_LEARNED;
        if (ids[i] != ATTEND_UNKNOWN && (!is_byte || spans[i].begin < end)) continue;
        end = is_byte ? spans[i].begin + (int)attend_utf8_length(text[spans[i].begin]) : spans[i].end;
        status = add(l, (size_t)spans[i].begin, (size_t)end, !is_byte);
    }
    return status;
}

int attend_pipeline_unknowns(attend_pipeline *p, const attend_encoded_text *at, attend_unknown_list *l)
{
    const char *text = attend_pipeline_text(p, at);
    attend_span word;
    bool has = true;
    l->count = 0;
    int status = add_tokens(p, at, l);
    for (size_t i = 0; p->seen.bits && status == ATTEND_OK && attend_seen_word_next(text, at->size, &i, &word);) {
        status = attend_seen_words_has(&p->seen, text, word, &has);
        if (status == ATTEND_OK && !has) status = add(l, (size_t)word.begin, (size_t)word.end, true);
    }
    return status;
}
