/* translate_lines.h: translates all lines of a test set. */
#ifndef ATTEND_CLI_TRANSLATE_LINES_H
#define ATTEND_CLI_TRANSLATE_LINES_H

#include "options.h"
#include "text_lines.h"

#include <attend/translator.h>

typedef struct translate_cost {
    double seconds;
    unsigned long long tokens;                 /* of the translations, end tokens included */
    unsigned long long translated, non_finite; /* lines with a translation, and faults of the model */
    bool stopped;                              /* by `stop`, before all lines were translated */
} translate_cost;

/* Appends one translation per source to `to`. Lines that cannot be translated become empty lines, with a warning in
 * the name of `v` unless it is NULL. ATTEND_BAD_MODEL if `model`, the name of the file, has translated nothing because its
 * probabilities are not finite. `stop` (NULL: none) is polled between batches. The ranks of a job divide the lines:
 * all of them call this function, and rank 0 has the sources and gets the translations. */
int translate_lines(const verb *v, const char *model, const attend_model *m, const attend_translator_options *o,
                    const text_lines *sources, bool (*stop)(void *), text_lines *to, translate_cost *cost);

#endif
