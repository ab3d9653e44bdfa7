#include "unknown_report.h"

#include "array.h"
#include "shared_work.h"

#include <attend/status.h>
#include <stdlib.h>

enum { CHARACTERS, WORDS, MAX_TEXTS = 10000, SHOWN = 5 };

static int count_text(const unknown_report *u, struct unknown_kind *k, const char *text, size_t size, long long times)
{
    int number;
    if (!u->keeps_all && k->texts.count >= MAX_TEXTS && attend_string_table_find(&k->texts, text, size) < 0)
        return ATTEND_OK;
    if (!array_reserve(&k->counts, &k->capacity, (size_t)k->texts.count + 1, sizeof *k->counts))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory counting unknown words");
    const int before = k->texts.count;
    const int status = attend_string_table_add(&k->texts, text, size, &number);
    if (status == ATTEND_OK) k->counts[number] = (number < before ? k->counts[number] : 0) + times;
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
        status = count_text(u, k, x->text, x->size, 1);
    }
    return status;
}

/* ---- reports of parts of the lines ---- */

int unknown_report_pack(const unknown_report *u, attend_string *to)
{
    int status = packed_add_number(to, u->lines);
    for (int kind = CHARACTERS; kind <= WORDS; kind++) {
        const struct unknown_kind *k = &u->kinds[kind];
        if (status == ATTEND_OK) status = packed_add_number(to, k->lines);
        if (status == ATTEND_OK) status = packed_add_number(to, k->count);
        if (status == ATTEND_OK) status = packed_add_number(to, (uint64_t)k->texts.count);
        for (int i = 0; status == ATTEND_OK && i < k->texts.count; i++) {
            status = packed_add_text(to, attend_string_table_at(&k->texts, i), attend_string_table_size(&k->texts, i));
            if (status == ATTEND_OK) status = packed_add_number(to, (uint64_t)k->counts[i]);
        }
    }
    return status;
}

int unknown_report_add_packed(unknown_report *u, packed_reader *from)
{
    int status = ATTEND_OK;
    u->lines += packed_number(from);
    for (int kind = CHARACTERS; kind <= WORDS; kind++) {
        struct unknown_kind *k = &u->kinds[kind];
        k->lines += packed_number(from), k->count += packed_number(from);
        for (uint64_t left = packed_number(from); status == ATTEND_OK && left > 0; left--) {
            size_t size;
            const char *text = packed_text(from, &size);
            const uint64_t times = packed_number(from);
            if (!text || from->is_damaged) return shared_work_damaged();
            status = count_text(u, k, text, size, (long long)times);
        }
    }
    return from->is_damaged ? shared_work_damaged() : status;
}

/* ---- the warnings ---- */

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
        if (i == CHARACTERS && attend_string_table_find(&k->texts, " ", 1) >= 0)
            attend_print(stderr, "  its sources were single words: give one word on each line\n");
    }
}

void unknown_report_free(unknown_report *u)
{
    for (int i = CHARACTERS; i <= WORDS; i++) attend_string_table_free(&u->kinds[i].texts), free(u->kinds[i].counts);
}
