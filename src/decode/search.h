/* search.h: the state of a search. A hypothesis is a node with a parent. The nodes of all sources are in one array
 * that only grows; their attention weights are in blocks that do not move. */
#ifndef ATTEND_DECODE_SEARCH_H
#define ATTEND_DECODE_SEARCH_H

#include "core/top_k.h"
#include "decode/ensemble.h"
#include "decode/sampling.h"
#include <attend/search.h>

typedef struct search_node {
    int parent; /* -1: none */
    int token;
    int number;           /* among the nodes of its source */
    double sum;           /* log p of the hypothesis up to this token */
    attend_real log_p;    /* of this token */
    attend_real *weights; /* (source tokens); NULL: not needed */
} search_node;

/* A finished hypothesis. */
typedef struct search_end {
    int last;   /* node of the end */
    bool ended; /* false: stopped by the length limit */
    double score, sum;
} search_end;

/* One source. */
typedef struct search_beam {
    int length, limit; /* source tokens; maximum target tokens */
    const int *prefix; /* (prefix_count) tokens with which the target begins */
    int prefix_count;
    uint64_t stream;  /* of random numbers */
    int running;      /* unfinished hypotheses */
    int *nodes;       /* (width) their last nodes */
    int *from;        /* (width) the rows of the last step that they extend */
    int *slots;       /* (width) sampling: their positions in `done` */
    search_end *done; /* (n_best) finished hypotheses, best first; sampling: by slot */
    int done_count;
    int node_count; /* nodes of this source */
    bool is_stopped;
} search_beam;

/* Memory for attention weights. */
typedef struct search_block {
    struct search_block *next;
    size_t used, capacity;
    attend_real numbers[];
} search_block;

/* A possible extension of a hypothesis by a token. */
typedef struct search_candidate {
    int hypothesis, token; /* hypothesis: row of the step */
    double sum;
    attend_real log_p;
} search_candidate;

typedef struct search {
    attend_search_options o;
    attend_ensemble ensemble;
    int count, vocabulary;
    attend_stop_fn stop;
    attend_branches_fn report;
    void *user;     /* of both */
    int max_source; /* tokens of the longest source */
    int width;      /* maximum hypotheses of a source: the beam size, or the number of samples */
    bool needs_weights;
    search_beam *beams; /* (count) */
    search_node *nodes;
    size_t node_count, node_capacity;
    search_block *blocks;                  /* the newest first */
    int *counts, *parents, *tokens, *last; /* of the step: see attend_decoding_step; last: node of each hypothesis */
    search_candidate *candidates;          /* (beam * beam) */
    attend_search_branch *branches;        /* (beam * beam, or samples) of one source and step; NULL: not reported */
    int branch_count;
    attend_top_k_entry *best; /* (beam) */
    double *coverage;         /* (max_source) */
    int *history;             /* (maximum limit) tokens of one hypothesis */
    unsigned char *banned;    /* (vocabulary) tokens that would repeat an n-gram; NULL: allowed */
    attend_sampler sampler;
} search;

/* The maximum number of target tokens: length_ratio * source tokens + length_extra (language model: prefix +
 * length_extra), at most max_length and the number of positions of the models, but at least the prefix. */
int attend_search_max_length(const attend_search_options *o, const attend_model *const *models, int model_count,
                             int length, int prefix);
/* Estimates of the memory of one source, in bytes: to search, and of the result. */
typedef struct attend_search_bytes {
    double work, kept;
} attend_search_bytes;
attend_search_bytes attend_search_estimate(const attend_search_options *o, const attend_model *const *models,
                                           int model_count, int length, int prefix);

/* ATTEND_BAD_USAGE if an option is out of range. */
int attend_search_check_options(const attend_search_options *o);
/* ATTEND_BAD_USAGE if the beam is too large for branches. */
int attend_search_check_branches(const attend_search_options *o);
/* Collects the finished hypotheses. ATTEND_FAILED if a source has none and was not stopped. */
int attend_search_collect(const search *s, attend_search_result **out);
/* A copy of the hypotheses of one source, as its only source. without weights: their weights are NULL. */
int attend_search_result_extract(attend_search_result **out, const attend_search_result *r, int source, bool weights);

#endif
