#include "score_pairs.h"

#include "pair_reader.h"

int score_pairs(const attend_model *m, const pairs_list *input, int threads, bool weights, scored_pair_visitor visit,
                void *user)
{
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    attend_scorer *scorer = NULL;
    pair_reader *from = NULL;
    int status = attend_scorer_new(&scorer, m, threads, weights);
    if (status == ATTEND_OK) status = pair_reader_open(&from, input);
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0) {
        status = attend_scorer_run(scorer, from->count, is_language_model ? NULL : (const char *const *)from->sources,
                                   (const char *const *)from->targets);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++)
            status = visit(user, attend_scorer_result(scorer, i), from->first + (unsigned long long)i);
    }
    pair_reader_close(from);
    attend_scorer_free(scorer);
    return status;
}
