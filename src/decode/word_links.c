#include "decode/word_links.h"

#include <string.h>

bool attend_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Reads the words of a text from its beginning to its end. */
typedef struct reader {
    const char *text;
    int at;          /* bytes read */
    int word, begin; /* index of the current word, -1 before the first; offset of its first byte */
} reader;

/* The word of a token; -1 for a token of white space only. Tokens must be passed in order. */
static int word_of(reader *r, attend_span span)
{
    int last = span.end - 1;
    while (last >= span.begin && attend_is_blank(r->text[last])) last--;
    if (last < span.begin) return -1;
    for (; r->at <= last; r->at++)
        if (!attend_is_blank(r->text[r->at]) && (r->at == 0 || attend_is_blank(r->text[r->at - 1])))
            r->word++, r->begin = r->at;
    return r->word;
}

int attend_most_attended_word(const attend_tokenized_text *source, const attend_real *weights, int rows, int width,
                              attend_span *word)
{
    reader r = { .text = source->text, .word = -1 };
    double max = 0;
    int best = -1;
    for (int j = 0, next = source->count > 0 ? word_of(&r, source->spans[0]) : -1; j < source->count;) {
        const int number = next, begin = r.begin;
        double sum = 0;
        int end = begin;
        do {
            for (int i = 0; i < rows; i++) sum += (double)weights[(size_t)i * (size_t)width + (size_t)j];
            if (source->spans[j].end > end) end = source->spans[j].end;
            next = ++j < source->count ? word_of(&r, source->spans[j]) : -1;
        } while (j < source->count && next == number);
        if (number < 0 || !(sum > max)) continue;
        max = sum, best = number;
        if (word) *word = (attend_span){ begin, end };
    }
    return best;
}

int attend_word_links(const attend_tokenized_text *source, const attend_tokenized_text *target,
                      const attend_real *weights, int width, attend_word_link *links, int room)
{
    reader r = { .text = target->text, .word = -1 };
    int count = 0;
    for (int i = 0, next = target->count > 0 ? word_of(&r, target->spans[0]) : -1; i < target->count;) {
        const int first = i, number = next;
        do next = ++i < target->count ? word_of(&r, target->spans[i]) : -1;
        while (i < target->count && next == number);
        if (number < 0 || count >= room) continue;
        const int best =
            attend_most_attended_word(source, weights + (size_t)first * (size_t)width, i - first, width, NULL);
        if (best >= 0) links[count++] = (attend_word_link){ .source = best, .target = number, .sure = true };
    }
    return count;
}

int attend_word_count(const char *text)
{
    reader r = { .text = text, .word = -1 };
    word_of(&r, (attend_span){ .begin = 0, .end = (int)strlen(text) });
    return r.word + 1;
}

void attend_word_spans(const char *text, attend_span *spans)
{
    for (int at = 0, words = 0; text[at];) {
        const int begin = at;
        while (text[at] && !attend_is_blank(text[at])) at++;
        if (at > begin) spans[words++] = (attend_span){ begin, at };
        while (attend_is_blank(text[at])) at++;
    }
}

void attend_words_of_tokens(const attend_tokenized_text *t, int *words)
{
    reader r = { .text = t->text, .word = -1 };
    for (int i = 0; i < t->count; i++) words[i] = word_of(&r, t->spans[i]);
}

void attend_word_weights(const attend_tokenized_text *source, const attend_tokenized_text *target,
                         const attend_real *weights, int width, double *sums)
{
    const int words = attend_word_count(source->text), rows = attend_word_count(target->text);
    reader r = { .text = target->text, .word = -1 };
    memset(sums, 0, (size_t)words * (size_t)rows * sizeof *sums);
    for (int i = 0, next = target->count > 0 ? word_of(&r, target->spans[0]) : -1; i < target->count;) {
        const int first = i, number = next;
        do next = ++i < target->count ? word_of(&r, target->spans[i]) : -1;
        while (i < target->count && next == number);
        reader from = { .text = source->text, .word = -1 };
        for (int j = 0; number >= 0 && j < source->count; j++) {
            const int word = word_of(&from, source->spans[j]);
            double *to = word >= 0 ? &sums[(size_t)number * (size_t)words + (size_t)word] : NULL;
            for (int k = first; to && k < i; k++)
                *to += (double)weights[(size_t)k * (size_t)width + (size_t)j] / (i - first);
        }
    }
}
