/* The names of the values of enumerations. */
#include "unit/unit.h"

/* The names of enumerations exist as lists, which command lines use, and as functions, which have no others. */
static void lists_of_names_are_complete(void **state)
{
    (void)state;
    int i;
    for (i = 0; attend_precision_names[i]; i++)
        assert_string_equal(attend_precision_name((attend_precision)i), attend_precision_names[i]);
    assert_true(i == ATTEND_INT8 + 1 && !attend_precision_name((attend_precision)i));
    for (i = 0; attend_token_kind_names[i]; i++)
        assert_string_equal(attend_token_kind_name((attend_token_kind)i), attend_token_kind_names[i]);
    assert_true(i == ATTEND_TOKENS_JAMO + 1 && !attend_token_kind_name((attend_token_kind)i));
    for (i = 0; attend_attention_kind_names[i]; i++)
        assert_string_equal(attend_attention_kind_name((attend_attention_kind)i), attend_attention_kind_names[i]);
    assert_true(i == ATTEND_ATTENTION_DECODER + 1 && !attend_attention_kind_name((attend_attention_kind)i));
    for (i = 0; attend_symmetrization_names[i]; i++)
        assert_string_equal(attend_symmetrization_name((attend_symmetrization)i), attend_symmetrization_names[i]);
    assert_true(i == ATTEND_GROW_DIAG_FINAL_AND + 1 && !attend_symmetrization_name((attend_symmetrization)i));
    for (i = 0; attend_unit_names[i]; i++) assert_string_equal(attend_unit_name((attend_unit)i), attend_unit_names[i]);
    assert_true(i == ATTEND_UNIT_CHARACTER + 1 && !attend_unit_name((attend_unit)i));
    for (i = 0; attend_palette_names[i]; i++)
        assert_string_equal(attend_palette_name((attend_palette)i), attend_palette_names[i]);
    assert_true(i == ATTEND_PALETTE_VIRIDIS + 1 && !attend_palette_name((attend_palette)i));
    assert_string_equal(attend_token_kind_name(ATTEND_TOKENS_CHAR), "char");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lists_of_names_are_complete) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
