/* unused_fields.c: which fields of a configuration do anything. The library takes what it needs and leaves the rest alone, so that one configuration
 * can be tried with every architecture; but who writes --cell lstm for a Transformer should hear that it has none. */
#include "unused_fields.h"

#include <string.h>

enum {
    RNN = 1 << ATTEND_ARCHITECTURE_RNN,
    TRANSFORMER = 1 << ATTEND_ARCHITECTURE_TRANSFORMER,
    LSTMN = 1 << ATTEND_ARCHITECTURE_LSTMN,
    ALL = RNN | TRANSFORMER | LSTMN
};

/* What is not here is for all. */
static const struct {
    const char *field;
    int translation, lines; /* architectures for which it does something; lines: of a language model */
} uses[] = {
    { "cell", RNN, RNN },
    { "activation", RNN, RNN },
    { "decoder-layers", TRANSFORMER | LSTMN, TRANSFORMER | LSTMN },
    { "bidirectional", RNN, 0 },
    { "start", RNN, 0 },
    { "attention", RNN | LSTMN, 0 },
    { "context", RNN, 0 },
    { "input-feeding", RNN, 0 },
    { "readout", RNN, RNN },
    { "heads", ALL, TRANSFORMER },
    { "attention-width", RNN | LSTMN, LSTMN },
    { "longest", ALL, TRANSFORMER },
    { "filters", RNN | LSTMN, 0 },
    { "filter-size", RNN | LSTMN, 0 },
    { "window", RNN | LSTMN, 0 },
    { "window-size", RNN | LSTMN, 0 },
    { "selection", RNN | LSTMN, 0 },
    { "estimator", RNN | LSTMN, 0 },
    { "temperature", RNN | LSTMN, 0 },
    { "entropy-bonus", RNN | LSTMN, 0 },
    { "norm", TRANSFORMER, TRANSFORMER },
    { "positions", TRANSFORMER, TRANSFORMER },
    { "feed-forward", TRANSFORMER, TRANSFORMER },
    { "feed-forward-width", TRANSFORMER, TRANSFORMER },
    { "attention-dropout", TRANSFORMER, TRANSFORMER },
    { "fusion", LSTMN, 0 },
    { "span", LSTMN, LSTMN },
    { "dropout-along-time", RNN | LSTMN, RNN | LSTMN },
    { "shared-vocab", ALL, 0 },
};

static int users(attend_task task, const char *field)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(uses[i].field, field) == 0)
            return task == ATTEND_TASK_LANGUAGE_MODEL ? uses[i].lines : uses[i].translation;
    return ALL;
}

bool field_is_idle(const attend_config *c, const char *field)
{
    return (users(c->task, field) & 1 << c->architecture) == 0;
}

/* --bidirectional no of a Transformer, or --cell lstm of an LSTMN: nothing that is wrong. */
static bool holds_anyway(const attend_config *c, const char *field)
{
    attend_config plain = ATTEND_CONFIG_INIT;
    char said[64], settled[64];
    plain.task = c->task, plain.architecture = c->architecture;
    plain.source_vocab = plain.target_vocab = ATTEND_FIRST_TOKEN + 1;
    if (attend_config_get(c, field, said, sizeof said) != ATTEND_OK) return true;
    if (strcmp(said, "no") == 0 || strcmp(said, "0") == 0) return true;
    return attend_config_check(&plain) == ATTEND_OK &&
           attend_config_get(&plain, field, settled, sizeof settled) == ATTEND_OK && strcmp(said, settled) == 0;
}

const char *idle_field_given(const verb *v, const attend_config *c, const parsed *p)
{
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const char *const field = uses[i].field;
        if (!options_given(v, p, field) || !field_is_idle(c, field)) continue;
        if (users(c->task, field) == 0 || !holds_anyway(c, field)) return field;
    }
    return NULL;
}

const char *idle_field_text(char text[IDLE_TEXT], const attend_config *c, const char *field)
{
    static const char *const names[] = { "rnn", "transformer", "lstmn" };
    const int whose = users(c->task, field);
    if (!whose) {
        snprintf(text, IDLE_TEXT, "--%s is for a source and a target, and a language model has lines alone", field);
        return text;
    }
    int n = snprintf(text, IDLE_TEXT, "--%s belongs to architecture", field);
    bool first = true;
    for (int i = 0; i < 3; i++)
        if (whose & 1 << i) {
            n += snprintf(text + n, IDLE_TEXT - (size_t)n, "%s '%s'", first ? "" : " or", names[i]);
            first = false;
        }
    snprintf(text + n, IDLE_TEXT - (size_t)n, ", and this is '%s': leave it out", names[c->architecture]);
    return text;
}
