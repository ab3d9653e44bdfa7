/* translate_lines.h: lines through a model, for verbs that want its translations of a whole set. */
#ifndef ATTEND_CLI_TRANSLATE_LINES_H
#define ATTEND_CLI_TRANSLATE_LINES_H

#include "segments.h"

#include <attend/translator.h>

typedef struct translate_cost {
    double seconds;
    unsigned long long words; /* of translations, their ends included */
    bool stopped;             /* asked to end before all lines were done */
} translate_cost;

/* A line for each source, added to `to`. `v` is for warnings about lines that cannot be translated; NULL: none. `stop` is asked now and then; NULL: nobody. */
int translate_lines(const verb *v, const attend_model *m, const attend_translator_options *o, const text_lines *sources,
                    bool (*stop)(void *), text_lines *to, translate_cost *cost);

#endif
