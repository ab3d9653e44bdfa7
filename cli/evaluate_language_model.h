/* evaluate_language_model.h: `attend evaluate` for a language model: its perplexity on lines of text. */
#ifndef ATTEND_CLI_EVALUATE_LANGUAGE_MODEL_H
#define ATTEND_CLI_EVALUATE_LANGUAGE_MODEL_H

#include "score_pairs.h"

/* Scores the lines of the files input->names. Returns 0, or an exit code after a message. */
int evaluate_language_model(const verb *v, const char *path, const attend_model *m, pairs_list *input,
                            const score_options *o, bool json, bool quiet);

#endif
