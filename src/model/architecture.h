/* architecture.h: the interface of an architecture, and the list of them. Everything outside an architecture's own
 * files goes through it.
 *
 * A new architecture is its own files (docs/add-an-architecture.md), a value of attend_architecture, an entry of
 * attend_architectures, and its name in the list of fields (attend/config.h) wherever a field applies to it. */
#ifndef ATTEND_MODEL_ARCHITECTURE_H
#define ATTEND_MODEL_ARCHITECTURE_H

#include "core/tape.h"
#include <attend/model.h>

struct model_builder;
struct teacher_forcing;
struct decoding_step;

/* Sizes of a model and the rates that go with them. Those that are 0 keep their defaults. */
typedef struct architecture_sizes {
    int hidden, embedding, layers, heads, feed_forward_width;
    double dropout, learning_rate;
    int warmup; /* updates */
} architecture_sizes;

enum { ATTEND_DATA_LEVELS = 5 }; /* amounts of data, from little to much (train/model_size.c) */

typedef struct architecture {
    const char *name; /* the value of the field "architecture" */

    /* ---- configuration ---- */

    /* Sets the fields that the library chooses (0 in the configuration) and those that this architecture determines. */
    void (*set_defaults)(attend_config *c);
    /* The first conflict between fields, as a message; NULL: none. Called after set_defaults. */
    const char *(*conflict)(const attend_config *c);
    /* See config.h. They also accept configurations before attend_config_check. */
    int (*max_tokens)(const attend_config *c, bool target);
    int (*attention_layers)(const attend_config *c, attend_attention_kind kind);
    int (*attention_heads)(const attend_config *c, attend_attention_kind kind);
    const architecture_sizes *sizes; /* (ATTEND_DATA_LEVELS); NULL: the sizes of recurrent networks */

    /* ---- parameters ---- */

    double embedding_range; /* initial embeddings are uniform in +-embedding_range; 0: variance 1 / hidden */
    void (*build)(struct model_builder *b);
    void (*free)(attend_model *m); /* frees what build allocated besides parameters; also after a build that failed */

    /* ---- running ---- */

    /* The readout of every target row with teacher forcing and dropout, which the output layer reads. NULL: the context
     * failed. */
    attend_var *(*teacher_forcing)(struct teacher_forcing *f);
    /* Decoding (decoding.h). d->states points to state_size zeroed bytes for the architecture. */
    size_t state_size;
    /* Encodes the sources. Variables that it leaves in the context stay there. False: the context failed. */
    bool (*begin)(attend_decoding *d, const int *source, const int *lengths);
    /* The readout of each hypothesis. The state that the next step reads is written by store. NULL: the context
     * failed. */
    attend_var *(*step)(attend_decoding *d, const struct decoding_step *s);
    /* Stores the state for the next step, after everything else succeeded. False: no memory. */
    bool (*store)(attend_decoding *d, const struct decoding_step *s);
    void (*end)(attend_decoding *d);
} architecture;

/* By attend_architecture; NULL after the last. */
extern const architecture *const attend_architectures[];

#endif
