/* Hard attention: sampled keys follow p, and the gradient estimators are correct: straight-through Gumbel is the
 * softmax Jacobian of (e + gumbel) / temperature, and REINFORCE is unbiased for the exact marginal
 *     dE[L]/de_j = p_j (L_j - sum p L),  where L_j is the loss if key j is chosen. */
#include "support/attention_problem.h"

enum { KEYS = 6, DRAWS = 400, CALLS = 25 };

static const double losses[KEYS] = { 3.1, 4.4, 2.7, 3.9, 5.2, 3.3 };

/* DRAWS sequences of one query with the same KEYS scores, given as a bias, whose gradient is de; q.k is 0. */
typedef struct draws {
    attend_attention_options o;
    attend_arrays a;
    double e[KEYS], p[KEYS];
    attend_real zeros[DRAWS * KEYS], bias[DRAWS * KEYS], value[DRAWS * KEYS];
    attend_real context[DRAWS], weights[DRAWS * KEYS], dcontext[DRAWS], dweights[DRAWS * KEYS];
    attend_real dbias[DRAWS * KEYS], dvalue[DRAWS * KEYS];
    double advantage[DRAWS];
} draws;

static void softmax(const double *e, double *p)
{
    double sum = 0;
    for (int j = 0; j < KEYS; j++) sum += p[j] = exp(e[j]);
    for (int j = 0; j < KEYS; j++) p[j] /= sum;
}

static draws *draws_new(attend_estimator estimator)
{
    draws *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->o = (attend_attention_options)ATTEND_ATTENTION_OPTIONS_INIT;
    d->o.score = &attend_score_dot;
    d->o.selection = ATTEND_SELECT_HARD;
    d->o.estimator = estimator;
    for (int j = 0; j < KEYS; j++) d->e[j] = 0.25 * ((j * 5 + 2) % 7) - 0.5;
    softmax(d->e, d->p);
    test_random random = { .rng = { .seed = 31 } };
    for (int i = 0; i < DRAWS * KEYS; i++) {
        d->bias[i] = (attend_real)d->e[i % KEYS];
        d->value[i] = (attend_real)(2 * test_random_uniform(&random) - 1);
        d->dweights[i] = (attend_real)(2 * test_random_uniform(&random) - 1);
    }
    for (int b = 0; b < DRAWS; b++) d->dcontext[b] = (attend_real)(2 * test_random_uniform(&random) - 1);
    d->a = (attend_arrays){ .batch = DRAWS,
                            .queries = 1,
                            .keys = KEYS,
                            .query_width = 1,
                            .key_width = 1,
                            .value_width = 1,
                            .query = d->zeros,
                            .key = d->zeros,
                            .value = d->value,
                            .bias = d->bias,
                            .bias_shape = { DRAWS, 1, 1, KEYS },
                            .advantage = d->advantage,
                            .training = true,
                            .seed = 3 };
    return d;
}

/* The key of draw b; asserts that the weights are one-hot and the context is its value. */
static int choice(const draws *d, int b)
{
    int chosen = -1;
    for (int j = 0; j < KEYS; j++) {
        const attend_real w = d->weights[b * KEYS + j];
        assert_true(w == 0 || (w == 1 && chosen < 0));
        if (w == 1) chosen = j;
    }
    assert_true(chosen >= 0);
    assert_true(d->context[b] == d->value[b * KEYS + chosen]);
    return chosen;
}

static void forward(attend_runner *r, draws *d, uint64_t stream)
{
    d->a.stream = stream;
    assert_ok(attend_runner_forward(r, &d->o, &d->a, d->context, d->weights, NULL));
}

static void backward(attend_runner *r, draws *d)
{
    memset(d->dbias, 0, sizeof d->dbias);
    memset(d->dvalue, 0, sizeof d->dvalue);
    const attend_array_gradients g = { .bias = d->dbias, .value = d->dvalue };
    assert_ok(attend_runner_backward(r, d->dcontext, d->dweights, &g));
    for (int i = 0; i < DRAWS * KEYS; i++) assert_true(d->dvalue[i] == d->weights[i] * d->dcontext[i / KEYS]);
}

/* The frequencies of the keys follow p: chi-square, the sum of (count - expected)^2 / expected, is close to its mean,
 * KEYS - 1. */
static void test_frequencies(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (int estimator = ATTEND_STRAIGHT_THROUGH; estimator <= ATTEND_REINFORCE; estimator++)
        for (int cold = 0; cold < 2; cold++) { /* the temperature affects gradients, not samples */
            draws *d = draws_new((attend_estimator)estimator);
            d->o.temperature = cold ? 0.3 : 1;
            int counts[KEYS] = { 0 }, last = -1, repeats = 0;
            for (int call = 0; call < CALLS; call++) {
                forward(r, d, (uint64_t)call);
                for (int b = 0; b < DRAWS; b++) {
                    const int now = choice(d, b);
                    counts[now]++;
                    repeats += now == last;
                    last = now;
                }
            }
            double chi = 0, same = 0;
            for (int j = 0; j < KEYS; j++) {
                const double expected = d->p[j] * DRAWS * CALLS;
                chi += (counts[j] - expected) * (counts[j] - expected) / expected;
                same += d->p[j] * d->p[j];
            }
            if (!(chi < 20)) fail_msg("estimator %d: chi-square %g of %d keys", estimator, chi, (int)KEYS);
            /* consecutive draws are independent */
            const double expected = same * DRAWS * CALLS;
            assert_true(fabs(repeats - expected) < 5 * sqrt(expected));
            free(d);
        }
    attend_runner_free(r);
}

/* p of the straight-through estimator for draw b: softmax((e + gumbel) / temperature), with the random numbers of the
 * call. */
static void gumbel_softmax(const draws *d, int b, double *p, int *best)
{
    const attend_rng random = { .seed = d->a.seed, .stream = d->a.stream * 4, .use = 0 };
    double e[KEYS];
    *best = 0;
    for (int j = 0; j < KEYS; j++) {
        const double u = attend_rng_uniform(&random, (uint64_t)(b * KEYS + j));
        e[j] = ((double)d->bias[b * KEYS + j] - log(-log(u + 0x1p-34))) / d->o.temperature;
        if (e[j] > e[*best]) *best = j;
    }
    softmax(e, p);
}

static void test_straight_through_is_the_softmax_jacobian(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    draws *d = draws_new(ATTEND_STRAIGHT_THROUGH);
    for (int way = 0; way < 3; way++) {
        d->o.temperature = way == 0 ? 1 : way == 1 ? 0.4 : 3;
        if (way == 2)
            for (int b = 0; b < DRAWS; b++) d->bias[b * KEYS + b % KEYS] = (attend_real)-INFINITY; /* a masked key */
        forward(r, d, (uint64_t)way);
        backward(r, d);
        for (int b = 0; b < DRAWS; b++) {
            double p[KEYS], dp[KEYS], mean = 0;
            int best;
            gumbel_softmax(d, b, p, &best);
            assert_int_equal(choice(d, b), best);
            for (int j = 0; j < KEYS; j++) {
                dp[j] = (double)d->dcontext[b] * (double)d->value[b * KEYS + j] + (double)d->dweights[b * KEYS + j];
                mean += p[j] * dp[j];
            }
            for (int j = 0; j < KEYS; j++) {
                const double de = p[j] * (dp[j] - mean) / d->o.temperature;
                if (!(fabs((double)d->dbias[b * KEYS + j] - de) < 2e-6))
                    fail_msg("draw %d key %d: de is %g, expected %g", b, j, (double)d->dbias[b * KEYS + j], de);
            }
        }
    }
    free(d);
    attend_runner_free(r);
}

/* ---- REINFORCE ---- */

typedef struct moments {
    double mean[KEYS], variance[KEYS]; /* of de */
} moments;

/* Over DRAWS * CALLS draws, each with advantage L - baseline. */
static moments estimate(attend_runner *r, draws *d, double baseline)
{
    moments m = { 0 };
    const int n = DRAWS * CALLS;
    for (int call = 0; call < CALLS; call++) {
        forward(r, d, (uint64_t)call);
        for (int b = 0; b < DRAWS; b++)
            d->advantage[b] = losses[choice(d, b)] - baseline; /* known only after the forward pass */
        backward(r, d);
        for (int i = 0; i < DRAWS * KEYS; i++) {
            const int j = i % KEYS;
            const double de = d->advantage[i / KEYS] * ((double)d->weights[i] - d->p[j]);
            assert_true(fabs((double)d->dbias[i] - de) < 5e-6);
            m.mean[j] += (double)d->dbias[i] / n;
            m.variance[j] += (double)d->dbias[i] * (double)d->dbias[i] / n;
        }
    }
    for (int j = 0; j < KEYS; j++) m.variance[j] -= m.mean[j] * m.mean[j];
    return m;
}

static void test_reinforce_is_unbiased(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    draws *d = draws_new(ATTEND_REINFORCE);
    double average = 0, spread[2] = { 0 };
    for (int j = 0; j < KEYS; j++) average += d->p[j] * losses[j];
    for (int with = 0; with < 2; with++) {
        const moments m = estimate(r, d, with ? average : 0);
        for (int j = 0; j < KEYS; j++) {
            const double exact = d->p[j] * (losses[j] - average), error = sqrt(m.variance[j] / (DRAWS * CALLS));
            if (!(fabs(m.mean[j] - exact) < 4 * error))
                fail_msg("key %d: mean %g, exact %g, standard error %g", j, m.mean[j], exact, error);
            spread[with] += m.variance[j];
        }
    }
    if (!(spread[1] < spread[0] / 4)) fail_msg("variance %g with a baseline, %g without", spread[1], spread[0]);
    free(d);
    attend_runner_free(r);
}

/* The bonus lowers the loss by bonus times the entropy H of p: d(-bonus H)/de_j = bonus p_j (log p_j + H) */
static void test_entropy_bonus(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    draws *d = draws_new(ATTEND_REINFORCE);
    d->o.entropy_bonus = 0.8;
    for (int hidden = 0; hidden < 2; hidden++) {
        double p[KEYS], entropy = 0, e[KEYS];
        for (int j = 0; j < KEYS; j++) e[j] = hidden && j == 2 ? (double)-INFINITY : d->e[j];
        for (int i = 0; i < DRAWS * KEYS; i++) d->bias[i] = (attend_real)e[i % KEYS];
        softmax(e, p);
        for (int j = 0; j < KEYS; j++)
            if (p[j] > 0) entropy -= p[j] * log(p[j]);
        forward(r, d, 1);
        backward(r, d); /* all advantages are 0 */
        for (int i = 0; i < DRAWS * KEYS; i++) {
            const double q = p[i % KEYS], de = q > 0 ? d->o.entropy_bonus * q * (log(q) + entropy) : 0;
            assert_true(fabs((double)d->dbias[i] - de) < 1e-6);
        }
    }
    free(d);
    attend_runner_free(r);
}

/* ---- inference, and the tape ---- */

static void test_inference_takes_the_argmax(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (int estimator = ATTEND_STRAIGHT_THROUGH; estimator <= ATTEND_REINFORCE; estimator++) {
        draws *d = draws_new((attend_estimator)estimator);
        d->a.training = false;
        forward(r, d, 1);
        backward(r, d);
        int best = 0;
        for (int j = 0; j < KEYS; j++)
            if (d->e[j] > d->e[best]) best = j;
        for (int b = 0; b < DRAWS; b++) assert_int_equal(choice(d, b), best);
        for (int i = 0; i < DRAWS * KEYS; i++) assert_true(d->dbias[i] == 0);
        free(d);
    }
    attend_runner_free(r);
}

/* As in a model: two heads, and a loss for each sequence that is known after the forward pass. */
static void test_reinforce_on_the_tape(void **state)
{
    (void)state;
    enum { B = 2, TQ = 2, TK = 3, HEADS = 2 };
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    attend_ctx_set_training(c, true);
    attend_ctx_set_random(c, 8, 8);
    attend_attention_options o = ATTEND_ATTENTION_OPTIONS_INIT;
    o.score = &attend_score_dot, o.heads = HEADS, o.selection = ATTEND_SELECT_HARD, o.estimator = ATTEND_REINFORCE;
    attend_real e[B * HEADS * TQ * TK];
    for (int i = 0; i < B * HEADS * TQ * TK; i++) e[i] = (attend_real)(0.3 * (i * 7 % 5));
    double advantage[B];
    attend_attention_inputs in = { .advantage = advantage };
    in.bias = attend_input(c, 4, (const int[]){ B, HEADS, TQ, TK }, e);
    attend_var *keys = attend_constant(c, 2, (const int[]){ B * TK, HEADS }, NULL), *weights = NULL;
    const attend_source *source =
        attend_source_new(c, &o, NULL, keys, NULL, attend_ragged_new(c, B, (const int[]){ TK, TK }));
    attend_var *context = attend_attention(c, source, attend_constant(c, 2, (const int[]){ B * TQ, HEADS }, NULL),
                                           attend_ragged_new(c, B, (const int[]){ TQ, TQ }), &in, &weights);
    attend_var *loss = attend_sum(c, context);
    assert_int_equal(attend_ctx_status(c), ATTEND_OK);
    advantage[0] = 2, advantage[1] = -0.5;
    assert_ok(attend_backward(c, loss));
    for (int row = 0; row < B * HEADS * TQ; row++) {
        double sum = 0;
        for (int j = 0; j < TK; j++) sum += exp((double)e[row * TK + j]);
        for (int j = 0; j < TK; j++) {
            const int i = row * TK + j;
            const double de =
                advantage[row / (HEADS * TQ)] * ((double)attend_value(weights)[i] - exp((double)e[i]) / sum);
            assert_true(fabs((double)attend_gradient(in.bias)[i] - de) < 1e-6);
        }
    }
    attend_ctx_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(test_straight_through_is_the_softmax_jacobian),
        cmocka_unit_test(test_reinforce_is_unbiased),
        cmocka_unit_test(test_entropy_bonus),
        cmocka_unit_test(test_inference_takes_the_argmax),
        cmocka_unit_test(test_reinforce_on_the_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
