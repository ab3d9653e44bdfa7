/* align_links.h: the alignments of a pair by several methods: printed, or compared with gold links. */
#ifndef ATTEND_CLI_ALIGN_LINKS_H
#define ATTEND_CLI_ALIGN_LINKS_H

#include "gold_links.h"

#include <attend/json.h>

/* By the model, by the reverse model, by the posteriors of the word aligner in both directions, and by each way to combine
 * the first two. */
enum {
    LINKS_FORWARD,
    LINKS_REVERSE,
    LINKS_AGREED,
    LINKS_SYMMETRIZED,
    LINKS_METHODS = LINKS_SYMMETRIZED + ATTEND_GROW_DIAG_FINAL_AND + 1
};

typedef struct align_links {
    attend_word_link *lists[LINKS_SYMMETRIZED + 1]; /* of the current pair; the last is of one way to combine */
    int counts[LINKS_SYMMETRIZED + 1], capacities[LINKS_SYMMETRIZED + 1];
    int requested;                /* the method whose links are printed */
    bool compares[LINKS_METHODS]; /* methods that are compared with gold links */
    bool json;
    gold_links gold;
    attend_aer_sums sums[LINKS_METHODS];
} align_links;

void align_links_free(align_links *a);
/* Makes room for links of a list. */
int align_links_reserve(align_links *a, int list, int count);
/* Prints the links of the current pair by the requested method, as a line. */
int align_links_print(align_links *a);
/* Compares the current pair with its gold links. */
int align_links_compare(align_links *a, unsigned long long pair);
/* Prints the alignment errors of all pairs. */
void align_links_print_errors(const align_links *a, unsigned long long pairs);

/* Alignment error, precision and recall, as text without a line end, and as JSON members. */
void aer_print(const attend_aer_sums *a);
void aer_json(attend_json_writer *w, const attend_aer_sums *a);

#endif
