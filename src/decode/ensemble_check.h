/* ensemble_check.h: can these models translate together? */
#ifndef ATTEND_DECODE_ENSEMBLE_CHECK_H
#define ATTEND_DECODE_ENSEMBLE_CHECK_H

#include <attend/model.h>

/* ATTEND_BAD_USAGE, saying which differ and where, unless all have the tokenizers and vocabularies of the first. */
int attend_models_check_ensemble(const attend_model *const *models, int count);

#endif
