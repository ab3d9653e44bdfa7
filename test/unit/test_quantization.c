/* Quantised models and shortlists: results close to those of the original model, bit-identical on any number of threads and after loading from a file;
 * invalid files are refused. */
#include "core/memory.h"
#include "core/precision.h"
#include "format/tensor_file.h"
#include "support/folder.h"
#include "unit/unit.h"
#include <math.h>

enum { SOURCE = 23, TARGET = 41, WORDS = 7, STEPS = 5 };
static const int source[2 * WORDS] = { 4, 9, 3, 22, 17, 5, 2, 8, 8, 11, 20, 6, 3, 2 };
static const int lengths[2] = { WORDS, WORDS };

static const char *const kinds[] = { "",
                                     "cell=lstm layers=2",
                                     "cell=simple readout=plain",
                                     "context=after readout=plain input-feeding=yes attention=bilinear",
                                     "attention=none",
                                     "tie-embeddings=yes",
                                     "cell=gru-reset-before",
                                     "heads=2 attention=projected attention-width=12",
                                     "window=local-p",
                                     "attention=location-sensitive",
                                     "architecture=transformer embedding=0 heads=2 layers=2",
                                     "architecture=transformer embedding=0 tie-embeddings=yes positions=learned",
                                     "task=language-model cell=lstm layers=2",
                                     "architecture=lstmn layers=2",
                                     "architecture=lstmn fusion=deep span=3",
                                     "architecture=lstmn task=language-model",
                                     NULL };

static attend_model *model_of(const char *tokens)
{
    attend_config config = ATTEND_CONFIG_INIT;
    attend_model *m = NULL;
    char text[128], *rest = text;
    config.hidden = 24, config.embedding = 20, config.dropout = 0;
    config.source_vocab = SOURCE, config.target_vocab = TARGET, config.max_positions = 16;
    snprintf(text, sizeof text, "%s", tokens);
    for (char *token; (token = strtok_r(rest, " ", &rest));) {
        char *value = strchr(token, '=');
        *value++ = '\0';
        assert_ok(attend_config_set(&config, token, value));
    }
    assert_ok(attend_model_new(&m, &config, 5));
    return m;
}

/* log p of some steps of two sources, the second with two hypotheses after the first step. */
static void decode(const attend_model *m, int threads, bool limited, double *out)
{
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_ctx_set_threads(c, threads));
    const int none[2] = { 0, 0 };
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    assert_ok(attend_decoding_new(&d, c, m, 2, is_language_model ? NULL : source, is_language_model ? none : lengths));
    if (limited) assert_ok(attend_decoding_use_shortlist(d));
    for (int step = 0; step < STEPS; step++) {
        const int first[2] = { 1, 1 }, later[2] = { 1, 2 }, roots[2] = { 0, 1 }, second[3] = { 0, 1, 1 },
                  third[3] = { 0, 2, 1 };
        const int tokens[3] = { step ? 3 + step : ATTEND_BEGIN, step ? 7 : ATTEND_BEGIN, 30 + step };
        assert_ok(attend_decoding_step(d, step ? later : first,
                                       step == 0   ? roots
                                       : step == 1 ? second
                                                   : third,
                                       tokens));
        for (int i = 0; i < (step ? 3 : 2); i++) {
            int count;
            const int *whose;
            const attend_real *log_p = attend_decoding_row(d, i, &count, &whose);
            double *row = out + (step * 3 + i) * TARGET;
            for (int j = 0; j < TARGET; j++) row[j] = -1000;
            for (int j = 0; j < count; j++) row[whose ? whose[j] : j] = (double)log_p[j];
        }
    }
    attend_decoding_free(d);
    attend_ctx_free(c);
}

enum { NUMBERS = 3 * STEPS * TARGET };

static double worst(const double *a, const double *b)
{
    double largest = 0;
    for (int i = 0; i < NUMBERS; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

/* Matrices are quantised; other parameters keep their values. */
static void check_precisions(const attend_model *m, attend_precision precision)
{
    const attend_params *set = attend_model_params(m);
    int quantised = 0;
    for (int i = 0; i < attend_params_count(set); i++) {
        const attend_param *p = attend_params_at(set, i);
        const bool is_quantised = attend_param_precision(p) != ATTEND_FP32;
        assert_true(attend_param_precision(p) == (is_quantised ? precision : ATTEND_FP32));
        assert_true(is_quantised == !attend_param_value(p) && (!is_quantised || attend_param_rank(p) == 2));
        quantised += is_quantised;
    }
    assert_true(quantised > 0 && quantised < attend_params_count(set));
}

/* A quantised model gives the same bits whether it was quantised here or loaded from a file, on any number of threads. */
static void test_models(void **state)
{
    (void)state;
    for (int k = 0; kinds[k]; k++) {
        static double full[NUMBERS], quantised[NUMBERS], again[NUMBERS];
        attend_model *m = model_of(kinds[k]);
        memset(full, 0, sizeof full), memset(quantised, 0, sizeof full), memset(again, 0, sizeof full);
        decode(m, 1, false, full);
        decode(m, 3, false, again);
        assert_memory_equal(full, again, sizeof full);
        attend_model_free(m);
        for (int p = ATTEND_BFLOAT16; p <= ATTEND_INT8; p++) {
            m = model_of(kinds[k]);
            assert_ok(attend_model_save(m, in_folder("full")));
            assert_ok(attend_model_quantize(m, (attend_precision)p));
            assert_int_equal(attend_model_precision(m), p);
            check_precisions(m, (attend_precision)p);
            decode(m, 1, false, quantised);
            const double off = worst(full, quantised);
            if (!(off > 0 && off < (p == ATTEND_INT8 ? 0.04 : 0.02))) fail_msg("%s, %d: off by %g", kinds[k], p, off);
            decode(m, 3, false, again);
            assert_memory_equal(quantised, again, sizeof again);
            assert_ok(attend_model_save(m, in_folder("short")));
            attend_model_free(m);
            assert_ok(attend_model_load(&m, in_folder("short"), NULL));
            assert_int_equal(attend_model_precision(m), p);
            decode(m, 1, false, again);
            assert_memory_equal(quantised, again, sizeof again);
            attend_model_free(m);
            assert_ok(attend_model_load(&m, in_folder("full"), NULL));
            assert_ok(attend_model_quantize(m, (attend_precision)p));
            decode(m, 2, false, again);
            assert_memory_equal(quantised, again, sizeof again);
            assert_int_equal(attend_model_quantize(m, ATTEND_FP32), ATTEND_BAD_USAGE);
            assert_int_equal(attend_model_quantize(m, (attend_precision)7), ATTEND_BAD_USAGE);
            attend_model_free(m);
            struct stat a, b;
            assert_true(stat(in_folder("full"), &a) == 0 && stat(in_folder("short"), &b) == 0 && b.st_size < a.st_size);
        }
    }
}

/* Products large enough to run on several threads. */
static void test_threads(void **state)
{
    (void)state;
    enum { VOCAB = 3001 };
    attend_config config = ATTEND_CONFIG_INIT;
    config.hidden = 130, config.embedding = 70, config.dropout = 0, config.source_vocab = config.target_vocab = VOCAB;
    for (int p = ATTEND_FP32; p <= ATTEND_INT8; p++) {
        static attend_real first[2][VOCAB];
        attend_model *m = NULL;
        assert_ok(attend_model_new(&m, &config, 5));
        assert_ok(attend_model_quantize(m, (attend_precision)p));
        for (int threads = 1; threads <= 4; threads++) {
            const int counts[2] = { 1, 1 }, roots[2] = { 0, 1 }, tokens[2] = { ATTEND_BEGIN, ATTEND_BEGIN };
            attend_ctx *c = NULL;
            attend_decoding *d = NULL;
            assert_ok(attend_ctx_new(&c));
            assert_ok(attend_ctx_set_threads(c, threads));
            assert_ok(attend_decoding_new(&d, c, m, 2, source, lengths));
            for (int step = 0; step < 3; step++) assert_ok(attend_decoding_step(d, counts, roots, tokens));
            const attend_real *log_p = attend_decoding_log_probabilities(d);
            if (threads == 1) memcpy(first, log_p, sizeof first);
            assert_memory_equal(first, log_p, sizeof first);
            attend_decoding_free(d);
            attend_ctx_free(c);
        }
        attend_model_free(m);
    }
}

/* Two steps of two sources, with the k best tokens or (0) all. */
static attend_decoding *two_steps(attend_ctx *c, const attend_model *m, bool limited, int k)
{
    const int counts[2] = { 1, 1 }, roots[2] = { 0, 1 }, tokens[2] = { ATTEND_BEGIN, ATTEND_BEGIN };
    attend_decoding *d = NULL;
    const int none[2] = { 0, 0 };
    const bool is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    assert_ok(attend_decoding_new(&d, c, m, 2, is_language_model ? NULL : source, is_language_model ? none : lengths));
    if (limited) assert_ok(attend_decoding_use_shortlist(d));
    assert_ok(attend_decoding_set_top_k(d, k));
    for (int step = 0; step < 2; step++) assert_ok(attend_decoding_step(d, counts, roots, tokens));
    return d;
}

/* Top-k gives the best of all tokens, with the same probabilities. */
static void test_top_k(void **state)
{
    (void)state;
    enum { VOCAB = 3001, MAX_K = 32 };
    attend_config config = ATTEND_CONFIG_INIT;
    attend_model *m = NULL;
    attend_ctx *c[2] = { NULL, NULL };
    attend_shortlist *s = NULL;
    config.hidden = 130, config.embedding = 70, config.dropout = 0, config.source_vocab = config.target_vocab = VOCAB;
    assert_ok(attend_model_new(&m, &config, 5));
    attend_param *bias = attend_params_find(attend_model_params(m), "output.b");
    for (int i = 0; i < VOCAB; i++)
        attend_param_edit(bias)[i] = (attend_real)(i % 7 == 0 ? i % 91 : -(i % 13)) / 30; /* many equal */
    attend_param_edit(bias)[ATTEND_BEGIN] = 50;
    attend_param_changed(bias);
    assert_ok(attend_shortlist_new(&s, VOCAB, VOCAB));
    for (int i = 0; i < VOCAB; i++) assert_ok(attend_shortlist_add(s, 8, i * 37 % VOCAB));
    assert_ok(attend_shortlist_attach(s, m, 10, 900));
    attend_shortlist_free(s);
    for (int i = 0; i < 2; i++) assert_ok(attend_ctx_new(&c[i]));
    for (int threads = 1; threads <= 3; threads++)
        for (int limited = 0; limited < 2; limited++)
            for (int k = 1; k <= MAX_K; k = 3 * k + 1 > MAX_K && k < MAX_K ? MAX_K : 3 * k + 1) {
                assert_ok(attend_ctx_set_threads(c[1], threads));
                attend_decoding *all = two_steps(c[0], m, limited, 0), *some = two_steps(c[1], m, limited, k);
                int count, found;
                const int *whose, *tokens;
                static bool taken[VOCAB];
                const attend_real *log_p = attend_decoding_row(all, 1, &count, &whose);
                const attend_real *best = attend_decoding_top_k(some, 1, &found, &tokens);
                assert_null(attend_decoding_log_probabilities(some));
                assert_true(limited ? count < VOCAB : count == VOCAB);
                assert_int_equal(found, k);
                memset(taken, 0, sizeof taken);
                for (int i = 0; i < found; i++) {
                    int right = -1;
                    for (int j = 0; j < count; j++) {
                        const int token = whose ? whose[j] : j;
                        if (token != ATTEND_BEGIN && !taken[j] &&
                            (right < 0 || log_p[j] > log_p[right] + (attend_real)1e-6))
                            right = j;
                    }
                    taken[right] = true;
                    assert_true(fabs((double)log_p[right] - (double)best[i]) < 1e-5);
                }
                for (int i = 0; i < found; i++) { /* no token twice */
                    int j = 0;
                    while (j < count && (whose ? whose[j] : j) != tokens[i]) j++;
                    assert_true(j < count && fabs((double)log_p[j] - (double)best[i]) < 1e-5);
                    for (int other = 0; other < i; other++) assert_true(tokens[other] != tokens[i]);
                }
                attend_decoding_free(all);
                attend_decoding_free(some);
            }
    for (int i = 0; i < 2; i++) attend_ctx_free(c[i]);
    attend_model_free(m);
}

/* A quantised model also loads from memory, and can score; training is refused. */
static void test_uses(void **state)
{
    (void)state;
    attend_model *m = model_of(""), *again = NULL;
    static double a[NUMBERS], b[NUMBERS];
    assert_ok(attend_model_quantize(m, ATTEND_INT8));
    decode(m, 1, false, a);
    assert_ok(attend_model_save(m, in_folder("short")));
    FILE *f = fopen(in_folder("short"), "rb");
    assert_non_null(f);
    static char bytes[1 << 20];
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_ok(attend_model_load_bytes(&again, bytes, size, "bytes", NULL));
    decode(again, 1, false, b);
    assert_memory_equal(a, b, sizeof a);
    attend_model_free(again);

    const int target[2] = { 5, 7 }, count = 2, one = WORDS;
    const attend_pairs pairs = {
        .count = 1, .source = source, .source_lengths = &one, .target = target, .target_lengths = &count
    };
    attend_ctx *c = NULL;
    attend_grads *grads = NULL;
    double log_p;
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_model_score(c, m, &pairs, &log_p, NULL, ATTEND_ATTENTION_CROSS, NULL));
    assert_true(log_p < 0 && log_p > -100);
    attend_ctx_reset(c);
    assert_ok(attend_grads_new(&grads, attend_model_params(m)));
    attend_ctx_set_grads(c, grads);
    attend_ctx_set_recording(c, true);
    assert_null(attend_model_loss(c, m, &pairs, &options));
    assert_non_null(strstr(attend_ctx_message(c), "trained"));
    attend_grads_free(grads);
    attend_ctx_free(c);
    attend_model_free(m);
}

/* A file whose tensor `name` was changed by `change` (NULL: removed) must be refused with the message `why`. */
static void refuse(attend_precision precision, const char *name, void (*change)(void *data, size_t bytes),
                   const char *why)
{
    attend_model *m = model_of("");
    attend_tensor_file *file = NULL;
    assert_ok(attend_model_quantize(m, precision));
    assert_ok(attend_model_save(m, in_folder("good")));
    attend_model_free(m);
    assert_ok(attend_tensor_file_open(&file, in_folder("good"), 0));
    static attend_tensor tensors[256];
    static attend_metadata metadata[128];
    size_t count = 0, pairs = 0;
    for (size_t i = 0; i < attend_tensor_file_count(file); i++) {
        const attend_tensor *t = attend_tensor_file_at(file, i);
        if (strcmp(t->name, name) == 0 && !change) continue; /* left out */
        if (strcmp(t->name, name) == 0) change((void *)(uintptr_t)t->data, t->bytes);
        tensors[count++] = *t;
    }
    for (size_t i = 0; i < attend_tensor_file_metadata_count(file); i++)
        if (strcmp(attend_tensor_file_metadata_at(file, i)->key, "checksum") != 0)
            metadata[pairs++] = *attend_tensor_file_metadata_at(file, i);
    assert_ok(attend_tensor_file_write(in_folder("bad"), tensors, count, metadata, pairs));
    attend_tensor_file_close(file);
    assert_int_equal(attend_model_load(&m, in_folder("bad"), NULL), ATTEND_BAD_MODEL);
    if (!strstr(attend_message(), why)) fail_msg("'%s' does not contain '%s'", attend_message(), why);
}

static void to_minimum(void *data, size_t bytes)
{
    ((int8_t *)data)[bytes / 2] = INT8_MIN;
}

static void to_negative(void *data, size_t bytes)
{
    ((float *)data)[bytes / 8] = -1;
}

static void to_infinite(void *data, size_t bytes)
{
    ((uint16_t *)data)[bytes / 4] = 0xff80;
}

static void test_bad_files(void **state)
{
    (void)state;
    refuse(ATTEND_INT8, "output.w", to_minimum, "-128");
    refuse(ATTEND_INT8, "output.w.steps", to_negative, "negative");
    refuse(ATTEND_INT8, "output.w.steps", NULL, "missing");
    refuse(ATTEND_BFLOAT16, "output.w", to_infinite, "non-finite");
}

static void test_numbers(void **state)
{
    (void)state;
    const attend_real x[] = {
        0, 1, -1, (attend_real)1.00390625, (attend_real)1.01171875, (attend_real)3.4e38, (attend_real)-3.4e38
    };
    uint16_t bits[7];
    attend_real back[7];
    attend_bf16_quantize(7, x, bits);
    attend_bf16_expand(7, bits, back);
    assert_true(back[0] == 0 && back[1] == 1 && back[2] == -1);
    assert_true((double)back[3] == 1.0 && (double)back[4] == 1.015625); /* rounded half to even */
    assert_true(isfinite((double)back[5]) && isfinite((double)back[6]));
    int8_t q[7];
    assert_true(attend_int8_quantize(3, x, q) == 1.0f / 127 && q[0] == 0 && q[1] == 127 && q[2] == -127);
    const attend_real zeros[3] = { 0, 0, 0 };
    assert_true(attend_int8_quantize(3, zeros, q) == 0 && q[0] == 0 && q[2] == 0);
}

/* ---- shortlists ---- */

static attend_shortlist *some_list(void)
{
    attend_shortlist *s = NULL;
    assert_ok(attend_shortlist_new(&s, SOURCE, TARGET));
    for (int i = 0; i < TARGET; i++)
        for (int n = 0; n < i; n++) assert_ok(attend_shortlist_count(s, i)); /* the last tokens are the most frequent */
    for (int i = 0; i < SOURCE; i++)
        for (int j = 0; j < 4; j++)
            for (int n = 0; n <= j; n++) assert_ok(attend_shortlist_add(s, i, (3 * i + j) % 30)); /* j + 1 times */
    return s;
}

/* Exactly the listed tokens, with the probabilities of the whole vocabulary divided by their sum plus an estimate for the rest. */
static void test_shortlist(void **state)
{
    (void)state;
    attend_model *m = model_of("");
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    static double full[NUMBERS], limited[NUMBERS], again[NUMBERS];
    assert_false(attend_model_has_shortlist(m));
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_decoding_new(&d, c, m, 1, source, lengths));
    assert_int_equal(attend_decoding_use_shortlist(d), ATTEND_BAD_USAGE);
    attend_decoding_free(d);
    attend_ctx_free(c);

    attend_shortlist *s = some_list();
    assert_ok(attend_shortlist_attach(s, m, 3, 2));
    attend_shortlist_free(s);
    assert_true(attend_model_has_shortlist(m));
    decode(m, 1, false, full);
    decode(m, 1, true, limited);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < (step ? 3 : 2); i++) {
            bool on[TARGET] = { false };
            const int b = i > 0;
            double sum = 0;
            on[ATTEND_END] = true;
            for (int j = TARGET - 3; j < TARGET; j++) on[j] = true;
            for (int j = 0; j < WORDS; j++)
                for (int k = 2; k < 4; k++) on[(3 * source[b * WORDS + j] + k) % 30] = true;
            const double *row = full + (step * 3 + i) * TARGET, *short_row = limited + (step * 3 + i) * TARGET;
            int listed = 0, sampled = 0;
            double tail = 0;
            for (int j = 0; j < TARGET; j++) sum += on[j] ? exp(row[j]) : 0, listed += on[j];
            for (int j = 5; j < TARGET; j += 16)
                if (!on[j]) tail += fmin(exp(row[j]) / sum, 0.02), sampled++;
            if (sampled) sum *= 1 + tail * (TARGET - listed) / sampled;
            for (int j = 0; j < TARGET; j++) {
                const double right = on[j] ? row[j] - log(sum) : -1000;
                if (!(fabs(right - short_row[j]) < 1e-5))
                    fail_msg("step %d, %d, token %d: %g, not %g", step, i, j, short_row[j], right);
            }
        }
    for (int p = ATTEND_FP32; p <= ATTEND_INT8; p++) { /* from the file, and quantised */
        assert_ok(attend_model_quantize(m, (attend_precision)p));
        decode(m, 1, true, limited);
        assert_ok(attend_model_save(m, in_folder("listed")));
        attend_model_free(m);
        assert_ok(attend_model_load(&m, in_folder("listed"), NULL));
        assert_true(attend_model_has_shortlist(m));
        decode(m, 2, true, again);
        assert_memory_equal(limited, again, sizeof again);
        attend_model_free(m);
        m = model_of("");
        s = some_list();
        assert_ok(attend_shortlist_attach(s, m, 3, 2));
        attend_shortlist_free(s);
    }
    attend_model_free(m);
}

/* Counts the alignments of some_list and attaches them. */
static int make_list(attend_model *m)
{
    attend_shortlist *s = NULL;
    int status = attend_shortlist_new(&s, SOURCE, TARGET);
    for (int i = 0; status == ATTEND_OK && i < TARGET; i++) status = attend_shortlist_count(s, i);
    for (int i = 0; status == ATTEND_OK && i < SOURCE * TARGET; i++)
        status = attend_shortlist_add(s, i / TARGET, i % TARGET);
    if (status == ATTEND_OK) status = attend_shortlist_attach(s, m, 3, 2);
    attend_shortlist_free(s);
    return status;
}

/* Every request of counting and attaching is refused in turn; the model then has no shortlist. */
static void test_shortlist_without_memory(void **state)
{
    (void)state;
    long n = 1;
    for (bool done = false; !done; n++) {
        attend_model *m = model_of("");
        attend_memory_refuse(n);
        const int status = make_list(m);
        done = attend_memory_requests() < n;
        attend_memory_refuse(0);
        assert_int_equal(status, done ? ATTEND_OK : ATTEND_NO_MEMORY);
        assert_true(attend_model_has_shortlist(m) == done);
        if (!done) assert_non_null(strstr(attend_message(), "no memory"));
        if (!done) assert_ok(make_list(m)); /* it can be tried again */
        attend_model_free(m);
    }
    assert_true(n > 8);
}

static void test_bad_shortlists(void **state)
{
    (void)state;
    attend_shortlist *s = NULL;
    assert_ok(attend_shortlist_new(&s, SOURCE, TARGET));
    assert_int_equal(attend_shortlist_add(s, SOURCE, 0), ATTEND_BAD_USAGE);
    assert_int_equal(attend_shortlist_add(s, 0, -1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_shortlist_count(s, TARGET), ATTEND_BAD_USAGE);
    attend_shortlist_free(s);
    assert_int_equal(attend_shortlist_new(&s, 0, 1), ATTEND_BAD_USAGE);

    unsigned char bytes[4 * (SOURCE + 2)] = { 1, 0, 0, 0, TARGET - 1 };
    attend_model *m = NULL;
    for (int wrong = 0; wrong < 5; wrong++) {
        size_t size = sizeof bytes;
        if (wrong == 1) bytes[4] = TARGET;
        if (wrong == 2) bytes[4] = 0, size -= 4;
        if (wrong == 3) bytes[9] = 1; /* a list longer than the data */
        if (wrong == 4) bytes[9] = 0, size -= 1;
        m = model_of("");
        assert_ok(attend_model_attach(m, "shortlist", bytes, size));
        assert_ok(attend_model_save(m, in_folder("listed")));
        attend_model_free(m);
        const int status = attend_model_load(&m, in_folder("listed"), NULL);
        if (status != (wrong ? ATTEND_BAD_MODEL : ATTEND_OK)) fail_msg("case %d: %d", wrong, status);
        attend_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_models),
                                        cmocka_unit_test(test_threads),
                                        cmocka_unit_test(test_top_k),
                                        cmocka_unit_test(test_uses),
                                        cmocka_unit_test(test_bad_files),
                                        cmocka_unit_test(test_numbers),
                                        cmocka_unit_test(test_shortlist),
                                        cmocka_unit_test(test_bad_shortlists),
                                        cmocka_unit_test(test_shortlist_without_memory) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
