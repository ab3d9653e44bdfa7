/* ensemble_check.h: whether models can form an ensemble. */
#ifndef ATTEND_DECODE_ENSEMBLE_CHECK_H
#define ATTEND_DECODE_ENSEMBLE_CHECK_H

#include <attend/model.h>

/* ATTEND_BAD_USAGE unless all models have the tokenizers and vocabularies of the first; the message names where they
 * differ. */
int attend_models_check_ensemble(const attend_model *const *models, int count);

#endif
