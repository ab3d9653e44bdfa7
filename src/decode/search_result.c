/* search_result.c: the hypotheses of a search, collected from its nodes. */
#include "decode/search.h"

#include "core/memory.h"
#include "core/status.h"
#include <string.h>

typedef attend_real real;

struct attend_search_result {
    int count;
    int *first;   /* (count + 1) index of the first hypothesis of each source */
    int *lengths; /* (count) tokens of each source */
    attend_translation *list;
    int *tokens;
    real *numbers;
};

void attend_search_result_free(attend_search_result *r)
{
    if (!r) return;
    attend_memory_free(r->first);
    attend_memory_free(r->lengths);
    attend_memory_free(r->list);
    attend_memory_free(r->tokens);
    attend_memory_free(r->numbers);
    attend_memory_free(r);
}

int attend_search_result_count(const attend_search_result *r, int source)
{
    ATTEND_REQUIRE(0, r);
    return source >= 0 && source < r->count ? r->first[source + 1] - r->first[source] : 0;
}

const attend_translation *attend_search_result_at(const attend_search_result *r, int source, int rank)
{
    ATTEND_REQUIRE(NULL, r);
    return rank >= 0 && rank < attend_search_result_count(r, source) ? &r->list[r->first[source] + rank] : NULL;
}

static int rows_of(const search *s, int last)
{
    int rows = 0;
    for (int n = last; n >= 0; n = s->nodes[n].parent) rows++;
    return rows;
}

/* The size of a hypothesis of some rows: log probabilities and weights. */
static size_t numbers_of(const search *s, const search_beam *b, int rows)
{
    return (size_t)rows * (1 + (s->o.weights && s->ensemble.attending ? (size_t)b->length : 0));
}

/* Writes a hypothesis at *tokens and *numbers, which move to its end. */
static attend_translation translation_of(const search *s, const search_beam *b, const search_end *e, int **tokens,
                                         real **numbers)
{
    const int rows = rows_of(s, e->last);
    const bool weights = s->o.weights && s->ensemble.attending;
    attend_translation t = { .tokens = *tokens,
                             .count = rows - 1,
                             .ended = e->ended,
                             .score = e->score,
                             .log_probability = e->sum,
                             .token_log_probability = *numbers,
                             .weights = weights ? *numbers + rows : NULL };
    for (int n = e->last, i = rows - 1; n >= 0; n = s->nodes[n].parent, i--) {
        if (i < rows - 1) (*tokens)[i] = s->nodes[n].token;
        (*numbers)[i] = s->nodes[n].log_p;
        if (weights && b->length > 0)
            memcpy(*numbers + rows + (size_t)i * (size_t)b->length, s->nodes[n].weights,
                   (size_t)b->length * sizeof **numbers);
    }
    *tokens += rows - 1;
    *numbers += numbers_of(s, b, rows);
    return t;
}

static int result_new(attend_search_result **out, int sources, size_t count, size_t tokens, size_t numbers)
{
    attend_search_result *r = attend_memory_zeroed(1, sizeof *r);
    if (r) {
        r->count = sources;
        r->first = attend_memory_zeroed((size_t)sources + 1, sizeof *r->first);
        r->lengths = attend_memory_zeroed((size_t)sources, sizeof *r->lengths);
        r->list = attend_memory_zeroed(count, sizeof *r->list);
        r->tokens = attend_memory_zeroed(tokens, sizeof *r->tokens);
        r->numbers = attend_memory_zeroed(numbers, sizeof *r->numbers);
    }
    if (!r || !r->first || !r->lengths || !r->list || !r->tokens || !r->numbers) {
        attend_search_result_free(r);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %zu translations", count);
    }
    *out = r;
    return ATTEND_OK;
}

int attend_search_result_extract(attend_search_result **out, const attend_search_result *r, int source, bool weights)
{
    const int first = r->first[source], count = r->first[source + 1] - first;
    size_t tokens = 0, numbers = 0;
    for (int i = first; i < first + count; i++) {
        const attend_translation *t = &r->list[i];
        tokens += (size_t)t->count;
        numbers += ((size_t)t->count + 1) * (1 + (weights && t->weights ? (size_t)r->lengths[source] : 0));
    }
    attend_search_result *x = NULL;
    const int status = result_new(&x, 1, (size_t)count, tokens, numbers);
    if (status != ATTEND_OK) return status;
    int *token = x->tokens;
    real *number = x->numbers;
    x->first[1] = count;
    x->lengths[0] = r->lengths[source];
    for (int i = 0; i < count; i++) {
        const attend_translation *t = &r->list[first + i];
        const size_t rows = (size_t)t->count + 1, all = rows * (size_t)r->lengths[source];
        x->list[i] = *t;
        x->list[i].tokens = token, x->list[i].token_log_probability = number, x->list[i].weights = NULL;
        if (t->count > 0) memcpy(token, t->tokens, (size_t)t->count * sizeof *token);
        memcpy(number, t->token_log_probability, rows * sizeof *number);
        token += t->count, number += rows;
        if (!weights || !t->weights) continue;
        if (all > 0) memcpy(number, t->weights, all * sizeof *number);
        x->list[i].weights = number;
        number += all;
    }
    *out = x;
    return ATTEND_OK;
}

int attend_search_collect(const search *s, attend_search_result **out)
{
    size_t count = 0, tokens = 0, numbers = 0;
    for (int i = 0; i < s->count; i++) {
        const search_beam *b = &s->beams[i];
        if (b->is_stopped) continue;
        if (b->done_count == 0 || (s->o.sample && b->done_count < s->o.n_best))
            return attend_fail(ATTEND_FAILED, "source %d: the model's probabilities are not finite", i);
        for (int j = 0; j < b->done_count; j++) {
            const int rows = rows_of(s, b->done[j].last);
            count++, tokens += (size_t)rows, numbers += numbers_of(s, b, rows);
        }
    }
    attend_search_result *r = NULL;
    const int status = result_new(&r, s->count, count, tokens, numbers);
    if (status != ATTEND_OK) return status;
    int *token = r->tokens;
    real *number = r->numbers;
    for (int i = 0, n = 0; i < s->count; i++) {
        for (int j = 0; j < s->beams[i].done_count; j++)
            r->list[n++] = translation_of(s, &s->beams[i], &s->beams[i].done[j], &token, &number);
        r->first[i + 1] = n;
        r->lengths[i] = s->beams[i].length;
    }
    *out = r;
    return ATTEND_OK;
}
