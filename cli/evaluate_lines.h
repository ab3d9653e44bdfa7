/* evaluate_lines.h: what `attend evaluate` says of a language model: its perplexity on some lines. */
#ifndef ATTEND_CLI_EVALUATE_LINES_H
#define ATTEND_CLI_EVALUATE_LINES_H

#include "options.h"

/* Scores the lines of list->names. 0, or an exit code after a message. */
int evaluate_lines(const verb *v, const char *path, const attend_model *m, pairs_list *input, int threads, bool json,
                   bool quiet);

#endif
