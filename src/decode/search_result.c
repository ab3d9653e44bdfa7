/* search_result.c: translations out of a search's nodes. */
#include "decode/search.h"

#include "core/memory.h"
#include "core/status.h"
#include <string.h>

typedef attend_real real;

struct attend_search_result {
    int count;
    int *first; /* (count + 1): of the translations of each source */
    attend_translation *list;
    int *words;
    real *numbers;
};

void attend_search_result_free(attend_search_result *f)
{
    if (!f) return;
    attend_memory_free(f->first);
    attend_memory_free(f->list);
    attend_memory_free(f->words);
    attend_memory_free(f->numbers);
    attend_memory_free(f);
}

int attend_search_result_count(const attend_search_result *f, int source)
{
    return source >= 0 && source < f->count ? f->first[source + 1] - f->first[source] : 0;
}

const attend_translation *attend_search_result_at(const attend_search_result *f, int source, int rank)
{
    return rank >= 0 && rank < attend_search_result_count(f, source) ? &f->list[f->first[source] + rank] : NULL;
}

static int rows_of(const search *s, int last)
{
    int rows = 0;
    for (int n = last; n >= 0; n = s->nodes[n].parent) rows++;
    return rows;
}

/* Numbers that a translation of so many rows takes. */
static size_t numbers_of(const search *s, const search_beam *b, int rows)
{
    return (size_t)rows * (1 + (s->o.weights && s->voters.attending ? (size_t)b->length : 0));
}

/* Writes a translation behind what *words and *numbers have so far. */
static attend_translation translation_of(const search *s, const search_beam *b, const search_end *e, int **words,
                                         real **numbers)
{
    const int rows = rows_of(s, e->last);
    const bool weights = s->o.weights && s->voters.attending;
    attend_translation t = { .words = *words,
                             .count = rows - 1,
                             .ended = e->ended,
                             .score = e->score,
                             .log_probability = e->sum,
                             .token_log_probability = *numbers,
                             .weights = weights ? *numbers + rows : NULL };
    for (int n = e->last, i = rows - 1; n >= 0; n = s->nodes[n].parent, i--) {
        if (i < rows - 1) (*words)[i] = s->nodes[n].word;
        (*numbers)[i] = s->nodes[n].log_p;
        if (weights)
            memcpy(*numbers + rows + (size_t)i * (size_t)b->length, s->nodes[n].weights,
                   (size_t)b->length * sizeof **numbers);
    }
    *words += rows - 1;
    *numbers += numbers_of(s, b, rows);
    return t;
}

static int found_new(attend_search_result **out, int sources, size_t count, size_t words, size_t numbers)
{
    attend_search_result *f = attend_memory_zeroed(1, sizeof *f);
    if (f) {
        f->count = sources;
        f->first = attend_memory_zeroed((size_t)sources + 1, sizeof *f->first);
        f->list = attend_memory_zeroed(count, sizeof *f->list);
        f->words = attend_memory_zeroed(words, sizeof *f->words);
        f->numbers = attend_memory_zeroed(numbers, sizeof *f->numbers);
    }
    if (!f || !f->first || !f->list || !f->words || !f->numbers) {
        attend_search_result_free(f);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu translations", count);
    }
    *out = f;
    return ATTEND_OK;
}

int attend_search_collect(const search *s, attend_search_result **out)
{
    size_t count = 0, words = 0, numbers = 0;
    for (int i = 0; i < s->count; i++) {
        const search_beam *b = &s->beams[i];
        if (b->done_count == 0 || (s->o.sample && b->done_count < s->o.n_best))
            return attend_fail(ATTEND_FAILED,
                               "source %d: the model's probabilities are not numbers; its weights are too large", i);
        for (int j = 0; j < b->done_count; j++) {
            const int rows = rows_of(s, b->done[j].last);
            count++, words += (size_t)rows, numbers += numbers_of(s, b, rows);
        }
    }
    attend_search_result *f = NULL;
    const int status = found_new(&f, s->count, count, words, numbers);
    if (status != ATTEND_OK) return status;
    int *word = f->words;
    real *number = f->numbers;
    for (int i = 0, n = 0; i < s->count; i++) {
        for (int j = 0; j < s->beams[i].done_count; j++)
            f->list[n++] = translation_of(s, &s->beams[i], &s->beams[i].done[j], &word, &number);
        f->first[i + 1] = n;
    }
    *out = f;
    return ATTEND_OK;
}
