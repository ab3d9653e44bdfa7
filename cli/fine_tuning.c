#include "fine_tuning.h"

#include <attend/text.h>
#include <stdlib.h>
#include <string.h>

/* Options that have no effect with the sizes, or the vocabularies, of a model. */
static int check_given(const verb *v, const fine_tuning *f, const parsed *p)
{
    static const char *const of_vocabularies[] = { "tokens",     "source-tokens",     "target-tokens",     "min-count",
                                                   "vocab-size", "source-vocab-size", "target-vocab-size", "lowercase",
                                                   "bpe-split" };
    if (options_given(v, p, "preset"))
        return usage_error(v, "--preset chooses the size of a model, but --init-from takes it from %s", f->init_from);
    for (size_t i = 0; !f->new_vocab && i < sizeof of_vocabularies / sizeof *of_vocabularies; i++)
        if (options_given(v, p, of_vocabularies[i]))
            return usage_error(
                v,
                "--%s has no effect with --init-from, which takes the vocabularies from %s; to learn new "
                "ones, add --new-vocab",
                of_vocabularies[i], f->init_from);
    return 0;
}

/* Takes all fields from the model but those that are given. Refuses those that differ, unless they may. */
static int take_config(const verb *v, const attend_config *model, const char *path, train_settings *s, const parsed *p,
                       bool may_differ)
{
    const bool *given = options_fields_given(v, p);
    attend_config config = *model;
    const attend_config_field *field;
    char ours[64], theirs[64];
    for (int i = 0; (field = attend_config_field_at(i)); i++)
        if (given[i] && (attend_config_get(&s->config, field->name, ours, sizeof ours) != ATTEND_OK ||
                         attend_config_set(&config, field->name, ours) != ATTEND_OK))
            return usage_error(v, "--%s", attend_message());
    s->config = config;
    s->has_config = true;
    if (may_differ) return 0;
    attend_config_check(&config); /* 0 may stand for a default; what is wrong is refused later */
    for (int i = 0; (field = attend_config_field_at(i)); i++) {
        if (!given[i] || field->training_only) continue;
        if (attend_config_get(&config, field->name, ours, sizeof ours) == ATTEND_OK &&
            attend_config_get(model, field->name, theirs, sizeof theirs) == ATTEND_OK && strcmp(ours, theirs) != 0)
            return usage_error(v,
                               "--%s %s differs from %s, which has %s; --init-from takes it from there, leave it out",
                               field->name, ours, path, theirs);
    }
    return 0;
}

static int take_kinds(const attend_model *m, train_settings *s)
{
    static const char *const sides[2] = { "source", "target" };
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    for (int side = is_language_model; side < 2; side++) {
        attend_tokenizer *t = NULL;
        const int status = attend_tokenizer_from_model(&t, m, sides[side]);
        if (status != ATTEND_OK) return status;
        s->kinds[side] = (int)attend_tokenizer_kind(t);
        attend_tokenizer_free(t);
    }
    return ATTEND_OK;
}

int fine_tuning_prepare(const verb *v, const fine_tuning *f, const char *model, train_settings *s, const parsed *p)
{
    if (f->new_vocab && !f->init_from) return usage_error(v, "--new-vocab requires --init-from MODEL");
    if (!f->init_from) return 0;
    int status = check_given(v, f, p);
    if (status != 0) return status;
    char *checkpoint = train_settings_checkpoint(s, model);
    const char *const path = checkpoint ? checkpoint : f->init_from;
    attend_model *m = NULL;
    status = attend_model_load(&m, path, NULL);
    if (status == ATTEND_OK && attend_model_member_count(m) > 1)
        status = attend_fail(ATTEND_BAD_USAGE, "%s is an ensemble and cannot be trained: start from one of its members",
                             path);
    if (status == ATTEND_OK) status = take_kinds(m, s);
    status = status == ATTEND_OK ? take_config(v, attend_model_config(m), path, s, p, checkpoint != NULL)
                                 : cli_fail(v, status);
    s->has_vocabularies = !f->new_vocab;
    attend_model_free(m);
    free(checkpoint);
    return status;
}
