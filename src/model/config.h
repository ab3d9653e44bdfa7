/* config.h: parts of the checks of a configuration (attend/config.h) that several files share. */
#ifndef ATTEND_MODEL_CONFIG_H
#define ATTEND_MODEL_CONFIG_H

#include <attend/config.h>

/* Values out of the ranges of the table: ATTEND_BAD_USAGE. */
int attend_config_check_ranges(const attend_config *config);
/* Values without effect in fields that are refused elsewhere (attend_config_field): ATTEND_BAD_USAGE. */
int attend_config_check_effects(const attend_config *config);
/* Sets the fields that the library chooses, and those that task and architecture determine. */
void attend_config_set_defaults(attend_config *config);

/* What the architectures with a configurable attention share (rnn_config.c): the first contradiction between fields of
 * the attention, as a message; NULL: none. */
const char *attend_config_attention_conflict(const attend_config *c);
/* The same for tie-embeddings. has_readout: the output layer reads a projection, whose width can be that of the
 * embedding. */
const char *attend_config_tied_conflict(const attend_config *c, bool has_readout);

/* False for NULL, and for an architecture that does not exist, in a configuration that was never checked. */
bool attend_config_has_architecture(const attend_config *c);

/* The time and the weights of attention grow with the product of two lengths. A pair whose product is larger than this
 * would keep everything else waiting; it is left out wherever the lengths are the data's. */
enum { ATTEND_MAX_ATTENTION_STEPS = 100000000 };
/* Whether every attention of a model of this configuration takes at most so many steps for a pair of so many
 * tokens. */
bool attend_config_can_attend(const attend_config *c, int source, int target);

/* decoder_layers, which is 0 before a configuration is checked. */
static inline int attend_config_decoder_layers(const attend_config *c)
{
    return c->decoder_layers > 0 ? c->decoder_layers : c->layers;
}

#endif
