/* Ensembles in one model: their probabilities and attention are means over the members, and they are saved, loaded and
 * quantised as a whole. */
#include "unit/unit.h"

#include "core/memory.h"
#include "format/tensor_file.h"
#include "support/folder.h"
#include "support/tiny_pairs.h"
#include <math.h>

enum { MEMBERS = 3, MAX_NUMBERS = 4096 };
static const char rnn[] = "hidden=4 embedding=4 attention-width=4",
                  transformer[] = "architecture=transformer hidden=8 embedding=0 heads=2 layers=2";

static attend_model *model_of(const char *spec, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, seed) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    return m;
}

static attend_model *ensemble_of(const char *spec)
{
    attend_model *m = model_of(spec, 1);
    for (int i = 1; i < MEMBERS; i++) assert_ok(attend_model_add_member(m, model_of(spec, (uint64_t)i + 1)));
    return m;
}

/* What attend_model_score returns. */
typedef struct scores {
    double log_p[TINY_PAIRS];
    attend_real rows[MAX_NUMBERS], weights[MAX_NUMBERS];
    size_t row_count, weight_count;
} scores;

static void score(const attend_model *m, scores *s)
{
    attend_ctx *c = NULL;
    const attend_pairs pairs = tiny_pairs_of(m);
    s->row_count = (size_t)attend_pairs_rows(&pairs);
    s->weight_count = attend_pairs_weight_count(&pairs, attend_model_config(m), ATTEND_ATTENTION_CROSS);
    assert_true(s->row_count <= MAX_NUMBERS && s->weight_count <= MAX_NUMBERS);
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_model_score(c, m, &pairs, s->log_p, s->rows, ATTEND_ATTENTION_CROSS, s->weights));
    attend_ctx_free(c);
}

static void scores_are_means(void **state)
{
    (void)state;
    static const char *const specs[] = { rnn, transformer, "attention=none readout=plain", "architecture=lstmn" };
    static scores all, of[MEMBERS];
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        attend_model *m = ensemble_of(specs[i]);
        double sum = 0, rows = 0;
        score(m, &all);
        for (int k = 0; k < MEMBERS; k++) {
            attend_model *alone = model_of(specs[i], (uint64_t)k + 1);
            score(alone, &of[k]);
            attend_model_free(alone);
        }
        for (size_t r = 0; r < all.row_count; r++) {
            double p = 0;
            for (int k = 0; k < MEMBERS; k++) p += exp((double)of[k].rows[r]) / MEMBERS;
            assert_true(fabs(exp((double)all.rows[r]) - p) < 1e-6);
            rows += (double)all.rows[r];
        }
        for (int pair = 0; pair < TINY_PAIRS; pair++) sum += all.log_p[pair];
        assert_true(fabs(sum - rows) < 1e-4);
        for (size_t w = 0; w < all.weight_count; w++) {
            double mean = 0;
            for (int k = 0; k < MEMBERS; k++) mean += (double)of[k].weights[w] / MEMBERS;
            assert_true(fabs((double)all.weights[w] - mean) < 1e-6);
        }
        attend_model_free(m);
    }
}

static void equal_members_are_one_model(void **state)
{
    (void)state;
    static scores all, one;
    attend_model *m = model_of(rnn, 5), *alone = model_of(rnn, 5);
    assert_ok(attend_model_add_member(m, model_of(rnn, 5)));
    score(m, &all), score(alone, &one);
    assert_memory_equal(all.rows, one.rows, all.row_count * sizeof *all.rows);
    attend_model_free(m), attend_model_free(alone);
}

static void an_ensemble_is_one_file(void **state)
{
    (void)state;
    static const char *const specs[] = { rnn, transformer };
    static const attend_precision precisions[] = { ATTEND_FP32, ATTEND_BFLOAT16, ATTEND_INT8 };
    static scores before, after;
    for (size_t i = 0; i < 2; i++)
        for (int p = 0; p < 3; p++) {
            attend_model *m = ensemble_of(specs[i]), *back = NULL;
            size_t size, again;
            assert_ok(attend_model_attach(m, "note", "common", 6));
            assert_ok(attend_model_quantize(m, precisions[p]));
            assert_ok(attend_model_save(m, in_folder("model")));
            assert_ok(attend_model_load(&back, in_folder("model"), NULL));
            assert_int_equal(attend_model_member_count(back), MEMBERS);
            assert_null(attend_model_member(back, MEMBERS));
            assert_null(attend_model_member(back, -1));
            for (int k = 0; k < MEMBERS; k++) {
                assert_int_equal(attend_model_precision(attend_model_member(back, k)), precisions[p]);
                assert_memory_equal(attend_model_attached(attend_model_member(back, k), "note", &size), "common", 6);
            }
            score(m, &before), score(back, &after);
            assert_memory_equal(before.rows, after.rows, before.row_count * sizeof *before.rows);
            assert_ok(attend_model_save(back, in_folder("again")));
            char *a = get_file(in_folder("model"), &size), *b = get_file(in_folder("again"), &again);
            assert_true(size == again && memcmp(a, b, size) == 0);
            free(a), free(b);
            attend_model_free(m), attend_model_free(back);
        }
}

static void members_must_fit_together(void **state)
{
    (void)state;
    attend_model *m = model_of(rnn, 1), *wider = model_of("hidden=5 embedding=4 attention-width=4", 1);
    attend_model *quantised = model_of(rnn, 2), *other = model_of(rnn, 2), *ensemble = ensemble_of(rnn);
    assert_int_equal(attend_model_add_member(m, m), ATTEND_BAD_USAGE);
    assert_int_equal(attend_model_add_member(m, wider), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "hidden"));
    assert_ok(attend_model_quantize(quantised, ATTEND_INT8));
    assert_int_equal(attend_model_add_member(m, quantised), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "precision"));
    assert_int_equal(attend_model_add_member(m, ensemble), ATTEND_BAD_USAGE);
    assert_ok(attend_model_attach(other, "source.vocabulary", "a\nb\n", 4));
    assert_int_equal(attend_model_add_member(m, other), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "other vocabularies"));
    assert_int_equal(attend_model_member_count(m), 1);
    while (attend_model_member_count(ensemble) < ATTEND_MAX_MEMBERS)
        assert_ok(attend_model_add_member(ensemble, model_of(rnn, 9)));
    attend_model *more = model_of(rnn, 9);
    assert_int_equal(attend_model_add_member(ensemble, more), ATTEND_BAD_USAGE);
    attend_model_free(m), attend_model_free(wider), attend_model_free(quantised), attend_model_free(other);
    attend_model_free(ensemble), attend_model_free(more);
}

/* A head has another index in another member, so that a chosen one stays only if all members have chosen it. */
static void a_common_alignment_stays(void **state)
{
    (void)state;
    for (int head = 0; head < 2; head++) {
        attend_model *m = model_of(transformer, 1), *other = model_of(transformer, 2);
        assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 1, .head = 1 }));
        assert_ok(attend_model_set_alignment(other, (attend_alignment){ .layer = 1, .head = head }));
        assert_ok(attend_model_add_member(m, other));
        const attend_alignment a = attend_model_alignment(m), b = attend_model_alignment(attend_model_member(m, 1));
        assert_int_equal(a.layer, head == 1);
        assert_int_equal(a.head, head == 1 ? 1 : -1);
        assert_true(a.layer == b.layer && a.head == b.head);
        attend_model_free(m);
    }
}

/* ---- damaged files ---- */

typedef struct parts {
    attend_tensor tensors[256];
    attend_metadata metadata[128];
    size_t tensor_count, metadata_count;
} parts;

static void set_metadata(parts *p, const char *key, const char *value)
{
    for (size_t i = 0; i < p->metadata_count; i++)
        if (strcmp(p->metadata[i].key, key) == 0) p->metadata[i].value = value;
}

static void remove_tensor(parts *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensors[i].name, name) == 0) {
            p->tensors[i] = p->tensors[--p->tensor_count];
            return;
        }
    fail_msg("there is no %s", name);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    static const char *const messages[] = { "an ensemble of '1' models",
                                            "an ensemble of '65' models",
                                            "an ensemble of 'x' models",
                                            "requires the tensor 'member.4.",
                                            "'member.3.",
                                            "requires the tensor 'member.3.output.w'",
                                            "'member.2.output.b' has non-finite values",
                                            "'member.2.output.b' is F32",
                                            "formats up to 2: update attend" };
    attend_model *m = ensemble_of(rnn), *back = NULL;
    attend_tensor_file *good = NULL;
    assert_ok(attend_model_save(m, in_folder("good")));
    assert_ok(attend_tensor_file_open(&good, in_folder("good"), 0));
    static float broken[64];
    broken[0] = NAN;
    for (int i = 0; i < 9; i++) {
        static parts p;
        p = (parts){ .tensor_count = attend_tensor_file_count(good),
                     .metadata_count = attend_tensor_file_metadata_count(good) };
        for (size_t j = 0; j < p.tensor_count; j++) p.tensors[j] = *attend_tensor_file_at(good, j);
        for (size_t j = 0; j < p.metadata_count; j++) p.metadata[j] = *attend_tensor_file_metadata_at(good, j);
        static const char *const counts[] = { "1", "65", "x", "4", "2" };
        if (i < 5) set_metadata(&p, "ensemble", counts[i]);
        if (i == 5) remove_tensor(&p, "member.3.output.w");
        for (size_t j = 0; (i == 6 || i == 7) && j < p.tensor_count; j++)
            if (strcmp(p.tensors[j].name, "member.2.output.b") == 0) {
                if (i == 6) p.tensors[j].data = broken;
                if (i == 7) p.tensors[j].shape[0]--, p.tensors[j].bytes -= sizeof(float);
            }
        if (i == 8) set_metadata(&p, "format-version", "3");
        assert_ok(attend_tensor_file_write(in_folder("bad"), p.tensors, p.tensor_count, p.metadata, p.metadata_count));
        const int status = attend_model_load(&back, in_folder("bad"), NULL);
        if (status != ATTEND_BAD_MODEL || back || !strstr(attend_message(), messages[i]))
            fail_msg("case %d: status %d, '%s'", i, status, attend_message());
    }
    attend_tensor_file_close(good);
    attend_model_free(m);
}

/* ---- memory ---- */

static void refused_memory_is_reported(void **state)
{
    (void)state;
    attend_model *m = ensemble_of(rnn), *back = NULL;
    attend_ctx *c = NULL;
    const attend_pairs pairs = tiny_pairs_of(m);
    static scores s;
    /* on devices with memory of their own, later calls make fewer requests */
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        const int status = attend_model_save(m, in_folder("model"));
        done = attend_memory_requests() < n;
        assert_int_equal(status, done ? ATTEND_OK : ATTEND_NO_MEMORY);
    }
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        const int status = attend_model_load(&back, in_folder("model"), NULL);
        done = attend_memory_requests() < n;
        assert_int_equal(status, done ? ATTEND_OK : ATTEND_NO_MEMORY);
        if (!done) assert_null(back);
    }
    attend_model_free(back);
    for (long n = 1;; n++) { /* the first scoring packs weights */
        attend_memory_refuse(-1);
        assert_ok(attend_ctx_new(&c));
        attend_memory_refuse(n);
        const int status = attend_model_score(c, m, &pairs, s.log_p, s.rows, ATTEND_ATTENTION_CROSS, s.weights);
        attend_memory_refuse(-1);
        attend_ctx_free(c);
        if (status == ATTEND_OK) break;
        assert_int_equal(status, ATTEND_NO_MEMORY);
    }
    attend_model *one = model_of(rnn, 1), *other = model_of(rnn, 2);
    attend_memory_refuse(1);
    assert_int_equal(attend_model_add_member(one, other), ATTEND_NO_MEMORY);
    attend_memory_refuse(-1);
    assert_int_equal(attend_model_member_count(one), 1);
    attend_model_free(m), attend_model_free(one), attend_model_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_means),          cmocka_unit_test(equal_members_are_one_model),
        cmocka_unit_test(an_ensemble_is_one_file),   cmocka_unit_test(members_must_fit_together),
        cmocka_unit_test(a_common_alignment_stays),  cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(refused_memory_is_reported)
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
