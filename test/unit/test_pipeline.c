/* The text pipeline: NFC, tokens with spans, the end of a source; texts that fail leave no trace. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/lines.h"
#include "text/pipeline.h"

static attend_pipeline pipeline_of(attend_side side)
{
    attend_pipeline p = { .side = side };
    lines l = lines_of("the cat sat\nna\xc3\xafve caf\xc3\xa9\n");
    assert_ok(lines_learn(&p.tokenizer, &l, ATTEND_TOKENS_CHAR, 0, 0));
    lines_free(&l);
    return p;
}

static void a_source_ends_with_its_end(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        attend_pipeline p = pipeline_of((attend_side)side);
        attend_encoded_text first, empty;
        assert_ok(attend_pipeline_add(&p, "cafe\xcc\x81", 6, &first)); /* e and a combining accent: not in NFC */
        assert_string_equal(attend_pipeline_text(&p, &first), "caf\xc3\xa9");
        assert_int_equal(first.count, side == ATTEND_SOURCE ? 5 : 4);
        assert_int_equal(attend_pipeline_length(&p, &first), 4);
        if (side == ATTEND_SOURCE) {
            assert_int_equal(attend_pipeline_ids(&p, &first)[4], ATTEND_END);
            assert_int_equal(attend_pipeline_spans(&p, &first)[4].begin, 5);
            assert_int_equal(attend_pipeline_spans(&p, &first)[4].end, 5);
        }
        assert_ok(attend_pipeline_add(&p, "", 0, &empty));
        assert_int_equal(empty.count, 0);
        attend_pipeline_free(&p);
    }
}

static void tokens_are_joined(void **state)
{
    (void)state;
    attend_pipeline p = pipeline_of(ATTEND_TARGET);
    attend_encoded_text a, b, c;
    assert_ok(attend_pipeline_add(&p, "cat", 3, &a));
    assert_ok(attend_pipeline_add(&p, "", 0, &b));
    assert_ok(attend_pipeline_add(&p, "the", 3, &c));
    const attend_encoded_text *const texts[] = { &c, &b, &a };
    int lengths[3];
    int *tokens = attend_pipeline_join(&p, 3, texts, lengths);
    assert_non_null(tokens);
    assert_memory_equal(lengths, ((const int[]){ 3, 0, 3 }), sizeof lengths);
    assert_memory_equal(tokens, attend_pipeline_ids(&p, &c), 3 * sizeof *tokens);
    assert_memory_equal(tokens + 3, attend_pipeline_ids(&p, &a), 3 * sizeof *tokens);
    attend_memory_free(tokens);
    attend_memory_refuse(1);
    tokens = attend_pipeline_join(&p, 3, texts, lengths);
    attend_memory_refuse(0);
    assert_null(tokens);
    attend_pipeline_free(&p);
}

static void assert_unchanged(attend_pipeline *p, const attend_encoded_text *first, const attend_encoded_text *failed)
{
    assert_int_equal(failed->count, 0);
    assert_int_equal(failed->size, 0);
    assert_int_equal(p->ids.count, first->count);
    assert_int_equal(p->text.size, first->size + 1);
    assert_string_equal(attend_pipeline_text(p, first), "cat");
}

/* A text that is not UTF-8, and every request for memory that fails. */
static void a_failure_adds_nothing(void **state)
{
    (void)state;
    char long_text[3000];
    for (size_t i = 0; i < sizeof long_text; i += 3) memcpy(long_text + i, "e\xcc\x81", 3); /* grows each array */
    int tokens[1000];
    for (int generated = 0; generated < 2; generated++)
        for (long n = 0;; n++) {
            attend_pipeline p = pipeline_of(ATTEND_SOURCE);
            attend_encoded_text first, failed;
            assert_ok(attend_pipeline_add(&p, "cat", 3, &first));
            for (int i = 0; i < 1000; i++) tokens[i] = attend_pipeline_ids(&p, &first)[i % 3];
            if (n == 0) {
                assert_int_equal(attend_pipeline_add(&p, "c\xff", 2, &failed), ATTEND_BAD_DATA);
                assert_unchanged(&p, &first, &failed);
                tokens[999] = ATTEND_END;
                assert_int_equal(attend_pipeline_add_tokens(&p, tokens, 1000, &failed), ATTEND_BAD_USAGE);
                assert_unchanged(&p, &first, &failed);
                attend_pipeline_free(&p);
                continue;
            }
            attend_memory_refuse(n);
            const int status = generated ? attend_pipeline_add_tokens(&p, tokens, 1000, &failed)
                                         : attend_pipeline_add(&p, long_text, sizeof long_text, &failed);
            attend_memory_refuse(0);
            if (status == ATTEND_NO_MEMORY) assert_unchanged(&p, &first, &failed);
            attend_pipeline_free(&p);
            if (status == ATTEND_OK) {
                assert_true(n > 2);
                break;
            }
            assert_int_equal(status, ATTEND_NO_MEMORY);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_ends_with_its_end),
        cmocka_unit_test(tokens_are_joined),
        cmocka_unit_test(a_failure_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
