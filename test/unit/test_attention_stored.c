/* Backward is bit-identical whether a small call stores its weights or recomputes them. */
#include "unit/unit.h"
#include <math.h>

enum { B = 3, T = 11, S = 17, H = 2, D = 12, NQ = B * T * H * D, NK = B * S * H * D };

typedef struct arrays {
    attend_real query[NQ], key[NK], value[NK], context[NQ], dcontext[NQ];
    attend_real dquery[NQ], dkey[NK], dvalue[NK], u[H * D], du[H * D];
} arrays;

static void run(attend_attention_options options, bool recompute, arrays *x)
{
    for (int i = 0; i < NK; i++) x->key[i] = (attend_real)sin(1.3 * i), x->value[i] = (attend_real)cos(2.1 * i);
    for (int i = 0; i < NQ; i++)
        x->query[i] = (attend_real)(2 * sin(0.7 * i)), x->dcontext[i] = (attend_real)cos(0.9 * i);
    for (int i = 0; i < H * D; i++) x->u[i] = (attend_real)sin(i + 1.0);
    memset(x->dquery, 0, sizeof x->dquery), memset(x->dkey, 0, sizeof x->dkey);
    memset(x->dvalue, 0, sizeof x->dvalue), memset(x->du, 0, sizeof x->du);
    attend_score unmapped = attend_score_additive; /* without the mappings of queries and keys */
    unmapped.prepare_keys = unmapped.prepare_queries = NULL;
    if (options.score == &attend_score_additive) options.score = &unmapped;
    options.recompute = recompute;
    const int lengths[B] = { 17, 3, 9 };
    const attend_real unused[D * D * H * H] = { 0 }, *parameters[] = { unused, unused, unused, x->u };
    attend_real *gradients[] = { NULL, NULL, NULL, x->du };
    const attend_arrays a = { .batch = B,
                              .queries = T,
                              .keys = S,
                              .query_width = D,
                              .key_width = D,
                              .value_width = D,
                              .key_lengths = lengths,
                              .query = x->query,
                              .key = x->key,
                              .value = x->value,
                              .parameters = parameters,
                              .training = true,
                              .seed = 3 };
    const attend_array_gradients g = {
        .query = x->dquery, .key = x->dkey, .value = x->dvalue, .parameters = gradients
    };
    attend_runner *r = NULL;
    assert_ok(attend_runner_new(&r, 2));
    assert_ok(attend_runner_forward(r, &options, &a, x->context, NULL, NULL));
    assert_ok(attend_runner_backward(r, x->dcontext, NULL, &g));
    attend_runner_free(r);
}

static void test_stored_and_recomputed_agree(void **state)
{
    (void)state;
    static arrays stored, again;
    for (int way = 0; way < 24; way++) {
        attend_attention_options options = ATTEND_ATTENTION_OPTIONS_INIT;
        options.score = way % 2 ? &attend_score_additive : &attend_score_scaled_dot;
        options.heads = H;
        options.causal = way / 2 % 2;
        options.dropout = way / 4 % 2 ? 0.3 : 0;
        options.selection = (attend_selection)(way / 8);
        run(options, false, &stored);
        run(options, true, &again);
        assert_memory_equal(&stored, &again, sizeof stored);
        double sum = 0;
        for (int i = 0; i < NK; i++) sum += fabs((double)stored.dkey[i]);
        assert_true(sum > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_stored_and_recomputed_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
