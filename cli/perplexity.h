/* perplexity.h: the perplexity of a language model on some lines.
 *
 *     perplexity = exp(-log p / n)     log p: of all lines, end tokens included
 *                                      n: units, counting the end of each line as one
 *
 * A unit is a token of the model, a word (separated by white space), a character or a byte. Tokenizers differ, so
 * only the last three are comparable between models, and only if no token is unknown. */
#ifndef ATTEND_CLI_PERPLEXITY_H
#define ATTEND_CLI_PERPLEXITY_H

#include "options.h"

#include <attend/json.h>
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
    unsigned long long lines, faults;           /* scored, and not scored */
    unsigned long long units[PERPLEXITY_UNITS]; /* without line ends */
    unsigned long long unknown;                 /* tokens */
    unsigned long long non_finite;              /* faults of the model: its probabilities are not finite */
} perplexity;

void perplexity_add(perplexity *p, const attend_scored_pair *line);
/* NAN: no line was scored. */
double perplexity_of(const perplexity *p, perplexity_unit unit);
/* Its logarithm to base 2. */
double perplexity_bits(const perplexity *p, perplexity_unit unit);
const char *perplexity_unit_name(perplexity_unit unit); /* "token" */

enum { PERPLEXITY_TEXT = 32 };
/* Formats a perplexity with `digits` decimals or, from 1e6 on, in exponential form; "-" if there is none, and
 * ">1.8e308" if it is too large for a number. Returns `text`. */
const char *perplexity_text(char text[PERPLEXITY_TEXT], int digits, double x);

/* Refuses a result from which the probabilities of some lines or pairs are missing because the model's computation
 * overflows. Returns 0, or an exit code after a message. */
int perplexity_check(const verb *v, const perplexity *p, const char *model);

/* One line of text. */
void perplexity_print(FILE *to, const perplexity *p);
/* Members of a JSON object. */
void perplexity_json(attend_json_writer *w, const perplexity *p);

#endif
