/* tiny_pairs.h: a few pairs of different lengths, and small configurations from text. */
#ifndef ATTEND_TEST_TINY_PAIRS_H
#define ATTEND_TEST_TINY_PAIRS_H

#include <attend/model.h>
#include <stdio.h>
#include <string.h>

enum { TINY_PAIRS = 4, TINY_SOURCE_WORDS = 9, TINY_TARGET_WORDS = 8, TINY_ROWS = 12, TINY_SOURCE = 7, TINY_TARGET = 6 };

/* Targets of 3, 0, 4 and 1 tokens, so that sentences end at different steps; one source of a single token. */
static inline attend_pairs tiny_pairs(void)
{
    static const int source[TINY_SOURCE_WORDS] = { 3, 4, 2, 5, 6, 3, 2, 4, 2 }, source_lengths[] = { 3, 1, 3, 2 };
    static const int target[TINY_TARGET_WORDS] = { 3, 5, 4, 4, 3, 3, 5, 5 }, target_lengths[] = { 3, 0, 4, 1 };
    static const attend_link links[] = { { 0, 0, 1 }, { 0, 1, 0 }, { 0, 1, 2 }, { 2, 3, 1 }, { 3, 0, 0 } };
    return (attend_pairs){ .count = TINY_PAIRS,
                           .source = source,
                           .source_lengths = source_lengths,
                           .target = target,
                           .target_lengths = target_lengths,
                           .links = links,
                           .link_count = 5 };
}

/* The same targets without sources, for a language model. */
static inline attend_pairs tiny_lines(void)
{
    static const int none[TINY_PAIRS] = { 0 };
    attend_pairs p = tiny_pairs();
    p.source = NULL, p.source_lengths = none;
    p.links = NULL, p.link_count = 0;
    return p;
}

/* tiny_pairs, or tiny_lines for a language model. */
static inline attend_pairs tiny_pairs_of(const attend_model *m)
{
    return attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL ? tiny_lines() : tiny_pairs();
}

/* A small configuration with the settings "name=value name=value ...". Returns the status of the first setting that
 * fails. */
static inline int tiny_config(attend_config *config, const char *words)
{
    static const attend_config usual = ATTEND_CONFIG_INIT;
    *config = usual;
    config->hidden = 4, config->embedding = 3, config->attention_width = 5, config->window_size = 1,
    config->max_positions = 6;
    config->filters = 2, config->filter_size = 3, config->dropout = 0;
    config->source_vocab = TINY_SOURCE, config->target_vocab = TINY_TARGET;
    char copy[256];
    snprintf(copy, sizeof copy, "%s", words);
    int status = ATTEND_OK;
    for (char *rest = copy, *word; status == ATTEND_OK && (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        status = attend_config_set(config, word, value);
    }
    return status;
}

#endif
