/* search_options.h: the options of the search for translations, shared by the verbs translate and evaluate. */
#ifndef ATTEND_CLI_SEARCH_OPTIONS_H
#define ATTEND_CLI_SEARCH_OPTIONS_H

#include "options.h"

#include <attend/translator.h>

/* Must be the first member of the verb's settings, so that the offsets of search_option_group apply. */
typedef struct search_settings {
    long long beam, length_extra, max_input_length, batch_tokens, threads, memory;
    double length_penalty, coverage_penalty, length_ratio;
    int compute;
    const char *device;
} search_settings;

extern const option_group search_option_group;

/* Those of ATTEND_TRANSLATOR_OPTIONS_INIT, and a thread for each processor. */
search_settings search_settings_defaults(void);
/* Chooses the device and what depends on it (device_option.h). */
int search_settings_use_device(const verb *v, search_settings *s, const parsed *p, bool quiet);
/* The same as options of a translator; its other options have their defaults. */
attend_translator_options search_settings_options(const search_settings *s);

enum { LINE_FAULT = 160 };
/* Why a line is not translated, with the limit of its length, and the option if the verb has it. Returns `text` or
 * `fault`. */
const char *line_fault(const verb *v, char text[LINE_FAULT], const char *fault, bool is_too_long, int max_tokens);

#endif
