#include "text/detokenize.h"

#include "text/hangul.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include <string.h>

static bool is_byte(int id)
{
    return id >= ATTEND_FIRST_BYTE && id < ATTEND_FIRST_LEARNED;
}

/* Words, separated by spaces. */
static int detokenize_words(const attend_tokenizer *t, const int *ids, int count,
                            const attend_substitution *substitutions, attend_string *out, attend_span *spans)
{
    const size_t before = out->size;
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        if (out->size > before) status = attend_string_add(out, " ", 1);
        spans[i].begin = (int)(out->size - before);
        if (status == ATTEND_OK && substitutions && substitutions[i].text)
            status = attend_string_add(out, substitutions[i].text, substitutions[i].size);
        else if (status == ATTEND_OK)
            status = attend_tokenizer_decode(t, ids + i, 1, out);
        spans[i].end = (int)(out->size - before);
    }
    return status;
}

/* True if a token and the one before it are decoded together: bytes, and the letters of a Hangul syllable. */
static bool continues(const attend_tokenizer *t, int before, int id)
{
    if (attend_tokenizer_kind(t) != ATTEND_TOKENS_JAMO) return is_byte(before) && is_byte(id);
    return is_byte(id) || /* a model can write a letter as bytes */
           attend_hangul_continues(attend_string_table_at(&t->tokens, id), attend_string_table_size(&t->tokens, id));
}

/* Characters and subwords, concatenated. */
static int detokenize_subwords(const attend_tokenizer *t, const int *ids, int count, attend_string *out,
                               attend_span *spans)
{
    const size_t before = out->size;
    int status = ATTEND_OK;
    for (int i = 0, next; status == ATTEND_OK && i < count; i = next) {
        next = i + 1;
        while (next < count && continues(t, ids[next - 1], ids[next])) next++;
        const size_t begin = out->size - before;
        status = attend_characters_decode(t, ids + i, next - i, out);
        if (status == ATTEND_OK && attend_tokenizer_kind(t) == ATTEND_TOKENS_JAMO) {
            char *const made = out->text + before + begin;
            out->size = before + begin + attend_hangul_compose(made, out->size - before - begin);
            out->text[out->size] = '\0';
        }
        for (int j = i; j < next; j++) spans[j] = (attend_span){ (int)begin, (int)(out->size - before) };
    }
    /* remove the space that bpe puts before a line */
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

int attend_detokenize(const attend_tokenizer *t, const int *ids, int count, const attend_substitution *substitutions,
                      attend_string *out, attend_span *spans)
{
    return attend_tokenizer_kind(t) == ATTEND_TOKENS_WORD ? detokenize_words(t, ids, count, substitutions, out, spans)
                                                          : detokenize_subwords(t, ids, count, out, spans);
}

int attend_detokenize_line(const attend_tokenizer *t, const int *ids, int count,
                           const attend_substitution *substitutions, attend_string *out, attend_span *spans)
{
    const size_t before = out->size;
    const int status = attend_detokenize(t, ids, count, substitutions, out, spans);
    for (size_t i = before; status == ATTEND_OK && i < out->size; i++)
        if (out->text[i] == '\n' || out->text[i] == '\0') out->text[i] = ' ';
    return status;
}
