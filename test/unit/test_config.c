/* The table of configuration fields: text to fields and back, defaults, old names, fields without effect, and invalid
 * combinations. */
#include <attend/attend.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/comma_locale.h"
#include "support/tiny_pairs.h"

#define LSTMN       "architecture=lstmn"
#define TRANSFORMER "architecture=transformer hidden=8 embedding=0 heads=2 layers=2"

static void invalid_configurations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *message;
    } cases[] = {
        { "start=copy", "a bidirectional encoder has two" },
        { "attention=none readout=plain input-feeding=yes", "choose an attention" },
        { "input-feeding=yes", "context 'after'" },
        { "context=after", "context 'before'" },
        { "attention=none window=local-m", "needs an attention" },
        { "window=local-p selection=hard", "choose one of the two" },
        { "diagonal-start=yes", "belongs to window 'local-p'" },
        { "attention=none readout=plain alignment-head=yes", "choose an attention" },
        { "architecture=lstmn alignment-head=yes", "alignment-head" },
        { "task=language-model alignment-head=yes", "alignment-head" },
        { "attention=location-sensitive heads=2 attention-width=4", "heads must be 1" },
        { "shared-vocab=yes", "one vocabulary" },
        { "tie-embeddings=yes readout=plain", "hidden and embedding" },
        { "heads=3", "must be divisible by heads 3" },
        { "heads=2", "attention-width" },
        { "cell=gruu", "did you mean 'gru'" },
        { "attention=aditive", "did you mean 'additive'" },
        { "atention=dot", "did you mean 'attention'" },
        { "layers=9", "1..8" },
        { "layers=1.5", "1..8" },
        { "hidden=many", "1..16384" },
        { "dropout=1", "0..0.999" },
        { "dropout=nan", "0..0.999" },
        { "bidirectional=maybe", "yes|no" },
        { TRANSFORMER " embedding=7", "leave embedding out" },
        { TRANSFORMER " heads=3", "must be divisible by heads 3" },
        { TRANSFORMER " heads=8 positions=rotary", "must be even" },
        { LSTMN " attention=none", "by attention alone" },
        { LSTMN " input-feeding=yes", "belongs to architecture 'rnn'" },
        { LSTMN " fusion=deep heads=2 attention-width=4", "belong to fusion 'shallow'" },
        { LSTMN " fusion=deep selection=sparsemax", "belong to fusion 'shallow'" },
        { LSTMN " fusion=deep window=local-m", "belong to fusion 'shallow'" },
        { LSTMN " fusion=deep tie-embeddings=yes", "hidden and embedding" },
        { LSTMN " task=language-model tie-embeddings=yes", "hidden and embedding" },
        { TRANSFORMER " window=local-m", "belongs to architecture 'rnn'" },
        { TRANSFORMER " dropout-along-time=yes", "dropout-along-time belongs to architecture 'rnn'" },
        { "layers=2 decoder-layers=3", "decoder-layers belongs to architecture 'transformer' or 'lstmn'" },
        { "attention-dropout=0.1", "attention-dropout belongs to architecture 'transformer'" },
        { LSTMN " attention-dropout=0.1", "attention-dropout belongs to architecture 'transformer'" },
        { "task=languagemodel", "did you mean 'language-model'" },
        { "task=language-model tie-embeddings=yes readout=plain", "hidden and embedding" },
        { "task=language-model input-feeding=yes readout=plain", "choose an attention" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_config config;
        attend_model *m = NULL;
        int status = tiny_config(&config, cases[i].spec);
        if (status == ATTEND_OK) status = attend_model_new(&m, &config, 1);
        if (status != ATTEND_BAD_USAGE || m || !strstr(attend_message(), cases[i].message))
            fail_msg("%s: status %d, '%s'", cases[i].spec, status, attend_message());
    }
}

static void text_of_fields_can_be_read_back(void **state)
{
    (void)state;
    attend_config a, b;
    assert_int_equal(tiny_config(&a, "cell=lstm attention=none readout=plain dropout=0.1 bidirectional=no"), ATTEND_OK);
    assert_int_equal(tiny_config(&b, ""), ATTEND_OK);
    for (int i = 0; attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        char text[64], again[64];
        assert_int_equal(attend_config_get(&a, name, text, sizeof text), ATTEND_OK);
        assert_int_equal(attend_config_set(&b, name, text), ATTEND_OK);
        assert_int_equal(attend_config_get(&b, name, again, sizeof again), ATTEND_OK);
        assert_string_equal(text, again);
        assert_int_equal(attend_config_get(&a, name, text, 1), ATTEND_BAD_USAGE);
    }
    assert_true(b.cell == ATTEND_CELL_LSTM && !b.attention && !b.bidirectional && fabs(b.dropout - 0.1) < 1e-15);
    assert_int_equal(sizeof(attend_cell_kind), sizeof(int)); /* config.c writes enums as ints */
}

/* Every default is a value that its field accepts, so that help texts show it and files can hold it. */
static void defaults_are_accepted_by_their_fields(void **state)
{
    (void)state;
    static const attend_config defaults = ATTEND_CONFIG_INIT;
    attend_config other;
    const attend_config_field *f;
    assert_int_equal(tiny_config(&other, ""), ATTEND_OK);
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        char expected[64], got[64];
        if (strcmp(f->key, "source-vocab") == 0 || strcmp(f->key, "target-vocab") == 0) continue; /* must be set */
        assert_int_equal(attend_config_get(&defaults, f->name, expected, sizeof expected), ATTEND_OK);
        assert_int_equal(attend_config_set(&other, f->name, expected), ATTEND_OK);
        assert_int_equal(attend_config_get(&other, f->name, got, sizeof got), ATTEND_OK);
        assert_string_equal(expected, got);
    }
}

/* Every field has its own member, name and key; every score and architecture is among the values. */
static void the_table_of_fields_is_complete(void **state)
{
    (void)state;
    const attend_config_field *f, *g;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        assert_int_equal(attend_config_field_find(f->name), i);
        assert_true(f->help[0] && f->values[0] && f->since[0]);
        int major, minor;
        assert_int_equal(sscanf(f->since, "%d.%d", &major, &minor), 2);
        assert_true(major < ATTEND_VERSION_MAJOR || (major == ATTEND_VERSION_MAJOR && minor <= ATTEND_VERSION_MINOR));
        for (int j = 0; j < i && (g = attend_config_field_at(j)); j++)
            assert_true(strcmp(f->name, g->name) != 0 && strcmp(f->key, g->key) != 0);
    }
    assert_null(attend_config_field_at(-1));
    assert_int_equal(attend_config_field_find("nothing"), -1);
    for (const attend_score *const *s = attend_scores; *s; s++)
        assert_non_null(strstr(attend_config_field_at(attend_config_field_find("attention"))->values, (*s)->name));
    assert_string_equal(attend_config_field_at(attend_config_field_find("architecture"))->values,
                        "rnn|transformer|lstmn");
}

static void old_names_of_fields_are_accepted(void **state)
{
    (void)state;
    attend_config config;
    char text[64];
    assert_int_equal(tiny_config(&config, "longest=77"), ATTEND_OK);
    assert_int_equal(config.max_positions, 77);
    assert_int_equal(attend_config_get(&config, "longest", text, sizeof text), ATTEND_OK);
    assert_string_equal(text, "77");
    const attend_config_field *f = attend_config_field_at(attend_config_field_find("longest"));
    assert_string_equal(f->name, "max-positions");
    assert_string_equal(f->key, "longest"); /* as in files of version 0.1 */
}

static void fields_without_effect_are_refused_if_given(void **state)
{
    (void)state;
    static const struct {
        const char *config, *given, *message;
    } cases[] = {
        { "cell=lstm", "cell", NULL },
        { TRANSFORMER " cell=lstm", "cell", "cell belongs to architecture 'rnn', but this model is 'transformer'" },
        { TRANSFORMER " cell=lstm", "hidden", NULL },
        { TRANSFORMER " window=local-m", "window", "window belongs to architecture 'rnn' or 'lstmn'" },
        { TRANSFORMER " bidirectional=no", "bidirectional", NULL }, /* the value in use */
        { LSTMN " cell=lstm", "cell", NULL },
        { LSTMN " cell=gru", "cell", "cell belongs to architecture 'rnn'" },
        { "task=language-model attention=dot", "attention", "attention has no effect for a language model" },
        { "task=language-model cell=lstm", "cell", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_config config;
        bool given[ATTEND_CONFIG_FIELD_COUNT] = { false };
        assert_int_equal(tiny_config(&config, cases[i].config), ATTEND_OK);
        given[attend_config_field_find(cases[i].given)] = true;
        const int status = attend_config_check_given(&config, given);
        assert_int_equal(status, cases[i].message ? ATTEND_BAD_USAGE : ATTEND_OK);
        if (cases[i].message) assert_non_null(strstr(attend_message(), cases[i].message));
    }
}

/* A value of the field other than its default. */
static void other_value(const attend_config_field *f, char *text, size_t size)
{
    static const attend_config defaults = ATTEND_CONFIG_INIT;
    char usual[64];
    assert_int_equal(attend_config_get(&defaults, f->name, usual, sizeof usual), ATTEND_OK);
    if (f->type == ATTEND_FIELD_INTEGER || f->type == ATTEND_FIELD_REAL) {
        snprintf(text, size, "%s", f->type == ATTEND_FIELD_INTEGER ? "2" : "0.5");
        return;
    }
    snprintf(text, size, "%s", strrchr(f->values, '|') + 1);
    if (strcmp(text, usual) == 0) snprintf(text, size, "%.*s", (int)strcspn(f->values, "|"), f->values);
}

/* Where a field has no effect, attend_config_check refuses or ignores another value than the default, as the list of
 * fields says. */
static void values_without_effect_are_refused_or_ignored(void **state)
{
    (void)state;
    const attend_config_field *f;
    int counts[2] = { 0 };
    for (int task = ATTEND_TASK_TRANSLATION; task <= ATTEND_TASK_LANGUAGE_MODEL; task++)
        for (int a = ATTEND_ARCHITECTURE_RNN; a <= ATTEND_ARCHITECTURE_LSTMN; a++)
            for (int i = 0; (f = attend_config_field_at(i)); i++) {
                attend_config config;
                char value[64];
                assert_int_equal(tiny_config(&config, "embedding=4"), ATTEND_OK);
                config.task = (attend_task)task, config.architecture = (attend_architecture)a;
                if (attend_config_field_applies(&config, f)) continue;
                other_value(f, value, sizeof value);
                assert_int_equal(attend_config_set(&config, f->name, value), ATTEND_OK);
                const int status = attend_config_check(&config);
                if (status != (f->refused_elsewhere ? ATTEND_BAD_USAGE : ATTEND_OK))
                    fail_msg("task %d, architecture %d, %s=%s: status %d", task, a, f->name, value, status);
                counts[f->refused_elsewhere]++;
            }
    assert_true(counts[false] > 50 && counts[true] > 10);
}

static void values_outside_of_enums_are_refused(void **state)
{
    (void)state;
    attend_config config;
    char text[64];
    assert_int_equal(tiny_config(&config, ""), ATTEND_OK);
    for (int number = -1; number < 100; number += 100) {
        memcpy(&config.cell, &number, sizeof number);
        assert_int_equal(attend_config_get(&config, "cell", text, sizeof text), ATTEND_BAD_USAGE);
        assert_int_equal(attend_config_check(&config), ATTEND_BAD_USAGE);
    }
}

/* Fields and files use a decimal point in every locale, also where printf writes 0,5. */
static void numbers_have_a_decimal_point_in_any_locale(void **state)
{
    (void)state;
    if (!comma_locale_begin()) skip_part(COMMA_LOCALE_MISSING);
    attend_config config;
    char text[64];
    const int set = tiny_config(&config, "dropout=0.25"),
              get = attend_config_get(&config, "dropout", text, sizeof text);
    comma_locale_end();
    assert_int_equal(set, ATTEND_OK);
    assert_int_equal(get, ATTEND_OK);
    assert_string_equal(text, "0.25");
}

/* The fields that fine-tuning may change: a model computes the same with any of their values. */
static void fields_of_training(void **state)
{
    (void)state;
    static const char *const names[] = { "estimator", "temperature",       "entropy-bonus",
                                         "dropout",   "attention-dropout", "dropout-along-time" };
    size_t found = 0;
    for (int i = 0; attend_config_field_at(i); i++)
        if (attend_config_field_at(i)->training_only) {
            assert_true(found < sizeof names / sizeof *names);
            assert_string_equal(attend_config_field_at(i)->name, names[found++]);
        }
    assert_int_equal(found, sizeof names / sizeof *names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_configurations_are_refused),
        cmocka_unit_test(text_of_fields_can_be_read_back),
        cmocka_unit_test(defaults_are_accepted_by_their_fields),
        cmocka_unit_test(the_table_of_fields_is_complete),
        cmocka_unit_test(old_names_of_fields_are_accepted),
        cmocka_unit_test(fields_without_effect_are_refused_if_given),
        cmocka_unit_test(values_without_effect_are_refused_or_ignored),
        cmocka_unit_test(values_outside_of_enums_are_refused),
        cmocka_unit_test(numbers_have_a_decimal_point_in_any_locale),
        cmocka_unit_test(fields_of_training),
    };
    return test_status(cmocka_run_group_tests(tests, NULL, NULL));
}
