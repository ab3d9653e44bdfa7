#include "decode/word_links.h"

#include "text/words.h"
#include <string.h>

static attend_word_reader words_of(const attend_tokenized_text *t)
{
    return attend_word_reader_of(t->unit, t->text, strlen(t->text));
}

int attend_tokenized_count(const attend_tokenized_text *t)
{
    attend_word_reader r = words_of(t);
    if (t->unit != ATTEND_UNIT_PIECE) return attend_unit_count(t->unit, t->text, strlen(t->text));
    for (int i = 0; i < t->count; i++) attend_word_of_token(&r, t->spans[i]);
    return r.index + 1;
}

/* The index of the word, as attend_most_attended_word, and the largest sum. */
static int most_attended(const attend_tokenized_text *source, const attend_real *weights, int rows, int width,
                         attend_span *word, double *max)
{
    attend_word_reader r = words_of(source);
    int best = -1;
    *max = 0;
    for (int j = 0, next = source->count > 0 ? attend_word_of_token(&r, source->spans[0]) : -1; j < source->count;) {
        const int number = next, begin = r.word.begin;
        double sum = 0;
        int end = begin;
        do {
            for (int i = 0; i < rows; i++) sum += (double)weights[(size_t)i * (size_t)width + (size_t)j];
            if (source->spans[j].end > end) end = source->spans[j].end;
            next = ++j < source->count ? attend_word_of_token(&r, source->spans[j]) : -1;
        } while (j < source->count && next == number);
        if (number < 0 || !(sum > *max)) continue;
        *max = sum, best = number;
        if (word) *word = (attend_span){ begin, end };
    }
    return best;
}

int attend_most_attended_word(const attend_tokenized_text *source, const attend_real *weights, int rows, int width,
                              attend_span *word)
{
    double max;
    return most_attended(source, weights, rows, width, word, &max);
}

/* Whether some rows attend more to the source's end than a word's sum. */
static bool is_null(const attend_real *weights, int rows, int width, double max)
{
    double sum = 0;
    for (int i = 0; i < rows; i++) sum += (double)weights[(size_t)(i + 1) * (size_t)width - 1];
    return sum > max;
}

int attend_word_links(const attend_tokenized_text *source, const attend_tokenized_text *target,
                      const attend_real *weights, int width, bool has_null, attend_word_link *links, int capacity)
{
    attend_word_reader r = words_of(target);
    int count = 0;
    for (int i = 0, next = target->count > 0 ? attend_word_of_token(&r, target->spans[0]) : -1; i < target->count;) {
        const int first = i, number = next;
        do next = ++i < target->count ? attend_word_of_token(&r, target->spans[i]) : -1;
        while (i < target->count && next == number);
        if (number < 0 || count >= capacity) continue;
        const attend_real *rows = weights + (size_t)first * (size_t)width;
        double max;
        const int best = most_attended(source, rows, i - first, width, NULL, &max);
        if (best < 0 || (has_null && is_null(rows, i - first, width, max))) continue;
        links[count++] = (attend_word_link){ .source = best, .target = number, .sure = true };
    }
    return count;
}

void attend_word_weights(const attend_tokenized_text *source, const attend_tokenized_text *target,
                         const attend_real *weights, int width, double *sums)
{
    const int words = attend_tokenized_count(source);
    const int rows = attend_tokenized_count(target);
    attend_word_reader r = words_of(target);
    memset(sums, 0, (size_t)words * (size_t)rows * sizeof *sums);
    for (int i = 0, next = target->count > 0 ? attend_word_of_token(&r, target->spans[0]) : -1; i < target->count;) {
        const int first = i, number = next;
        do next = ++i < target->count ? attend_word_of_token(&r, target->spans[i]) : -1;
        while (i < target->count && next == number);
        attend_word_reader from = words_of(source);
        for (int j = 0; number >= 0 && j < source->count; j++) {
            const int word = attend_word_of_token(&from, source->spans[j]);
            double *to = word >= 0 ? &sums[(size_t)number * (size_t)words + (size_t)word] : NULL;
            for (int k = first; to && k < i; k++)
                *to += (double)weights[(size_t)k * (size_t)width + (size_t)j] / (i - first);
        }
    }
}
