/* manual.h: man pages and completions, written from the option tables of the verbs when attend is built, so that they say what the
 * command does. None of it is in the command. */
#ifndef ATTEND_CLI_MANUAL_H
#define ATTEND_CLI_MANUAL_H

#include "options.h"

/* What may stand behind an option. */
typedef enum value_kind {
    VALUE_NONE,
    VALUE_WORD, /* one of a few words */
    VALUE_FILE,
    VALUE_OTHER /* a number, a name: nothing to complete */
} value_kind;

value_kind manual_value(const option_shown *shown);

/* Calls `each` with every word that the value can be. */
void manual_words(const option_shown *shown, void (*each)(FILE *to, const char *word), FILE *to);

/* Whether it may be given several times. */
bool manual_repeats(const option_shown *shown);

void manual_page(FILE *to);                     /* attend(1) */
void manual_verb_page(FILE *to, const verb *v); /* attend-VERB(1) */
void manual_bash(FILE *to);
void manual_zsh(FILE *to);
void manual_fish(FILE *to);

#endif
