#include "decode/detokenize.h"

#include "text/buffers.h"
#include "text/tokenizer.h"
#include <string.h>

static bool is_byte(int id)
{
    return id >= ATTEND_FIRST_BYTE && id < ATTEND_FIRST_LEARNED;
}

/* Words, a space between two. */
static int spell_words(const attend_tokenizer *t, const int *ids, int count, const attend_substitution *instead,
                       attend_string *out, attend_span *spans)
{
    const size_t before = out->size;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        if (out->size > before) status = attend_string_add(out, " ", 1);
        spans[i].begin = (int)(out->size - before);
        if (status == ATTEND_OK && instead && instead[i].text)
            status = attend_string_add(out, instead[i].text, instead[i].size);
        else if (status == ATTEND_OK)
            status = attend_tokenizer_decode(t, ids + i, 1, out);
        spans[i].end = (int)(out->size - before);
    }
    return status;
}

/* Pieces, one behind the other; bytes that follow one another together. */
static int spell_pieces(const attend_tokenizer *t, const int *ids, int count, attend_string *out, attend_span *spans)
{
    const size_t before = out->size;
    int status = ATTEND_OK;
    for (int i = 0, next; status == ATTEND_OK && i < count; i = next) {
        next = i + 1;
        while (is_byte(ids[i]) && next < count && is_byte(ids[next])) next++;
        const size_t begin = out->size - before;
        status = attend_characters_decode(t, ids + i, next - i, out);
        for (int j = i; j < next; j++) spans[j] = (attend_span){ (int)begin, (int)(out->size - before) };
    }
    /* the space that byte pairs put in front of a line */
    if (status != ATTEND_OK || attend_tokenizer_kind(t) != ATTEND_TOKENS_BPE || out->size == before ||
        out->text[before] != ' ')
        return status;
    memmove(out->text + before, out->text + before + 1, out->size - before); /* the '\0' too */
    out->size--;
    for (int i = 0; i < count; i++) {
        if (spans[i].begin > 0) spans[i].begin--;
        if (spans[i].end > 0) spans[i].end--;
    }
    return ATTEND_OK;
}

int attend_detokenize(const attend_tokenizer *t, const int *ids, int count, const attend_substitution *instead,
                      attend_string *out, attend_span *spans)
{
    return attend_tokenizer_kind(t) == ATTEND_TOKENS_WORD ? spell_words(t, ids, count, instead, out, spans)
                                                          : spell_pieces(t, ids, count, out, spans);
}
