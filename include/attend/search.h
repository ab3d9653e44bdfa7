/* search.h: translations of some sources, by a model or by several together: greedy, by beam search, or drawn at random.
 *
 *     score = log p / ((5 + n) / 6)^length_penalty + coverage_penalty sum_j log(min(sum_i w_ij, 1))       (Wu et al. 2016)
 * n counts the target's words and its end; a source word that nothing looked at counts as looked at by 1e-10.
 *
 * Purpose    All sources run together; one that is done leaves the batch at once. What comes out for a source does not depend on the others.
 * Ends       A source is done when no hypothesis that still runs can become better than those that came back; so a wide enough beam finds
 *            the best target there is within the length limit. A target that reaches the limit ends there, without an end of its own.
 * Sampling   Each word is drawn from p^(1 / temperature), of the top_k best words if that is not 0, and of those from the fewest best that
 *            have top_p of the probability together (Fan et al. 2018; Holtzman et al. 2020). The n_best translations are independent of one another
 *            and come in the order in which they were drawn. A random number is a function of (seed, stream of the source, which of
 *            its translations, which of its words), so a source gives the same in any batch.
 * Language   models have sources of 0 words, and go on from their prefixes.
 * Together   Several models say log(mean of their probabilities) for each word; weights are the mean over those that have attention.
 * Ownership  *out is the caller's, freed by attend_search_result_free (NULL is fine there). */
#ifndef ATTEND_SEARCH_H
#define ATTEND_SEARCH_H

#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_search_options {
    int beam;   /* hypotheses of a source that run at a time; 1: greedy. Sampling has no beam */
    int n_best; /* translations of a source that come back, at most `beam`; sampling: any number up to 1024 */
    double length_penalty;   /* 0: none; favours long targets the more the larger */
    double coverage_penalty; /* 0: none; favours targets that looked at every source word */
    double length_ratio;     /* a target has at most length_ratio * source words + length_extra words, .. */
    int length_extra;        /* of a language model: so many more than its prefix has, whatever the ratio */
    bool weights;            /* attention comes back too */
    int max_length;          /* .. and at most so many; 0: no such limit. A prefix that is longer counts instead */
    int no_repeat_ngram; /* no run of so many words is twice in a target; 0: any may be. What a prefix repeats is left to it */
    bool sample;         /* draw instead of search */
    double temperature; /* of sampling: above 0; towards 0 it is greedy, 1 the model's own */
    int top_k;          /* 0: all words */
    double top_p;       /* above 0; 1: all words */
    uint64_t seed;
    bool
        shortlist; /* only words on the model's shortlist (shortlist.h), which is much faster: for a beam of at most 32 and one model, without
                     * prefixes, samples or no_repeat_ngram */
} attend_search_options;

#define ATTEND_SEARCH_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        5, 1, 1.0, 0.0, 2.0, 10, false, 0, 0, false, 1.0, 0, 1.0, 0, false                                             \
    }

/* What is to be translated. All arrays stay the caller's. */
typedef struct attend_search_sources {
    int count;
    const int *words, *lengths;         /* of all sources one after another, and of each how many */
    const int *prefix, *prefix_lengths; /* words each target must begin with, in the same manner; NULL: none */
    const uint64_t *streams;            /* of random numbers, one a source; NULL: 0, 1, .. */
} attend_search_sources;

typedef struct attend_translation {
    const int *words; /* without begin and end, with the prefix; ATTEND_UNKNOWN may be among them */
    int count;
    bool ended;                               /* false: the length limit ended it */
    double score;                             /* by which they are sorted, unless they were drawn */
    double log_probability;                   /* of the words and the end, whatever the temperature */
    const attend_real *token_log_probability; /* (count + 1), of each word and of the end */
    const attend_real *
        weights; /* (count + 1, source words), by attend_model_alignment: where each word, and the end, looked; NULL: not asked for, or none */
} attend_translation;

typedef struct attend_search_result attend_search_result;

/* Uses the context as attend_decoding_new does: it is reset, and recording is off afterwards. ATTEND_FAILED if the model's numbers overflow so
 * that no word has a probability. */
int attend_search(attend_search_result **out, attend_ctx *c, const attend_model *m,
                  const attend_search_options *options, int count, const int *source, const int *lengths);
/* Several models, each with a context of its own, and sources with all they may have. ATTEND_BAD_USAGE if the vocabularies are not of one size;
 * whether their words are the same only who has the words can say. */
int attend_search_ensemble(attend_search_result **out, attend_ctx *const *contexts, /* (model_count) */
                           const attend_model *const *models, int model_count,      /* (model_count) */
                           const attend_search_options *options, const attend_search_sources *sources);
void attend_search_result_free(attend_search_result *f);

int attend_search_result_count(const attend_search_result *f, int source); /* translations of a source: at least 1 */
const attend_translation *attend_search_result_at(const attend_search_result *f, int source, int rank);

#ifdef __cplusplus
}
#endif
#endif
