/* model_with_tokenizer.h: a small random model with one tokenizer for both sides, learned from given lines. */
#ifndef ATTEND_TEST_MODEL_WITH_TOKENIZER_H
#define ATTEND_TEST_MODEL_WITH_TOKENIZER_H

#include "support/tiny_pairs.h"
#include <attend/text.h>

static inline attend_model *model_with_tokenizer(attend_token_kind kind, const char *words,
                                                 int (*give)(void *user, const char **line, size_t *size), void *user)
{
    attend_tokenizer_options options = ATTEND_TOKENIZER_OPTIONS_INIT;
    attend_tokenizer *t = NULL;
    attend_config config;
    attend_model *m = NULL;
    options.kind = kind;
    assert_ok(attend_tokenizer_learn(&t, &options, give, user));
    assert_ok(tiny_config(&config, words));
    config.source_vocab = config.target_vocab = attend_tokenizer_size(t);
    assert_ok(attend_model_new(&m, &config, 1));
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), 3, 1.0);
    assert_ok(attend_tokenizer_attach(t, m, "source"));
    assert_ok(attend_tokenizer_attach(t, m, "target"));
    attend_tokenizer_free(t);
    return m;
}

#endif
