/* search.h: beam search, greedy decoding and sampling, with one model or an ensemble.
 *
 *     score = log p / ((5 + n) / 6)^length_penalty + coverage_penalty sum_j log(min(sum_i w_ij, 1))
 *                                                                                                    (Wu et al. 2016)
 * n is the number of target tokens, the end included; w_ij is the attention of target token i to source token j. A
 * sum over i below 1e-10 counts as 1e-10.
 *
 * Batches    All sources of a call are decoded together; a finished source leaves the batch at once. The result for a
 *            source does not depend on the other sources.
 * Stopping   A source is finished when no running hypothesis can still reach a higher score than the n-best finished
 *            ones, so a wide enough beam finds the best target within the length limit. A hypothesis at the length
 *            limit ends there (`ended` is false).
 * Sampling   Each token is drawn from p^(1 / temperature), restricted to the top_k most probable tokens (0: all) and,
 *            among those, to the smallest set of most probable tokens with a total probability of at least top_p (Fan
 *            et al. 2018; Holtzman et al. 2020). The n_best samples are independent and are returned in the order in
 *            which they are drawn. Random numbers are a function of (seed, stream of the source, sample, position),
 *            so a source gives the same samples in any batch.
 * Tasks      A translation model decodes its sources. The sources of a language model have length 0, and the model
 *            continues the prefixes.
 * Ensembles  Several models give log(mean of their probabilities) for each token; attention weights are averaged over
 *            the models that have cross-attention.
 * Branches   A search can report the hypotheses that it considers while it runs. That changes no result.
 * Ownership  A result is the caller's, freed by attend_search_result_free.
 * Threads    A search uses its contexts, and is run by one thread. A result can be read by many threads. */
#ifndef ATTEND_SEARCH_H
#define ATTEND_SEARCH_H

#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_search_options {
    int beam;                /* beam size, 1 to 1024; 1: greedy. Unused by sampling */
    int n_best;              /* hypotheses returned per source: 1 to `beam`; sampling: 1 to 1024 */
    double length_penalty;   /* 0 to 10; 0: none. Larger values favour longer targets */
    double coverage_penalty; /* 0 to 100; 0: none. Favours targets that attend to every source token; needs attention */
    /* maximum target length: length_ratio * source tokens + length_extra; language model: prefix + length_extra */
    double length_ratio;
    int length_extra;
    bool weights;   /* return attention weights */
    int max_length; /* another maximum target length; 0: none. A longer prefix takes precedence */
    /* no n-gram of this size occurs twice in a target; 0: off. Repetitions inside a prefix are allowed */
    int no_repeat_ngram;
    bool sample;        /* sample instead of searching */
    double temperature; /* sampling: above 0, at most 1000; 1: the model's probabilities; near 0: greedy */
    int top_k;          /* sampling: 0: all tokens */
    double top_p;       /* sampling: above 0, at most 1; 1: all tokens */
    uint64_t seed;
    /* only tokens on the model's shortlist (shortlist.h): faster. For one model and a beam of at most 32, without
     * prefixes, sampling or no_repeat_ngram */
    bool shortlist;
} attend_search_options;

#define ATTEND_SEARCH_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        5, 1, 1.0, 0.0, 2.0, 10, false, 0, 0, false, 1.0, 0, 1.0, 0, false                                             \
    }

/* Asked after each step whether to stop decoding a source that is not finished. Called on the thread of the search. */
typedef bool (*attend_stop_fn)(void *user, int source);

/* A token that was considered as the continuation of a hypothesis. */
typedef struct attend_search_branch {
    int parent; /* number of the hypothesis; -1: the empty one */
    int number; /* of the hypothesis with this token, from 0 for each source; -1: it was pruned */
    int token;
    bool ended;             /* it is finished, by the end token or at the length limit */
    double log_probability; /* of the token */
    double total, score;    /* of the hypothesis with it; score: without the coverage term */
} attend_search_branch;

/* Receives what a step considered for a source: for each hypothesis its most probable tokens, at most `beam`; a prefix
 * or a sample has only the one that it continues with. Valid until it returns. Called on the thread of the search. */
typedef void (*attend_branches_fn)(void *user, int source, int step, const attend_search_branch *branches, int count);

enum { ATTEND_MAX_BRANCH_BEAM = 32 };

/* The sources of a search. All arrays are the caller's and are not changed. */
typedef struct attend_search_sources {
    int count;
    const int *tokens, *lengths;        /* tokens of all sources, one source after another; tokens of each (count) */
    const int *prefix, *prefix_lengths; /* tokens with which each target must begin, in the same layout; NULL: none */
    const uint64_t *streams;            /* (count) random streams; NULL: 0, 1, ... */
    attend_stop_fn stop;                /* NULL: never. A source that is stopped has no hypotheses */
    void *user;                         /* of stop and branches */
    attend_branches_fn branches;        /* NULL: none. Needs a beam of at most ATTEND_MAX_BRANCH_BEAM */
} attend_search_sources;

/* A hypothesis. */
typedef struct attend_translation {
    const int *tokens; /* prefix included; without begin and end; may contain ATTEND_UNKNOWN */
    int count;
    bool ended;                               /* false: stopped by the length limit */
    double score;                             /* see the formula; hypotheses are ordered by it, samples are not */
    double log_probability;                   /* of the tokens and the end, at temperature 1 */
    const attend_real *token_log_probability; /* (count + 1): of each token and the end */
    /* (count + 1, source tokens): attention by attend_model_alignment; NULL: not requested or no attention */
    const attend_real *weights;
} attend_translation;

typedef struct attend_search_result attend_search_result;

/* Decodes `count` sources with one model. options NULL: ATTEND_SEARCH_OPTIONS_INIT. The context is used as by
 * attend_decoding_new: it is reset, and recording is off afterwards. ATTEND_BAD_USAGE for invalid options;
 * ATTEND_FAILED if non-finite numbers leave a source without a hypothesis; ATTEND_NO_MEMORY. */
int attend_search(attend_search_result **out, attend_ctx *c, const attend_model *m,
                  const attend_search_options *options, int count, const int *source, const int *lengths);
/* Decodes with an ensemble; each model needs a context of its own. ATTEND_BAD_USAGE also if tasks or vocabulary sizes
 * differ, or a prefix is invalid. That the vocabularies hold the same tokens is not checked here
 * (attend_translator_new_ensemble checks it). */
int attend_search_ensemble(attend_search_result **out, attend_ctx *const *contexts, /* (model_count) */
                           const attend_model *const *models, int model_count,      /* (model_count) */
                           const attend_search_options *options, const attend_search_sources *sources);
/* NULL is allowed. */
void attend_search_result_free(attend_search_result *r);

/* The number of hypotheses of a source, at least 1; 0 if it was stopped or there is no such source. */
int attend_search_result_count(const attend_search_result *r, int source);
/* A hypothesis of a source: rank 0 is the best, or the first sample. NULL if out of range. */
const attend_translation *attend_search_result_at(const attend_search_result *r, int source, int rank);

#ifdef __cplusplus
}
#endif
#endif
