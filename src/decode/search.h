/* search.h: what a search keeps while it runs. A hypothesis is a node that knows its parent; nodes of all sources lie in one array that
 * only grows, their attention rows in blocks that stay where they are. */
#ifndef ATTEND_DECODE_SEARCH_H
#define ATTEND_DECODE_SEARCH_H

#include "decode/sampling.h"
#include "decode/ensemble.h"
#include <attend/search.h>

typedef struct search_node {
    int parent; /* -1: none */
    int word;
    double sum;                 /* log p up to here */
    attend_real log_p;          /* of this word */
    const attend_real *weights; /* (source words); NULL: not wanted */
} search_node;

/* A target that ended. */
typedef struct search_end {
    int last; /* node of the end, which the limit may have put there */
    bool ended;
    double score, sum;
} search_end;

/* One source. */
typedef struct search_beam {
    int length, limit; /* source words; target words at most */
    const int *prefix; /* words the target begins with */
    int prefix_count;
    uint64_t stream;  /* of random numbers */
    int running;      /* hypotheses, whose nodes are .. */
    int *nodes;       /* .. (width) these; .. */
    int *from;        /* .. (width) the rows of the last step they come from; .. */
    int *slots;       /* .. (width) and, of samples, the place where each will come back */
    search_end *done; /* (n_best) the best so far, best first; or the samples in their places */
    int done_count;
} search_beam;

typedef struct search_block {
    struct search_block *next;
    size_t used, room;
    attend_real numbers[];
} search_block;

/* What may follow: a word for a hypothesis. */
typedef struct search_candidate {
    int hypothesis, word; /* hypothesis: row of the step */
    double sum;
    attend_real log_p;
} search_candidate;

typedef struct search {
    attend_search_options o;
    attend_ensemble voters;
    int count, vocabulary, longest;
    int width; /* hypotheses a source can have: the beam, or the samples */
    bool want_weights;
    search_beam *beams;
    search_node *nodes;
    size_t node_count, node_room;
    search_block *blocks;                 /* the newest first */
    int *counts, *parents, *words, *rows; /* of the step: see attend_decoding_step; rows: node of each hypothesis */
    search_candidate *candidates;         /* (beam * beam) */
    int *best;                            /* (beam) */
    double *coverage;                     /* (longest) */
    int *said;                            /* (longest limit) the words of one hypothesis */
    unsigned char *banned;                /* (vocabulary) NULL: nothing is */
    attend_sampler draw;
} search;

/* What came out. ATTEND_FAILED if a source has nothing. */
int attend_search_collect(const search *s, attend_search_result **out);

#endif
