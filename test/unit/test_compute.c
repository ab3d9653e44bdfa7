/* The precision of matrix products (attend_ctx_set_compute) in models: gradients and scores are those of fp32 within the
 * bounds of each precision, the same bits for any number of threads and any other pairs in the batch, on every kernel table
 * that this machine has. */
#include "kernel/kernel.h"
#include "support/tiny_pairs.h"
#include "unit/unit.h"
#include <attend/attend.h>
#include <math.h>

static const char *const models[] = {
    "hidden=40 embedding=33 attention-width=37",
    "hidden=24 cell=lstm layers=2 context=after readout=plain attention=dot input-feeding=yes",
    "hidden=20 cell=gru-reset-before",
    "architecture=transformer hidden=48 embedding=0 heads=2 layers=2 feed-forward=gated",
    "architecture=lstmn layers=2 hidden=24",
};
enum { MODELS = sizeof models / sizeof *models };

static attend_model *model_of(const char *spec)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    return m;
}

static attend_var *loss(attend_ctx *c, int shard, void *user)
{
    const attend_pairs pairs = tiny_pairs(), part = attend_pairs_slice(&pairs, shard, 1);
    return attend_model_loss(c, user, &part, NULL);
}

/* The gradients of all parameters, one after another, for three updates; to be freed. */
enum { UPDATES = 3 };
static float *gradients(const char *spec, attend_compute_precision compute, int threads, size_t *count)
{
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    attend_model *m = model_of(spec);
    attend_params *params = attend_model_params(m);
    attend_team *team = NULL;
    attend_optimizer *adam = NULL;
    assert_ok(attend_team_new(&team, params, threads));
    assert_ok(attend_team_set_compute(team, compute));
    assert_ok(attend_optimizer_new(&adam, team, &options));
    float *g = malloc(UPDATES * attend_params_size(params) * sizeof *g);
    *count = 0;
    for (int update = 0; update < UPDATES; update++) {
        assert_ok(attend_team_gradient(team, TINY_PAIRS, loss, m, 1, (uint64_t)update, NULL));
        for (int i = 0; i < attend_params_count(params); i++) {
            const attend_param *p = attend_params_at(params, i);
            memcpy(g + *count, attend_grads_of(attend_team_grads(team), p), attend_param_size(p) * sizeof *g);
            *count += attend_param_size(p);
        }
        assert_ok(attend_optimizer_step(adam, 1e-3, 1, NULL));
    }
    attend_optimizer_free(adam);
    attend_team_free(team);
    attend_model_free(m);
    return g;
}

/* The norm of a - b relative to that of b. */
static double distance(size_t n, const float *a, const float *b)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / norm);
}

/* A factor in bf16 is within 2^-8, and in bf16x3 within 2^-16 of the number; a gradient is the product of about ten, whose
 * errors partly cancel. The models have no relu, which a small difference can switch off. */
static const double bounds[] = { [ATTEND_COMPUTE_BF16X3] = 3e-5, [ATTEND_COMPUTE_BF16] = 1e-2 };

static void gradients_are_close(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        attend_kernel_select(*t);
        for (int i = 0; i < MODELS; i++) {
            size_t n;
            float *right = gradients(models[i], ATTEND_COMPUTE_FP32, 1, &n);
            double before = 0;
            for (int p = ATTEND_COMPUTE_BF16X3; p <= ATTEND_COMPUTE_BF16; p++) {
                float *g = gradients(models[i], (attend_compute_precision)p, 1, &n);
                const double error = distance(n / UPDATES, g, right); /* later ones are of other weights */
                if (!(error <= bounds[p]))
                    fail_msg("%s, %s, %s: %g", (*t)->name, models[i], attend_compute_names[p], error);
                assert_true(error > before); /* the option has an effect, and bf16 the larger one */
                before = 10 * error;
                for (int threads = 2; threads <= 3; threads++) {
                    float *same = gradients(models[i], (attend_compute_precision)p, threads, &n);
                    assert_memory_equal(same, g, n * sizeof *g);
                    free(same);
                }
                free(g);
            }
            free(right);
        }
    }
}

/* Log-probabilities of the pairs, together and one by one. */
static void scores(const attend_model *m, attend_compute_precision compute, int threads, double together[TINY_PAIRS])
{
    const attend_pairs pairs = tiny_pairs();
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_ctx_set_compute(c, compute));
    assert_ok(attend_ctx_set_threads(c, threads));
    assert_ok(attend_model_score(c, m, &pairs, together, NULL, ATTEND_ATTENTION_CROSS, NULL));
    for (int i = 0; i < TINY_PAIRS; i++) {
        const attend_pairs one = attend_pairs_slice(&pairs, i, 1);
        double alone;
        assert_ok(attend_model_score(c, m, &one, &alone, NULL, ATTEND_ATTENTION_CROSS, NULL));
        assert_true(alone == together[i]);
    }
    attend_ctx_free(c);
}

/* One model, used in all precisions by turns. Products with int8 weights do not depend on the precision, nor do those
 * with bf16 weights in bf16x3. */
static void scores_are_close(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        attend_kernel_select(*t);
        for (int i = 0; i < MODELS; i++)
            for (int weights = ATTEND_FP32; weights <= ATTEND_INT8; weights++) {
                attend_model *m = model_of(models[i]);
                double right[TINY_PAIRS], got[TINY_PAIRS];
                if (weights != ATTEND_FP32) assert_ok(attend_model_quantize(m, (attend_precision)weights));
                scores(m, ATTEND_COMPUTE_FP32, 1, right);
                for (int p = ATTEND_COMPUTE_BF16X3; p <= ATTEND_COMPUTE_BF16; p++) {
                    const bool same =
                        weights == ATTEND_INT8 || (weights == ATTEND_BFLOAT16 && p == ATTEND_COMPUTE_BF16X3);
                    scores(m, (attend_compute_precision)p, 1, got);
                    if (same && strstr(models[i], "lstmn") == NULL) assert_memory_equal(got, right, sizeof got);
                    for (int j = 0; j < TINY_PAIRS; j++)
                        assert_true(fabs(got[j] - right[j]) <= bounds[p] * fabs(right[j]));
                    double threaded[TINY_PAIRS];
                    scores(m, (attend_compute_precision)p, 2, threaded);
                    assert_memory_equal(got, threaded, sizeof got);
                }
                scores(m, ATTEND_COMPUTE_FP32, 1, got);
                assert_memory_equal(got, right, sizeof got);
                attend_model_free(m);
            }
    }
}

/* A product that is large enough for threads, with its gradients. */
static void large_products(void **state)
{
    (void)state;
    enum { M = 150, N = 130, K = 140 };
    static float a[M * K], b[N * K], results[3][M * N + M * K + N * K];
    for (int i = 0; i < M * K; i++) a[i] = (float)((i * 37) % 101) / 50 - 1;
    for (int i = 0; i < N * K; i++) b[i] = (float)((i * 53) % 103) / 50 - 1;
    for (int p = ATTEND_COMPUTE_FP32; p <= ATTEND_COMPUTE_BF16; p++)
        for (int threads = 1; threads <= 3; threads++) {
            attend_ctx *c = NULL;
            attend_params *set = NULL;
            attend_param *x, *y;
            attend_grads *g = NULL;
            assert_ok(attend_params_new(&set));
            assert_ok(attend_params_add(&x, set, "x", 2, (int[]){ M, K }));
            assert_ok(attend_params_add(&y, set, "y", 2, (int[]){ N, K }));
            memcpy(attend_param_edit(x), a, sizeof a), attend_param_changed(x);
            memcpy(attend_param_edit(y), b, sizeof b), attend_param_changed(y);
            assert_ok(attend_grads_new(&g, set));
            assert_ok(attend_ctx_new(&c));
            assert_ok(attend_ctx_set_threads(c, threads));
            assert_ok(attend_ctx_set_compute(c, (attend_compute_precision)p));
            attend_ctx_set_grads(c, g);
            attend_var *product = attend_matmul(c, attend_parameter(c, x), attend_parameter(c, y), ATTEND_TRANSPOSE_B);
            assert_ok(attend_backward(c, attend_sum(c, attend_tanh(c, product))));
            float *to = results[threads - 1];
            memcpy(to, attend_value(product), M * N * sizeof *to);
            memcpy(to + M * N, attend_grads_of(g, x), sizeof a);
            memcpy(to + M * N + M * K, attend_grads_of(g, y), sizeof b);
            assert_memory_equal(results[0], to, sizeof results[0]);
            attend_ctx_free(c);
            attend_grads_free(g);
            attend_params_free(set);
        }
}

static void wrong_precisions(void **state)
{
    (void)state;
    attend_ctx *c = NULL;
    attend_model *m = model_of(models[0]);
    attend_team *team = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_team_new(&team, attend_model_params(m), 1));
    assert_int_equal(attend_ctx_set_compute(c, (attend_compute_precision)4), ATTEND_BAD_USAGE);
    assert_int_equal(attend_ctx_set_compute(c, ATTEND_COMPUTE_TF32), ATTEND_BAD_USAGE);
    char message[128];
    const char *device = getenv("ATTEND_DEVICE");
    snprintf(message, sizeof message, "tf32 is a format of GPUs, and the device is '%s'", device ? device : "cpu");
    assert_non_null(strstr(attend_message(), message));
    assert_int_equal(attend_team_set_compute(team, ATTEND_COMPUTE_TF32), ATTEND_BAD_USAGE);
    assert_int_equal(attend_compute_default(), ATTEND_COMPUTE_FP32);
    assert_int_equal(attend_team_set_compute(team, (attend_compute_precision)-1), ATTEND_BAD_USAGE);
    assert_false(attend_compute_is_fast((attend_compute_precision)4));
    assert_false(attend_compute_is_fast(ATTEND_COMPUTE_TF32));
    assert_true(attend_compute_is_fast(ATTEND_COMPUTE_FP32));
    assert_string_equal(attend_compute_names[ATTEND_COMPUTE_BF16], "bf16");
    assert_string_equal(attend_compute_names[ATTEND_COMPUTE_TF32], "tf32");
    assert_null(attend_compute_names[ATTEND_COMPUTE_TF32 + 1]);
    attend_team_free(team);
    attend_model_free(m);
    attend_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gradients_are_close), cmocka_unit_test(scores_are_close),
                                        cmocka_unit_test(large_products), cmocka_unit_test(wrong_precisions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
