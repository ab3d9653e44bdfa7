/* manual.h: writes man pages and shell completions from the option tables of the verbs, when attend is built. Not
 * part of the command. */
#ifndef ATTEND_CLI_MANUAL_H
#define ATTEND_CLI_MANUAL_H

#include "options.h"

/* The value of an option, for completion. */
typedef enum value_kind {
    VALUE_NONE,
    VALUE_CHOICE, /* one of a list of words */
    VALUE_FILE,
    VALUE_OTHER /* a number or a name: no completion */
} value_kind;

value_kind manual_value(const option_shown *shown);

/* Whether the table declares every file as input or output, as the check for conflicts requires (file_conflicts.c).
 * False, after a message: the build fails. */
bool manual_files_are_declared(const verb *v);

/* Calls `each` with every possible word of a VALUE_CHOICE. */
void manual_choices(const option_shown *shown, void (*each)(FILE *to, const char *word), FILE *to);

/* Whether the option may be repeated. */
bool manual_repeats(const option_shown *shown);

void manual_page(FILE *to);                     /* attend(1) */
void manual_verb_page(FILE *to, const verb *v); /* attend-VERB(1) */
void manual_bash(FILE *to);
void manual_zsh(FILE *to);
void manual_fish(FILE *to);

#endif
