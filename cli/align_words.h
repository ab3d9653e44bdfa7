/* align_words.h: attend align without a model: the statistical word aligner (attend/aligner.h). */
#ifndef ATTEND_CLI_ALIGN_WORDS_H
#define ATTEND_CLI_ALIGN_WORDS_H

#include "align_links.h"
#include "pair_reader.h"

typedef struct align_words_job {
    const char *aligner;    /* a file; NULL: trained on the pairs */
    const char *save;       /* where to write the trained aligner; NULL: nowhere */
    const char *dictionary; /* where to write the translation of each word; NULL: nowhere */
    double threshold;
    attend_unit unit;
    int threads;
    size_t memory; /* 0: no limit */
    bool compare;  /* with gold links, instead of printing links */
    bool json, quiet;
} align_words_job;

/* Aligns all pairs of `from`; from->first is their number afterwards. */
int align_words(const align_words_job *job, align_links *links, pair_reader *from);

#endif
