/* fine_tuning.h: the options of a training that starts with the weights of a model (attend train --init-from). */
#ifndef ATTEND_CLI_FINE_TUNING_H
#define ATTEND_CLI_FINE_TUNING_H

#include "train_options.h"

typedef struct fine_tuning {
    const char *init_from; /* NULL: no fine-tuning */
    bool new_vocab;
} fine_tuning;

/* Takes the configuration, and unless new ones are learned the vocabularies, from init_from, or from the checkpoint of
 * `model` if training will resume from it. Refuses options that differ. Returns 0, or an exit code after a message. */
int fine_tuning_prepare(const verb *v, const fine_tuning *f, const char *model, train_settings *s, const parsed *p);

#endif
