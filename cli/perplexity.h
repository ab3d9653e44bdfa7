/* perplexity.h: how well a language model knows some lines.
 *
 *     perplexity = exp(-log p / n)     log p of all lines, their ends included; n units, of which the end of a line is one too
 *
 * A unit is a token of the model, a word (as blanks separate them), a character or a byte. Tokenizers differ, so that only the last three are
 * the same for every model, and only as far as no word is unknown. */
#ifndef ATTEND_CLI_PERPLEXITY_H
#define ATTEND_CLI_PERPLEXITY_H

#include "options.h"

#include <attend/scorer.h>

typedef enum perplexity_unit {
    PERPLEXITY_TOKEN,
    PERPLEXITY_WORD,
    PERPLEXITY_CHARACTER,
    PERPLEXITY_BYTE,
    PERPLEXITY_UNITS
} perplexity_unit;

typedef struct perplexity {
    double log_probability;
    unsigned long long lines, faults;           /* scored, and not */
    unsigned long long units[PERPLEXITY_UNITS]; /* without ends */
    unsigned long long unknown;                 /* tokens */
} perplexity;

void perplexity_add(perplexity *p, const attend_scored_pair *line);
/* NAN: nothing was scored. */
double perplexity_of(const perplexity *p, perplexity_unit unit);
const char *perplexity_unit_name(perplexity_unit unit); /* "token" */

/* One line for a person, and the members of a JSON object, without its braces. */
void perplexity_print(FILE *to, const perplexity *p);
void perplexity_json(FILE *to, const perplexity *p);

#endif
