/* Out of memory: every allocation of a training step fails in turn. Each time the step must end with an error and a
 * message, without a crash or a leak (checked by AddressSanitizer and valgrind). */
#include "core/memory.h"
#include "device/guard_memory.h"
#include "support/language_model.h"
#include "unit/unit.h"

/* Two complete steps, from parameters to an update: the second reuses the memory of the first. */
static int two_steps(int threads)
{
    language_model m = { .vocabulary = 31,
                         .embedding = 5,
                         .hidden = 7,
                         .count = 5,
                         .max_length = 4,
                         .shard = 2,
                         .ragged = true,
                         .dropout = 0.1 };
    attend_team *team = NULL;
    attend_optimizer *optimizer = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    int status = language_model_new(&m);
    if (status == ATTEND_OK) status = attend_team_new(&team, m.params, threads);
    if (status == ATTEND_OK) status = attend_optimizer_new(&optimizer, team, &options);
    for (uint64_t i = 0; status == ATTEND_OK && i < 2; i++) {
        status = attend_team_gradient(team, language_model_shards(&m), language_model_loss, &m, 1, i, NULL);
        if (status == ATTEND_OK) status = attend_optimizer_step(optimizer, 0.1, 1, NULL);
    }
    attend_optimizer_free(optimizer);
    attend_team_free(team);
    language_model_free(&m);
    return status;
}

static void fail_each_request(int threads)
{
    attend_memory_refuse(-1); /* only count */
    assert_ok(two_steps(threads));
    long requests = attend_memory_requests();
    assert_true(requests > 100);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        int status = two_steps(threads);
        /* which thread runs a shard, and so whether it needs memory of its own, differs from run to run */
        if (threads > 1 && status == ATTEND_OK && attend_memory_requests() < n) continue;
        if (status != ATTEND_NO_MEMORY)
            fail_msg("request %ld of %ld failed, and the status is %d", n, requests, status);
        assert_int_equal(attend_guard_blocks(), 0); /* with ATTEND_DEVICE=guard: all device memory was given back */
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
    assert_ok(two_steps(threads));
    printf("%ld requests failed in turn on %d thread%s\n", requests, threads, threads > 1 ? "s" : "");
}

/* Every operation once; the status is checked at the end only. */
static int every_operation(void)
{
    attend_ctx *c = NULL;
    int status = attend_ctx_new(&c);
    if (status != ATTEND_OK) return status;
    attend_ctx_set_training(c, true);
    const attend_ragged *r = attend_ragged_new(c, 3, (const int[]){ 2, 0, 3 });
    const int rows = attend_ragged_rows(r);
    static const int ids[] = { 0, 1, 2, 1, 0 };
    attend_var *table = attend_input(c, 2, (const int[]){ 3, 4 }, NULL);
    attend_var *v = attend_input(c, 1, (const int[]){ 4 }, NULL);
    attend_var *w = attend_input(c, 2, (const int[]){ 4, 4 }, NULL),
               *tall = attend_input(c, 2, (const int[]){ 16, 4 }, NULL);
    attend_var *x = attend_gather(c, table, ids, rows);
    x = attend_add(c, attend_mul(c, attend_scale(c, x, 2), x), v);
    x = attend_layer_norm(c, attend_dropout(c, attend_dropout_shared(c, x, r, 0.2), 0.2), v, v, 1e-5);
    x = attend_linear(c, attend_matmul(c, x, w, ATTEND_TRANSPOSE_B), w, v);
    x = attend_relu(c, attend_sigmoid(c, attend_tanh(c, x)));
    x = attend_gelu(c, attend_swiglu(c, attend_concat(c, (attend_var *[]){ x, x }, 2)));
    x = attend_add_learned_positions(c, attend_add_sinusoids(c, x, 2, r, 1), 0.5, table, r, 0);
    x = attend_rotary(c, x, r, 2, 5);
    attend_state state = { 0 };
    const attend_cell cell = { .kind = ATTEND_CELL_LSTM, .w = tall, .u = tall };
    x = attend_cell_sequence(c, &cell, x, r, true, &state);
    x = attend_stack(c, (attend_var *[]){ x, attend_cell_step(c, &cell, state.h, &state) }, 2);
    x = attend_slice(c, attend_concat(c, (attend_var *[]){ x, x }, 2), 1, 6);
    x = attend_reshape(c, x, 2, (const int[]){ 6, 8 });
    static const int targets[] = { 1, -1, 3, 0, 2, 5 };
    attend_var *loss = attend_add(c, attend_cross_entropy(c, x, targets, 0.1, 1, NULL), attend_sum(c, state.c));
    if (!loss != (attend_ctx_status(c) != ATTEND_OK)) status = ATTEND_FAILED; /* NULL if and only if it failed */
    if (status == ATTEND_OK) status = attend_backward(c, loss);
    attend_ctx_free(c);
    return status;
}

static void test_every_operation(void **state)
{
    (void)state;
    attend_memory_refuse(-1);
    assert_ok(every_operation());
    long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        int status = every_operation();
        if (status != ATTEND_NO_MEMORY)
            fail_msg("request %ld of %ld failed, and the status is %d", n, requests, status);
        assert_int_equal(attend_guard_blocks(), 0);
    }
    attend_memory_refuse(0);
    printf("%ld requests failed in turn\n", requests);
}

static void test_one_thread(void **state)
{
    (void)state;
    fail_each_request(1);
}

static void test_two_threads(void **state)
{
    (void)state;
    fail_each_request(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_operation), cmocka_unit_test(test_one_thread),
                                        cmocka_unit_test(test_two_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
