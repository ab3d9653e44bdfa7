/* shortlist.h: the inside of attend/shortlist.h. */
#ifndef ATTEND_MODEL_SHORTLIST_H
#define ATTEND_MODEL_SHORTLIST_H

#include "model/model.h"
#include <attend/shortlist.h>

/* Finds the lists of the attached shortlist, if there is one. ATTEND_BAD_MODEL if it is not one for this model. */
int attend_shortlist_index(attend_model *m);
/* The target words of a source of n words (checked before), in order, in the context's memory; always with the end. NULL: no memory. */
int *attend_shortlist_tokens(attend_ctx *c, const attend_model *m, int n, const int *source, int *count);

#endif
