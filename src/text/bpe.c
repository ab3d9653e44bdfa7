/* bpe.c: byte-pair encoding (Sennrich, Haddow, Birch 2016): tokens are subwords.
 *
 * A word is a run of spaces followed by a run of other characters, with split_classes of one class (boundaries.h);
 * merges do not cross its borders. A space is put
 * before each line, so that its first word is encoded as it is elsewhere; decoding removes it. */
#include "text/tokenizer.h"

#include "core/status.h"
#include "core/utf8.h"
#include "text/boundaries.h"
#include <string.h>

size_t attend_bpe_word_end(const char *text, size_t size, size_t begin, bool split_classes)
{
    size_t end = begin;
    while (end < size && text[end] == ' ') end++;
    if (split_classes && end < size) return attend_boundary_next(text, size, end);
    const char *next = end < size ? memchr(text + end, ' ', size - end) : NULL;
    return next ? (size_t)(next - text) : size;
}

static int split(const attend_tokenizer_options *o, attend_string_table *parts, const char *text, size_t size)
{
    if (size == 0) return ATTEND_OK;
    size_t end = attend_bpe_word_end(text, size, 0, o->split_classes);
    attend_string first = { 0 };
    int status = attend_string_add(&first, " ", 1);
    if (status == ATTEND_OK) status = attend_string_add(&first, text, end);
    if (status == ATTEND_OK) status = attend_string_table_count(parts, first.text, first.size, 1);
    attend_string_free(&first);
    for (size_t begin = end; begin < size && status == ATTEND_OK; begin = end) {
        end = attend_bpe_word_end(text, size, begin, o->split_classes);
        status = attend_string_table_count(parts, text + begin, end - begin, 1);
    }
    return status;
}

int attend_bpe_add_merge(attend_tokenizer *t, int left, int right)
{
    if ((size_t)t->merge_count == t->merge_capacity) {
        void *more = attend_grow_array(t->merges, t->merge_capacity, t->merge_capacity + 1, sizeof *t->merges,
                                       &t->merge_capacity);
        if (!more) return attend_fail(ATTEND_NO_MEMORY, "no memory for more than %d merges", t->merge_count);
        t->merges = more;
    }
    t->merges[t->merge_count++] = (attend_merge){ left, right };
    return ATTEND_OK;
}

/* Tokens below first_merge are characters. That the others are made by merges has been checked by the reader. */
static const char *fault(const attend_tokenizer *t, int id)
{
    if (id < t->first_merge) return attend_character_fault(t, id);
    return NULL;
}

static int decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out)
{
    const size_t before = out->size;
    const int status = attend_characters_decode(t, ids, count, out);
    if (status == ATTEND_OK && out->size > before && out->text[before] == ' ') {
        memmove(out->text + before, out->text + before + 1, out->size - before); /* the '\0' too */
        out->size--;
    }
    return status;
}

const attend_kind attend_kind_bpe = {
    .kind = ATTEND_TOKENS_BPE,
    .first = ATTEND_FIRST_LEARNED,
    .default_size = 8000,
    .split = split,
    .learn = attend_bpe_learn,
    .finish = attend_bpe_finish,
    .fault = fault,
    .encode = attend_bpe_encode,
    .decode = decode,
};
