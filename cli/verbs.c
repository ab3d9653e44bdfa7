/* verbs.c: what the command can do, in the order help, man pages and completions name it. */
#include "options.h"

const verb *const verbs[] = { &verb_demo, &verb_train,   &verb_translate, &verb_score,   &verb_evaluate, &verb_align,
                              &verb_show, &verb_compare, &verb_check,     &verb_convert, &verb_info,     NULL };
