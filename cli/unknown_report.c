#include "unknown_report.h"

#include "array.h"

#include <attend/status.h>
#include <stdlib.h>

enum { CHARACTERS, WORDS, MAX_TEXTS = 10000, SHOWN = 5 };

static int count_text(struct unknown_kind *k, const attend_unknown *x)
{
    int number;
    if (k->texts.count >= MAX_TEXTS && attend_string_table_find(&k->texts, x->text, x->size) < 0) return ATTEND_OK;
    if (!array_reserve(&k->counts, &k->capacity, (size_t)k->texts.count + 1, sizeof *k->counts))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory counting unknown words");
    const int before = k->texts.count;
    const int status = attend_string_table_add(&k->texts, x->text, x->size, &number);
    if (status == ATTEND_OK) k->counts[number] = number < before ? k->counts[number] + 1 : 1;
    return status;
}

int unknown_report_add(unknown_report *u, unsigned long long number, const attend_line_result *r)
{
    int status = ATTEND_OK;
    if (u->last != number + 1) u->lines++, u->last = number + 1;
    for (int i = 0; status == ATTEND_OK && i < r->unknown_count; i++) {
        const attend_unknown *x = &r->unknowns[i];
        struct unknown_kind *k = &u->kinds[x->is_word ? WORDS : CHARACTERS];
        if (k->last != number + 1) k->lines++, k->last = number + 1;
        k->count++;
        status = count_text(k, x);
    }
    return status;
}

/* The most frequent text that has not been shown; equal ones in the order of their first occurrence. -1: none. */
static int next_shown(const struct unknown_kind *of, const int *shown, int count)
{
    int best = -1;
    for (int i = 0; i < of->texts.count; i++) {
        bool is_new = true;
        for (int k = 0; k < count; k++) is_new &= shown[k] != i;
        if (is_new && (best < 0 || of->counts[i] > of->counts[best])) best = i;
    }
    return best;
}

static void print_texts(const struct unknown_kind *k)
{
    const attend_string_table *texts = &k->texts;
    int shown[SHOWN], count = 0;
    for (int i; count < SHOWN && (i = next_shown(k, shown, count)) >= 0; count++) {
        shown[count] = i;
        attend_print(stderr, "%s'%s'", count ? ", " : " ", attend_string_table_at(texts, i));
        if (k->counts[i] > 1) attend_print(stderr, " (%lld times)", k->counts[i]);
    }
    if (texts->count > count)
        attend_print(stderr, " and %d%s others", texts->count - count, texts->count == MAX_TEXTS ? " or more" : "");
}

void unknown_report_print(const unknown_report *u, const verb *v, bool is_vocabulary)
{
    static const char *const names[] = { "characters", "words" };
    for (int i = CHARACTERS; i <= WORDS; i++) {
        const struct unknown_kind *k = &u->kinds[i];
        if (k->count == 0) continue;
        attend_print(stderr, "attend %s: warning: %s these %s:", v->name,
                     i == WORDS && is_vocabulary ? "the vocabulary of the model does not have"
                                                 : "the training data did not have",
                     names[i]);
        print_texts(k);
        if (u->lines > 1) attend_print(stderr, "; %llu of %llu lines have some", k->lines, u->lines);
        attend_print(stderr, "\n");
    }
}

void unknown_report_free(unknown_report *u)
{
    for (int i = CHARACTERS; i <= WORDS; i++) attend_string_table_free(&u->kinds[i].texts), free(u->kinds[i].counts);
}
