#include "sentence_parts.h"

#include "array.h"

#include <attend/sentences.h>
#include <attend/status.h>
#include <stdlib.h>

void sentence_parts_free(sentence_parts *p)
{
    free(p->texts);
    free(p->sizes);
    free(p->lines);
    *p = (sentence_parts){ 0 };
}

/* Adds the words of a text, from the first to the last. */
static int add(sentence_parts *p, const char *text, size_t size, int line)
{
    attend_span word, whole = { 0, 0 };
    int words = 0;
    for (size_t at = 0; attend_word_next(text, size, &at, &word); words++)
        whole = (attend_span){ words ? whole.begin : word.begin, word.end };
    const size_t count = (size_t)p->count + 1;
    if (!array_reserve(&p->texts, &p->text_capacity, count, sizeof *p->texts) ||
        !array_reserve(&p->sizes, &p->size_capacity, count, sizeof *p->sizes) ||
        !array_reserve(&p->lines, &p->line_capacity, count, sizeof *p->lines))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for %zu sentences", count);
    p->texts[p->count] = text + whole.begin;
    p->sizes[p->count] = (size_t)(whole.end - whole.begin);
    p->lines[p->count++] = line;
    return ATTEND_OK;
}

int sentence_parts_split(sentence_parts *p, const char *const *lines, const size_t *sizes, int count)
{
    int status = ATTEND_OK;
    p->count = 0;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        attend_sentence_reader r = attend_sentences_begin(lines[i], sizes[i]);
        attend_span s;
        const int before = p->count;
        while (status == ATTEND_OK && attend_sentence_next(&r, &s))
            status = add(p, lines[i] + s.begin, (size_t)(s.end - s.begin), i);
        if (status == ATTEND_OK && p->count == before) status = add(p, lines[i], 0, i);
    }
    return status;
}
