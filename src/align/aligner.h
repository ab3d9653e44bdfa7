/* aligner.h: the private part of attend/aligner.h. */
#ifndef ATTEND_ALIGN_ALIGNER_H
#define ATTEND_ALIGN_ALIGNER_H

#include "align/alignment_model.h"
#include <attend/aligner.h>
#include <attend/string_table.h>

/* The words of the pairs of a side. */
typedef struct aligner_side {
    attend_string_table vocabulary; /* word number n is string n - 1 */
    attend_unit unit;
    int *words; /* of all pairs, one after another; 0: unknown */
    size_t used, capacity;
    int *lengths;   /* (pairs); -1: not UTF-8 */
    size_t *starts; /* (pairs) */
    size_t pair_capacity, start_capacity;
} aligner_side;

typedef struct aligner_batch {
    aligner_side sides[2];
    size_t count;
} aligner_batch;

struct attend_aligner {
    attend_aligner_options options;
    aligner_batch added,
        others; /* pairs to train on; pairs that are aligned afterwards, by the vocabularies of `added` */
    alignment_model model;
    bool is_trained;
    attend_aligned_pair *results; /* (result_count) */
    attend_word_link **links;     /* (result_count) of each result, one block */
    int result_count;
};

#endif
