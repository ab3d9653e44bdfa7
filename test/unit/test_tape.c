/* Contexts and variables: rejected arguments and their messages, sticky failure, mark and rewind, recording off. */
#include "core/tape.h"
#include "kernel/kernel.h"
#include "unit/unit.h"
#include <limits.h>

static attend_ctx *context(void)
{
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    return c;
}

static attend_var *zeros(attend_ctx *c, int rows, int columns)
{
    return attend_input(c, 2, (const int[]){ rows, columns }, NULL);
}

/* ---- rejected arguments: the message names the operation and the error ---- */

static attend_var *bad_linear(attend_ctx *c)
{
    return attend_linear(c, zeros(c, 3, 5), zeros(c, 4, 6), NULL);
}

static attend_var *bad_bias(attend_ctx *c)
{
    return attend_linear(c, zeros(c, 3, 5), zeros(c, 4, 5), attend_input(c, 1, (const int[]){ 5 }, NULL));
}

static attend_var *bad_matmul(attend_ctx *c)
{
    return attend_matmul(c, zeros(c, 3, 5), zeros(c, 4, 5), 0);
}

static attend_var *bad_add(attend_ctx *c)
{
    return attend_add(c, zeros(c, 3, 5), zeros(c, 5, 3));
}

static attend_var *bad_id(attend_ctx *c)
{
    return attend_gather(c, zeros(c, 3, 5), (const int[]){ 0, 3 }, 2);
}

static attend_var *bad_negative_id(attend_ctx *c)
{
    return attend_gather(c, zeros(c, 3, 5), (const int[]){ -1 }, 1);
}

static attend_var *bad_concat(attend_ctx *c)
{
    return attend_concat(c, (attend_var *[]){ zeros(c, 3, 5), zeros(c, 4, 5) }, 2);
}

static attend_var *bad_slice(attend_ctx *c)
{
    return attend_slice(c, zeros(c, 3, 5), 3, 3);
}

static attend_var *bad_reshape(attend_ctx *c)
{
    return attend_reshape(c, zeros(c, 3, 5), 2, (const int[]){ 4, 4 });
}

static attend_var *bad_rank(attend_ctx *c)
{
    return attend_input(c, 5, (const int[]){ 1, 1, 1, 1, 1 }, NULL);
}

static attend_var *bad_size(attend_ctx *c)
{
    return attend_input(c, 4, (const int[]){ 1 << 30, 1 << 30, 1 << 30, 1 << 30 }, NULL);
}

static attend_var *bad_norm(attend_ctx *c)
{
    attend_var *v = attend_input(c, 1, (const int[]){ 4 }, NULL);
    return attend_layer_norm(c, zeros(c, 3, 5), v, v, 1e-5);
}

static attend_var *bad_dropout(attend_ctx *c)
{
    return attend_dropout(c, zeros(c, 3, 5), 1.0);
}

static attend_var *bad_rows(attend_ctx *c)
{
    return attend_dropout_shared(c, zeros(c, 3, 5), attend_ragged_new(c, 2, (const int[]){ 2, 2 }), 0.5);
}

static attend_var *bad_length(attend_ctx *c)
{
    return attend_dropout_shared(c, zeros(c, 3, 5), attend_ragged_new(c, 2, (const int[]){ 4, -1 }), 0.5);
}

static attend_var *bad_target(attend_ctx *c)
{
    return attend_cross_entropy(c, zeros(c, 2, 5), (const int[]){ 4, 5 }, 0, 1, NULL);
}

static attend_var *bad_smoothing(attend_ctx *c)
{
    return attend_cross_entropy(c, zeros(c, 2, 5), (const int[]){ 4, 4 }, 1.5, 1, NULL);
}

static attend_var *bad_consumed(attend_ctx *c)
{
    attend_var *logits = zeros(c, 2, 5);
    attend_cross_entropy(c, logits, (const int[]){ 4, 4 }, 0, 1, NULL);
    return attend_tanh(c, logits);
}

static attend_var *bad_null(attend_ctx *c)
{
    return attend_tanh(c, NULL);
}

static attend_var *bad_cell(attend_ctx *c)
{
    const attend_cell cell = { .kind = ATTEND_CELL_GRU, .w = zeros(c, 12, 3), .u = zeros(c, 16, 4) };
    return attend_cell_sequence(c, &cell, zeros(c, 2, 3), attend_ragged_new(c, 1, (const int[]){ 2 }), false, NULL);
}

static attend_var *bad_cell_input(attend_ctx *c)
{
    const attend_cell cell = { .kind = ATTEND_CELL_LSTM, .w = zeros(c, 16, 3), .u = zeros(c, 16, 4) };
    return attend_cell_sequence(c, &cell, zeros(c, 2, 5), attend_ragged_new(c, 1, (const int[]){ 2 }), false, NULL);
}

static attend_var *bad_cell_state(attend_ctx *c)
{
    const attend_cell cell = { .kind = ATTEND_CELL_LSTM, .w = zeros(c, 16, 3), .u = zeros(c, 16, 4) };
    attend_state state = { .h = zeros(c, 3, 4) };
    return attend_cell_step(c, &cell, zeros(c, 2, 3), &state);
}

static attend_var *bad_halves(attend_ctx *c)
{
    return attend_swiglu(c, zeros(c, 3, 5));
}

static attend_var *bad_pairs(attend_ctx *c)
{
    return attend_rotary(c, zeros(c, 3, 6), attend_ragged_new(c, 1, (const int[]){ 3 }), 2, 0);
}

static attend_var *bad_positions(attend_ctx *c)
{
    return attend_add_sinusoids(c, zeros(c, 3, 6), 1, attend_ragged_new(c, 1, (const int[]){ 3 }), INT_MAX - 2);
}

static attend_var *bad_negative_position(attend_ctx *c)
{
    return attend_rotary(c, zeros(c, 3, 4), attend_ragged_new(c, 1, (const int[]){ 3 }), 2, -1);
}

static attend_var *bad_position_table(attend_ctx *c)
{
    return attend_add_learned_positions(c, zeros(c, 3, 6), 1, zeros(c, 9, 5),
                                        attend_ragged_new(c, 1, (const int[]){ 3 }), 0);
}

static attend_var *bad_long_sequence(attend_ctx *c)
{
    return attend_add_learned_positions(c, zeros(c, 4, 6), 1, zeros(c, 9, 6),
                                        attend_ragged_new(c, 2, (const int[]){ 1, 3 }), 7);
}

static attend_var *bad_position_rows(attend_ctx *c)
{
    return attend_add_learned_positions(c, zeros(c, 4, 6), 1, zeros(c, 9, 6),
                                        attend_ragged_new(c, 1, (const int[]){ 3 }), 0);
}

static const struct {
    attend_var *(*run)(attend_ctx *c);
    const char *message;
} refusals[] = {
    { bad_linear, "attend_linear: x (3, 5) and w (4, 6)" },
    { bad_bias, "the bias (5) does not fit the weights (4, 5)" },
    { bad_matmul, "attend_matmul: (3, 5) times (4, 5): the inner lengths differ" },
    { bad_add, "attend_add: the shapes (3, 5) and (5, 3)" },
    { bad_id, "attend_gather: id 3 at position 1 is not in [0, 3)" },
    { bad_negative_id, "id -1 at position 0" },
    { bad_concat, "attend_concat: part 1 is (4, 5)" },
    { bad_slice, "3 columns from column 3 are out of range of (3, 5)" },
    { bad_reshape, "attend_reshape: (3, 5) and (4, 4)" },
    { bad_rank, "rank 5" },
    { bad_size, "too large" },
    { bad_norm, "attend_layer_norm: gain (4)" },
    { bad_dropout, "probability 1 is not in [0, 1)" },
    { bad_rows, "x is (3, 5), but the sequences have 4 rows" },
    { bad_length, "the length -1 of sequence 1 is invalid" },
    { bad_target, "target 5 of row 1 is not below V = 5" },
    { bad_smoothing, "smoothing 1.5" },
    { bad_consumed, "attend_tanh: variable 1 was consumed by an earlier operation" },
    { bad_null, "attend_tanh: variable 1 is NULL" },
    { bad_halves, "attend_swiglu: the shape (3, 5) is not (N, 2 F)" },
    { bad_pairs, "attend_rotary: rows of (3, 6) cannot be divided into 2 heads of an even width" },
    { bad_positions, "attend_add_sinusoids: 3 rows cannot have positions from 2147483645" },
    { bad_negative_position, "attend_rotary: 3 rows cannot have positions from -1" },
    { bad_position_table, "attend_add_learned_positions: the table (9, 5) does not fit x (3, 6)" },
    { bad_long_sequence, "attend_add_learned_positions: a sequence needs 10 positions, but the table has only 9" },
    { bad_position_rows, "attend_add_learned_positions: x is (4, 6), but the sequences have 3 rows" },
    { bad_cell, "u has shape (16, 4), expected (3 H, H)" },
    { bad_cell_input, "w has shape (16, 3), expected (16, 5)" },
    { bad_cell_state, "attend_cell_step: an initial state has shape (3, 4), expected (2, 4)" },
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        attend_ctx *c = context();
        attend_ctx_set_training(c, true);
        assert_null(refusals[i].run(c));
        if (attend_ctx_status(c) != ATTEND_BAD_USAGE || !strstr(attend_ctx_message(c), refusals[i].message))
            fail_msg("the message \"%s\" does not contain \"%s\"", attend_ctx_message(c), refusals[i].message);
        attend_ctx_free(c);
    }
}

/* ---- failure is sticky; the first one is kept ---- */

static void test_failure_is_sticky_until_reset(void **state)
{
    (void)state;
    attend_ctx *c = context();
    attend_var *good = zeros(c, 2, 2);
    attend_var *y = attend_tanh(c, attend_add(c, attend_linear(c, zeros(c, 1, 2), zeros(c, 1, 3), NULL), good));
    assert_null(y);
    assert_null(attend_tanh(c, good));
    assert_null(attend_concat(c, &good, 1));
    assert_null(attend_parameter(c, NULL));
    assert_int_equal(attend_backward(c, y), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_ctx_message(c), "attend_linear"));
    assert_non_null(strstr(attend_message(), "attend_linear"));
    attend_ctx_reset(c);
    assert_int_equal(attend_ctx_status(c), ATTEND_OK);
    assert_string_equal(attend_ctx_message(c), "");
    assert_non_null(attend_tanh(c, zeros(c, 2, 2)));
    attend_ctx_free(c);
}

static void test_invalid_calls_of_backward(void **state)
{
    (void)state;
    attend_ctx *c = context();
    assert_int_equal(attend_backward(c, zeros(c, 2, 3)), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "the loss has shape (2, 3)"));
    attend_ctx_reset(c);
    attend_var *loss = attend_sum(c, zeros(c, 2, 3));
    assert_ok(attend_backward(c, loss));
    assert_int_equal(attend_backward(c, loss), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "already run"));
    attend_ctx_reset(c);
    attend_ctx_set_recording(c, false);
    assert_int_equal(attend_backward(c, attend_sum(c, zeros(c, 2, 3))), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "nothing to differentiate"));
    attend_ctx_free(c);
}

/* ---- gradients ---- */

static void test_inputs_have_gradients_and_constants_do_not(void **state)
{
    (void)state;
    attend_ctx *c = context();
    const attend_real three[] = { 1, 2, 3 };
    attend_var *x = attend_input(c, 1, (const int[]){ 3 }, three),
               *k = attend_constant(c, 1, (const int[]){ 3 }, three);
    attend_var *unused = attend_input(c, 1, (const int[]){ 3 }, three);
    assert_ok(attend_backward(c, attend_sum(c, attend_mul(c, x, k))));
    for (int i = 0; i < 3; i++) assert_true(attend_gradient(x)[i] == three[i]);
    assert_null(attend_gradient(k));
    assert_null(attend_gradient(unused));
    attend_ctx_free(c);
}

static void test_recording_off_records_nothing(void **state)
{
    (void)state;
    attend_ctx *c = context();
    attend_ctx_set_recording(c, false);
    attend_var *kept = zeros(c, 4, 4);
    size_t bytes = 0;
    for (int i = 0; i < 100; i++) {
        attend_mark mark = attend_ctx_mark(c);
        attend_var *x = kept;
        for (int j = 0; j < 20; j++) x = attend_tanh(c, attend_add(c, x, kept));
        assert_non_null(x);
        attend_ctx_rewind(c, mark);
        if (i == 0) bytes = attend_ctx_bytes(c);
        assert_int_equal(attend_ctx_bytes(c), bytes);
    }
    assert_int_equal(attend_ctx_status(c), ATTEND_OK);
    attend_ctx_free(c);
}

static void test_rewind_fails_while_recording(void **state)
{
    (void)state;
    attend_ctx *c = context();
    attend_mark mark = attend_ctx_mark(c);
    attend_tanh(c, zeros(c, 2, 2));
    attend_ctx_rewind(c, mark);
    assert_int_equal(attend_ctx_status(c), ATTEND_BAD_USAGE);
    attend_ctx_free(c);
}

/* Variables created after the mark are freed and their memory is reused; earlier ones stay. */
static void test_rewind(void **state)
{
    (void)state;
    attend_ctx *c = context();
    attend_ctx_set_recording(c, false);
    const attend_real numbers[] = { 1, 2, 3, 4 };
    attend_var *kept = attend_constant(c, 1, (const int[]){ 4 }, numbers);
    attend_mark mark = attend_ctx_mark(c);
    attend_var *first = attend_scale(c, kept, 2);
#ifndef ATTEND_ARENA_MALLOC
    const attend_real *address = first->value;
#endif
    assert_true(attend_value(first)[3] == 8);
    attend_ctx_rewind(c, mark);
    attend_var *second = attend_scale(c, kept, 3);
#ifndef ATTEND_ARENA_MALLOC
    assert_ptr_equal(second->value, address);
#endif
    assert_true(attend_value(second)[3] == 12);
    assert_memory_equal(attend_value(kept), numbers, sizeof numbers);
    attend_ctx_free(c);
}

/* A context that is too large gives back both its memories. */
static void test_shrink(void **state)
{
    (void)state;
    attend_ctx *c = context();
    assert_non_null(zeros(c, 256, 1024));
    const size_t bytes = attend_ctx_bytes(c);
    assert_true(c->numbers.bytes >= 256 * 1024 * sizeof(attend_real));
    attend_ctx_shrink(c, (double)bytes);
    assert_int_equal(attend_ctx_bytes(c), bytes);
    attend_ctx_shrink(c, (double)bytes - 1);
    assert_int_equal(attend_ctx_bytes(c), 0);
    assert_non_null(zeros(c, 2, 2));
    attend_ctx_free(c);
}

/* Accessors accept NULL, so that a model needs only one check, at its end. */
static void test_accessors_accept_null(void **state)
{
    (void)state;
    assert_int_equal(attend_rank(NULL), 0);
    assert_int_equal(attend_dim(NULL, 0), 0);
    assert_int_equal(attend_size(NULL), 0);
    assert_null(attend_value(NULL));
    assert_null(attend_gradient(NULL));
    assert_int_equal(attend_ragged_count(NULL) + attend_ragged_rows(NULL) + attend_ragged_length(NULL, 0), 0);
}

/* A parameter that does not belong to the set of the context's gradients. */
static void test_foreign_parameters(void **state)
{
    (void)state;
    attend_params *ours = NULL, *theirs = NULL;
    attend_param *p = NULL;
    attend_grads *grads = NULL;
    attend_ctx *c = context();
    assert_ok(attend_params_new(&ours));
    assert_ok(attend_params_new(&theirs));
    assert_ok(attend_params_add(NULL, ours, "a", 1, (const int[]){ 2 }));
    assert_ok(attend_params_add(&p, theirs, "b", 1, (const int[]){ 900 }));
    assert_ok(attend_grads_new(&grads, ours));
    attend_ctx_set_grads(c, grads);
    assert_null(attend_parameter(c, p));
    assert_non_null(strstr(attend_ctx_message(c), "'b' does not belong to the parameter set"));
    /* gradients removed from the context before backward: they are still added to the original ones */
    attend_ctx_reset(c);
    attend_var *loss = attend_sum(c, attend_parameter(c, attend_params_at(ours, 0)));
    attend_ctx_set_grads(c, NULL);
    assert_ok(attend_backward(c, loss));
    assert_true(attend_grads_of(grads, attend_params_at(ours, 0))[1] == 1);
    attend_ctx_free(c);
    attend_grads_free(grads);
    attend_params_free(ours);
    attend_params_free(theirs);
}

/* -log p of each row, 0 for ignored rows. */
static void test_row_losses(void **state)
{
    (void)state;
    attend_ctx *c = context();
    attend_real nll[2] = { 7, 7 };
    attend_cross_entropy(c, zeros(c, 2, 4), (const int[]){ -1, 2 }, 0.3, 1, nll);
    assert_true(nll[0] == 0);
    assert_true(nll[1] > (attend_real)1.386 && nll[1] < (attend_real)1.387); /* log 4 */
    attend_ctx_free(c);
}

/* Logits that nothing else reads are overwritten in place; there is no second (N, V) array. */
static void test_cross_entropy_holds_one_copy(void **state)
{
    (void)state;
    enum { N = 256, V = 5000, D = 4 };
    attend_ctx *c = context();
    int targets[N];
    for (int i = 0; i < N; i++) targets[i] = i;
    const size_t one = (size_t)N * V * sizeof(attend_real);
#ifndef ATTEND_ARENA_MALLOC
    zeros(c, N, V + V / 2); /* an arena that holds one copy and a half, so that a second one makes it grow */
    attend_ctx_reset(c);
#endif
    const size_t before = attend_ctx_bytes(c);
    attend_var *logits = attend_linear(c, zeros(c, N, D), zeros(c, V, D), NULL);
    attend_var *loss = attend_cross_entropy(c, logits, targets, 0.1, 1, NULL);
    assert_ok(attend_backward(c, loss));
    assert_ptr_equal(logits->grad, logits->value);
#ifdef ATTEND_ARENA_MALLOC
    assert_true(attend_ctx_bytes(c) - before < 2 * one);
#else
    assert_true(attend_ctx_bytes(c) - before < one);
#endif
    attend_ctx_free(c);
}

/* Dropout is the identity unless training; in training it is a function of (seed, stream). */
static void test_dropout(void **state)
{
    (void)state;
    enum { N = 1000 };
    attend_real ones[N], first[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    attend_ctx *c = context();
    attend_var *x = attend_input(c, 1, (const int[]){ N }, ones);
    assert_ptr_equal(attend_dropout(c, x, 0.5), x);
    attend_ctx_set_training(c, true);
    for (uint64_t stream = 0; stream < 3; stream++) {
        attend_ctx_set_random(c, 1, stream % 2);
        attend_var *y = attend_dropout(c, x, 0.25);
        for (int i = 0; i < N; i++)
            assert_true(attend_value(y)[i] == 0 || attend_value(y)[i] == (attend_real)(1 / 0.75));
        bool same = memcmp(attend_value(y), first, sizeof first) == 0;
        if (stream == 0) memcpy(first, attend_value(y), sizeof first);
        if (stream == 1) assert_true(!same);
        if (stream == 2) assert_true(same);
    }
    attend_var *again = attend_dropout(c, x, 0.25); /* each use has its own mask */
    assert_true(memcmp(attend_value(again), first, sizeof first) != 0);
    attend_ctx_free(c);
}

/* ---- parameters ---- */

static void test_parameters(void **state)
{
    (void)state;
    attend_params *set = NULL;
    attend_param *p = NULL, *q = NULL;
    assert_ok(attend_params_new(&set));
    for (int i = 0; i < 40; i++) { /* beyond the initial capacity */
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        assert_ok(attend_params_add(&p, set, name, 2, (const int[]){ 2, 3 }));
    }
    assert_int_equal(attend_params_count(set), 40);
    assert_int_equal(attend_params_size(set), 240);
    assert_string_equal(attend_param_name(attend_params_find(set, "p7")), "p7");
    assert_null(attend_params_find(set, "q"));
    assert_int_equal(attend_params_add(&q, set, "p7", 1, (const int[]){ 2 }), ATTEND_BAD_USAGE);
    assert_null(q);
    assert_int_equal(attend_params_add(&q, set, "q", 1, (const int[]){ 0 }), ATTEND_BAD_USAGE);
    assert_int_equal(attend_params_add(&q, set, "q", 0, (const int[]){ 2 }), ATTEND_BAD_USAGE);
    assert_int_equal(attend_params_add(&q, set, "q", 2, (const int[]){ 1 << 30, 1 << 30 }), ATTEND_NO_MEMORY);
    attend_params_free(set);
}

/* A packed copy is recreated when the parameter changes, and when the kernel table changes (panels differ). */
static void test_packed_copies_follow_the_value(void **state)
{
    (void)state;
    attend_params *set = NULL;
    attend_param *w = NULL;
    assert_ok(attend_params_new(&set));
    assert_ok(attend_params_add(&w, set, "w", 2, (const int[]){ 1, 1 }));
    attend_ctx *c = context();
    const attend_real one = 1;
    for (int i = 0; i < 3; i++) {
        attend_param_edit(w)[0] = (attend_real)i;
        attend_param_changed(w);
        attend_var *y = attend_linear(c, attend_input(c, 2, (const int[]){ 1, 1 }, &one), attend_parameter(c, w), NULL);
        assert_true(attend_value(y)[0] == (attend_real)i);
    }
    attend_param *tall = NULL;
    assert_ok(attend_params_add(&tall, set, "tall", 2, (const int[]){ 40, 1 }));
    for (int i = 0; i < 40; i++) attend_param_edit(tall)[i] = (attend_real)i;
    attend_param_changed(tall);
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        attend_kernel_select(*t);
        attend_var *y =
            attend_linear(c, attend_input(c, 2, (const int[]){ 1, 1 }, &one), attend_parameter(c, tall), NULL);
        for (int i = 0; i < 40; i++) assert_true(attend_value(y)[i] == (attend_real)i);
    }
    attend_kernel_select(before);
    attend_ctx_free(c);
    attend_params_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failure_is_sticky_until_reset),
        cmocka_unit_test(test_invalid_calls_of_backward),
        cmocka_unit_test(test_inputs_have_gradients_and_constants_do_not),
        cmocka_unit_test(test_recording_off_records_nothing),
        cmocka_unit_test(test_rewind_fails_while_recording),
        cmocka_unit_test(test_rewind),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_accessors_accept_null),
        cmocka_unit_test(test_foreign_parameters),
        cmocka_unit_test(test_row_losses),
        cmocka_unit_test(test_cross_entropy_holds_one_copy),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_packed_copies_follow_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
