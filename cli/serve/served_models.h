/* served_models.h: the models of a server, one or an ensemble for each pair of languages.
 *
 * Reloading  A new model is loaded beside the old one, translates a text as a test, and takes its place. If it fails,
 *            the old one stays. Requests that were accepted are translated by the model that accepted them.
 * Threads    Submitting and reading are possible at any time; loading is done by one thread. */
#ifndef ATTEND_CLI_SERVE_SERVED_MODELS_H
#define ATTEND_CLI_SERVE_SERVED_MODELS_H

#include <attend/batcher.h>
#include <pthread.h>

enum { MAX_CODE = 32, MAX_PAIR_MODELS = 16 };

typedef struct served_pair {
    char source[MAX_CODE], target[MAX_CODE]; /* codes of languages */
    const char *paths[MAX_PAIR_MODELS];
    attend_model *models[MAX_PAIR_MODELS];
    int count;
    attend_batcher_model *model; /* NULL: not loaded yet */
    bool has_attention;
} served_pair;

typedef struct served_models {
    attend_batcher *batcher;
    attend_translator_options options;
    int precision; /* -1: that of the file */
    served_pair *pairs;
    int count;
    bool (*is_ending)(void); /* whether the process was told to end */
    pthread_rwlock_t lock;   /* of the models of the pairs */
} served_models;

/* Without regard to case, and with '_' for '-': pt-BR is pt_br. */
bool language_codes_equal(const char *a, const char *b);
/* Adds "SOURCE-TARGET=FILE". The same pair again adds a member to an ensemble. ATTEND_BAD_USAGE. */
int served_models_add(served_models *m, const char *argument);
/* Loads the models of one pair. */
int served_models_load(served_models *m, int pair);
void served_models_free(served_models *m);

/* The pair for two codes; source "auto": the only one with this target. -1: there is none; -2: there are several. */
int served_models_find(const served_models *m, const char *source, const char *target);
bool served_models_has_attention(served_models *m, int pair);
/* The source tokens of a line, without the end, for the current model of a pair, at most `max`; 0: the line is not
 * UTF-8. ATTEND_NO_MEMORY. */
int served_models_count_tokens(served_models *m, int pair, const char *line, size_t size, int max, int *count);
/* attend_batcher_submit to the current model of a pair. *target, unless NULL, becomes its target tokenizer, before the
 * submission; it is valid until the last request has ended. */
int served_models_submit(served_models *m, int pair, attend_future **out, int count, const attend_request *requests,
                         const attend_tokenizer **target);

#endif
