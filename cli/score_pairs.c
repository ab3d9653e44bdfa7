#include "score_pairs.h"

#include "job.h"
#include "memory_option.h"
#include "pair_reader.h"

/* Scores the batch in parts whose results fit into memory. */
static int score_batch(attend_scorer *scorer, const pair_reader *from, bool is_language_model,
                       scored_pair_visitor visit, void *user)
{
    int status = ATTEND_OK;
    for (int first = 0, done = 0; status == ATTEND_OK && first < from->count; first += done) {
        const char *const *sources = is_language_model ? NULL : (const char *const *)from->sources + first;
        status = attend_scorer_run_some(scorer, from->count - first, sources,
                                        (const char *const *)from->targets + first, &done);
        for (int i = first; status == ATTEND_OK && i < first + done; i++)
            status = visit(user, pair_reader_result(from, i, attend_scorer_result(scorer, i - first)),
                           from->first + (unsigned long long)i);
    }
    return status;
}

int score_pairs(const attend_model *m, const pairs_list *input, const score_options *o, scored_pair_visitor visit,
                void *user)
{
    if (attend_ranks_count(job_ranks()) > 1) return score_pairs_shared(m, input, o, visit, user);
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    attend_scorer *scorer = NULL;
    pair_reader *from = NULL;
    int status = attend_scorer_new(&scorer, m, (int)o->threads, o->weights);
    if (status == ATTEND_OK) status = attend_scorer_set_memory(scorer, memory_limit(o->memory));
    if (status == ATTEND_OK) status = attend_scorer_set_compute(scorer, (attend_compute_precision)o->compute);
    if (status == ATTEND_OK) status = pair_reader_open(&from, input);
    if (status == ATTEND_OK) from->answers = o->answers;
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0)
        status = score_batch(scorer, from, is_language_model, visit, user);
    pair_reader_close(from);
    attend_scorer_free(scorer);
    return status;
}
