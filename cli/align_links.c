#include "align_links.h"

#include "json_members.h"

#include <attend/print.h>
#include <attend/status.h>
#include <stdlib.h>

void align_links_free(align_links *a)
{
    for (int i = 0; i <= LINKS_SYMMETRIZED; i++) free(a->lists[i]);
    gold_links_free(&a->gold);
}

int align_links_reserve(align_links *a, int list, int count)
{
    if (count < a->capacities[list]) return ATTEND_OK;
    const int capacity = count + count / 2 + 1;
    attend_word_link *larger = realloc(a->lists[list], (size_t)capacity * sizeof *larger);
    if (!larger) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d links", count);
    a->lists[list] = larger;
    a->capacities[list] = capacity;
    return ATTEND_OK;
}

/* The list that has the links of a method, after combining them if need be. */
static int find(align_links *a, int method, int *list)
{
    *list = method < LINKS_SYMMETRIZED ? method : LINKS_SYMMETRIZED;
    if (method < LINKS_SYMMETRIZED) return ATTEND_OK;
    const int *n = a->counts, status = align_links_reserve(a, *list, n[LINKS_FORWARD] + n[LINKS_REVERSE]);
    if (status != ATTEND_OK) return status;
    return attend_symmetrize((attend_symmetrization)(method - LINKS_SYMMETRIZED), a->lists[LINKS_FORWARD],
                             n[LINKS_FORWARD], a->lists[LINKS_REVERSE], n[LINKS_REVERSE], a->lists[*list],
                             &a->counts[*list]);
}

int align_links_compare(align_links *a, unsigned long long pair)
{
    const attend_word_link *gold;
    const int count = gold_links_of(&a->gold, pair, &gold);
    int status = ATTEND_OK, list;
    for (int method = 0; status == ATTEND_OK && method < LINKS_METHODS; method++) {
        if (!a->compares[method]) continue;
        status = find(a, method, &list);
        if (status == ATTEND_OK)
            status = attend_aer_add(&a->sums[method], a->lists[list], a->counts[list], gold, count);
    }
    return status;
}

int align_links_print(align_links *a)
{
    int list;
    const int status = find(a, a->requested, &list);
    if (status != ATTEND_OK) return status;
    const attend_word_link *links = a->lists[list];
    if (!a->json) {
        for (int i = 0; i < a->counts[list]; i++)
            attend_print(stdout, "%s%d-%d", i ? " " : "", links[i].source, links[i].target);
        attend_print(stdout, "\n");
        return ATTEND_OK;
    }
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_begin_array(&w, "links");
    for (int i = 0; i < a->counts[list]; i++) {
        attend_json_begin_array(&w);
        attend_json_put_integer(&w, links[i].source);
        attend_json_put_integer(&w, links[i].target);
        attend_json_end_array(&w);
    }
    attend_json_end_array(&w);
    json_end_line(&w);
    return ATTEND_OK;
}

static double precision_of(const attend_aer_sums *a)
{
    return a->predicted > 0 ? a->matched_possible / a->predicted : 0;
}

static double recall_of(const attend_aer_sums *a)
{
    return a->sure > 0 ? a->matched_sure / a->sure : 0;
}

void aer_print(const attend_aer_sums *a)
{
    attend_print(stdout, "AER %.4f  precision %.4f  recall %.4f", attend_aer(a), precision_of(a), recall_of(a));
}

void aer_json(attend_json_writer *w, const attend_aer_sums *a)
{
    json_number(w, "aer", 6, attend_aer(a));
    json_number(w, "precision", 6, precision_of(a));
    json_number(w, "recall", 6, recall_of(a));
}

static const char *method_name(int method)
{
    static const char *const names[] = { "forward", "reverse", "agreed" };
    return method < LINKS_SYMMETRIZED ? names[method] : attend_symmetrization_names[method - LINKS_SYMMETRIZED];
}

void align_links_print_errors(const align_links *a, unsigned long long pairs)
{
    attend_json_writer w = attend_json_to_file(stdout);
    if (a->json) {
        attend_json_begin_object(&w);
        json_integer(&w, "pairs", (long long)pairs);
    }
    for (int method = 0; method < LINKS_METHODS; method++) {
        const attend_aer_sums *s = &a->sums[method];
        if (!a->compares[method]) continue;
        if (a->json) {
            json_begin_object(&w, method_name(method));
            aer_json(&w, s);
            json_number(&w, "links", 0, s->predicted);
            json_number(&w, "sure", 0, s->sure);
            attend_json_end_object(&w);
        } else {
            aer_print(s);
            attend_print(stdout, "  (%.0f links, %.0f sure)  %s\n", s->predicted, s->sure, method_name(method));
        }
    }
    if (a->json) json_end_line(&w);
}
