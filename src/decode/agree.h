/* agree.h: can these models translate together? */
#ifndef ATTEND_DECODE_AGREE_H
#define ATTEND_DECODE_AGREE_H

#include <attend/model.h>

/* ATTEND_BAD_USAGE, saying which differ and where, unless all have the tokenizers and vocabularies of the first. */
int attend_models_agree(const attend_model *const *models, int count);

#endif
