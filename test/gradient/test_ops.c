/* Derivatives of every operation except the recurrent cells. A case is a row of the table at the end: the shapes of the
 * parameters a, b, v, and a loss computed from them. */
#include "device/device.h"
#include "gradient/gradient.h"

typedef struct inputs {
    attend_param *a, *b, *v, *w;
} inputs;

static attend_var *use_a(attend_ctx *c, inputs *in)
{
    return attend_parameter(c, in->a);
}

static attend_var *use_b(attend_ctx *c, inputs *in)
{
    return attend_parameter(c, in->b);
}

static attend_var *use_v(attend_ctx *c, inputs *in)
{
    return attend_parameter(c, in->v);
}

static attend_var *linear(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_linear(c, use_a(c, in), use_b(c, in), use_v(c, in)), 1);
}

static attend_var *linear_without_bias(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_linear(c, use_a(c, in), use_b(c, in), NULL), 1);
}

/* the weight is computed instead of a parameter */
static attend_var *linear_of_linear(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_linear(c, use_a(c, in), attend_tanh(c, use_b(c, in)), use_v(c, in)), 1);
}

static attend_var *matmul(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_matmul(c, use_a(c, in), use_b(c, in), 0), 2);
}

static attend_var *matmul_a(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_matmul(c, use_a(c, in), use_b(c, in), ATTEND_TRANSPOSE_A), 2);
}

static attend_var *matmul_b(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_matmul(c, use_a(c, in), use_b(c, in), ATTEND_TRANSPOSE_B), 2);
}

static attend_var *matmul_ab(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_matmul(c, use_a(c, in), use_b(c, in), ATTEND_TRANSPOSE_A | ATTEND_TRANSPOSE_B), 2);
}

static attend_var *matmul_itself(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_matmul(c, use_a(c, in), use_a(c, in), ATTEND_TRANSPOSE_B), 2);
}

static attend_var *add(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_add(c, attend_tanh(c, use_a(c, in)), use_b(c, in)), 3);
}

static attend_var *add_row(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_tanh(c, attend_add(c, use_a(c, in), use_v(c, in))), 3);
}

static attend_var *mul(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_mul(c, use_a(c, in), use_b(c, in)), 4);
}

static attend_var *mul_itself(attend_ctx *c, void *in)
{
    attend_var *a = use_a(c, in);
    return weighted_sum(c, attend_mul(c, a, a), 4);
}

static attend_var *mul_row(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_mul(c, use_a(c, in), use_v(c, in)), 4);
}

static attend_var *scale(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_tanh(c, attend_scale(c, use_a(c, in), -1.7)), 5);
}

static attend_var *unary(attend_ctx *c, void *in)
{
    attend_var *a = use_a(c, in);
    attend_var *parts[] = { attend_tanh(c, a), attend_sigmoid(c, a), attend_relu(c, a), attend_gelu(c, a), a };
    return weighted_sum(c, attend_concat(c, parts, 5), 6);
}

static attend_var *swiglu(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_swiglu(c, attend_scale(c, use_a(c, in), 2)), 17);
}

static const attend_ragged *three_sequences(attend_ctx *c)
{
    return attend_ragged_new(c, 4, (const int[]){ 2, 0, 1, 3 });
}

static attend_var *sinusoids(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_tanh(c, attend_add_sinusoids(c, use_a(c, in), 0.7, three_sequences(c), 3)), 18);
}

static attend_var *learned_positions(attend_ctx *c, void *in)
{
    attend_var *x = attend_tanh(c, use_a(c, in));
    return weighted_sum(c, attend_tanh(c, attend_add_learned_positions(c, x, 0.7, use_b(c, in), three_sequences(c), 2)),
                        19);
}

static attend_var *rotary(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_tanh(c, attend_rotary(c, use_a(c, in), three_sequences(c), 2, 1)), 20);
}

static attend_var *sum_of_squares(attend_ctx *c, void *in)
{
    attend_var *s = attend_sum(c, use_a(c, in));
    return attend_mul(c, s, s);
}

static attend_var *gather(attend_ctx *c, void *in)
{
    static const int ids[] = { 2, 0, 2, 2, 1 };
    return weighted_sum(c, attend_tanh(c, attend_gather(c, use_a(c, in), ids, 5)), 7);
}

static attend_var *gather_computed(attend_ctx *c, void *in)
{
    static const int ids[] = { 2, 0, 2 };
    return weighted_sum(c, attend_gather(c, attend_tanh(c, use_a(c, in)), ids, 3), 7);
}

/* one table used by gather and by matmul: sparse and dense gradients are combined */
static attend_var *gather_tied(attend_ctx *c, void *in)
{
    static const int ids[] = { 1, 0, 1 };
    attend_var *table = use_a(c, in);
    return weighted_sum(c, attend_linear(c, attend_tanh(c, attend_gather(c, table, ids, 3)), table, NULL), 7);
}

static attend_var *stack(attend_ctx *c, void *in)
{
    attend_var *parts[] = { use_a(c, in), use_b(c, in), attend_tanh(c, use_a(c, in)) };
    return weighted_sum(c, attend_stack(c, parts, 3), 8);
}

static attend_var *slice(attend_ctx *c, void *in)
{
    attend_var *a = use_a(c, in);
    return attend_add(c, weighted_sum(c, attend_tanh(c, attend_slice(c, a, 1, 3)), 9),
                      weighted_sum(c, attend_slice(c, a, 0, 2), 10));
}

static attend_var *reshape(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_tanh(c, attend_reshape(c, use_a(c, in), 3, (const int[]){ 2, 5, 3 })), 11);
}

static attend_var *layer_norm(attend_ctx *c, void *in)
{
    attend_var *gain = attend_parameter(c, ((inputs *)in)->w);
    return weighted_sum(c, attend_layer_norm(c, use_a(c, in), gain, use_v(c, in), 1e-5), 12);
}

static attend_var *dropout(attend_ctx *c, void *in)
{
    return weighted_sum(c, attend_dropout(c, attend_tanh(c, use_a(c, in)), 0.4), 13);
}

static attend_var *dropout_shared(attend_ctx *c, void *in)
{
    const attend_ragged *r = attend_ragged_new(c, 4, (const int[]){ 2, 0, 1, 3 });
    return weighted_sum(c, attend_dropout_shared(c, attend_tanh(c, use_a(c, in)), r, 0.5), 14);
}

static const int targets[] = { 3, -1, 0, 4, 2, -1 };

static attend_var *cross_entropy(attend_ctx *c, void *in)
{
    attend_var *logits = attend_linear(c, use_a(c, in), use_b(c, in), use_v(c, in));
    return attend_cross_entropy(c, logits, targets, 0, 0.3, NULL);
}

static attend_var *cross_entropy_smoothed(attend_ctx *c, void *in)
{
    attend_var *logits = attend_linear(c, use_a(c, in), use_b(c, in), use_v(c, in));
    attend_var *loss = attend_cross_entropy(c, logits, targets, 0.2, 0.3, NULL);
    return attend_mul(c, loss, loss); /* so that the incoming gradient is not 1 */
}

/* logits that their own derivative needs and another operation has read: copied, not consumed */
static attend_var *cross_entropy_shared(attend_ctx *c, void *in)
{
    attend_var *logits = attend_tanh(c, attend_linear(c, use_a(c, in), use_b(c, in), use_v(c, in)));
    attend_var *other = weighted_sum(c, attend_mul(c, logits, logits), 15);
    return attend_add(c, attend_cross_entropy(c, logits, targets, 0.1, 1, NULL), other);
}

/* logits whose own derivative needs their value and that no other operation has read */
static attend_var *cross_entropy_of_tanh(attend_ctx *c, void *in)
{
    attend_var *logits = attend_tanh(c, attend_linear(c, use_a(c, in), use_b(c, in), use_v(c, in)));
    return attend_cross_entropy(c, logits, targets, 0.1, 1, NULL);
}

/* the same with a recurrent layer, which needs its output at every step except the last */
static attend_var *cross_entropy_of_cell(attend_ctx *c, void *in)
{
    const attend_cell cell = { .kind = ATTEND_CELL_SIMPLE,
                               .w = use_b(c, in),
                               .u = attend_parameter(c, ((inputs *)in)->w) };
    const attend_ragged *r = attend_ragged_new(c, 2, (const int[]){ 4, 2 });
    attend_var *h = attend_cell_sequence(c, &cell, use_a(c, in), r, false, NULL);
    return attend_cross_entropy(c, h, targets, 0.1, 1, NULL);
}

/* logits that are a parameter: it must not be overwritten */
static attend_var *cross_entropy_of_parameter(attend_ctx *c, void *in)
{
    return attend_cross_entropy(c, use_a(c, in), targets, 0.1, 1, NULL);
}

/* ---- a wrong derivative must be detected ---- */

typedef struct square_node {
    attend_node node;
    attend_var *x, *y;
    double slope;
} square_node;

static void square_backward(attend_ctx *c, attend_node *node)
{
    square_node *s = (square_node *)node;
    const attend_device *d = attend_device_of(c);
    real *dx = attend_grad(c, s->x), *product = attend_ctx_alloc_reals(c, s->x->size);
    if (!dx || !product) return;
    d->mul(&c->compute, 1, s->x->size, (device_input){ .data = s->y->grad }, (device_input){ .data = s->x->value },
           (device_output){ .data = product });
    d->axpy(&c->compute, s->x->size, (real)s->slope, product, dx);
}

static double square_slope;

static attend_var *square(attend_ctx *c, void *in)
{
    attend_var *x = use_a(c, in);
    if (!attend_check_inputs(c, "square", 1, x)) return NULL;
    attend_var *y = attend_var_new(c, x->rank, x->shape, x->differentiable);
    square_node *s = attend_ctx_alloc(c, 1, sizeof *s);
    if (!y || !s) return NULL;
    const device_input in_x = { .data = x->value };
    attend_device_of(c)->mul(&c->compute, 1, x->size, in_x, in_x, (device_output){ .data = y->value });
    *s = (square_node){ .x = x, .y = y, .slope = square_slope };
    if (y->differentiable) attend_record(c, &s->node, square_backward);
    return weighted_sum(c, y, 16);
}

static void test_wrong_derivative_is_detected(void **state)
{
    (void)state;
    attend_params *set = NULL;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    inputs in = { .a = matrix(set, "a", 4, 3) };
    attend_check check;
    square_slope = 2;
    assert_int_equal(attend_check_gradients(&check, set, square, &in, 0), ATTEND_OK);
    assert_true(check.worst < BOUND);
    square_slope = 2 * (1 + 1e-5); /* wrong in the fifth digit */
    assert_int_equal(attend_check_gradients(&check, set, square, &in, 0), ATTEND_OK);
    assert_true(check.worst > BOUND);
    square_slope = -2;
    assert_int_equal(attend_check_gradients(&check, set, square, &in, 0), ATTEND_OK);
    assert_true(check.worst > 1);
    attend_params_free(set);
}

/* ---- the table ---- */

typedef struct op_case {
    const char *name;
    attend_loss_fn fn;
    int a[2], b[2], v, w; /* shapes; 0: none */
} op_case;

static const op_case cases[] = {
    { "linear", linear, { 5, 3 }, { 4, 3 }, 4, 0 },
    { "linear, one row", linear, { 1, 7 }, { 9, 7 }, 9, 0 },
    { "linear without bias", linear_without_bias, { 5, 3 }, { 4, 3 }, 0, 0 },
    { "linear with computed weights", linear_of_linear, { 5, 3 }, { 4, 3 }, 4, 0 },
    { "matmul", matmul, { 5, 3 }, { 3, 4 }, 0, 0 },
    { "matmul a'", matmul_a, { 3, 5 }, { 3, 4 }, 0, 0 },
    { "matmul b'", matmul_b, { 5, 3 }, { 4, 3 }, 0, 0 },
    { "matmul a' b'", matmul_ab, { 3, 5 }, { 4, 3 }, 0, 0 },
    { "matmul a a'", matmul_itself, { 4, 3 }, { 0 }, 0, 0 },
    { "add", add, { 3, 4 }, { 3, 4 }, 0, 0 },
    { "add a row", add_row, { 3, 4 }, { 0 }, 4, 0 },
    { "mul", mul, { 3, 4 }, { 3, 4 }, 0, 0 },
    { "mul by itself", mul_itself, { 3, 4 }, { 0 }, 0, 0 },
    { "mul by a row", mul_row, { 3, 4 }, { 0 }, 4, 0 },
    { "scale", scale, { 3, 4 }, { 0 }, 0, 0 },
    { "tanh, sigmoid, relu, gelu, concat", unary, { 3, 4 }, { 0 }, 0, 0 },
    { "swiglu", swiglu, { 3, 10 }, { 0 }, 0, 0 },
    { "sinusoids", sinusoids, { 6, 5 }, { 0 }, 0, 0 },
    { "learned positions", learned_positions, { 6, 5 }, { 7, 5 }, 0, 0 },
    { "rotary", rotary, { 6, 12 }, { 0 }, 0, 0 },
    { "sum", sum_of_squares, { 3, 4 }, { 0 }, 0, 0 },
    { "gather", gather, { 4, 3 }, { 0 }, 0, 0 },
    { "gather from a computed table", gather_computed, { 4, 3 }, { 0 }, 0, 0 },
    { "gather, table tied to a product", gather_tied, { 4, 3 }, { 0 }, 0, 0 },
    { "stack", stack, { 2, 3 }, { 4, 3 }, 0, 0 },
    { "slice", slice, { 3, 5 }, { 0 }, 0, 0 },
    { "reshape", reshape, { 6, 5 }, { 0 }, 0, 0 },
    { "layer norm", layer_norm, { 4, 7 }, { 0 }, 7, 7 },
    { "layer norm of one column", layer_norm, { 3, 1 }, { 0 }, 1, 1 },
    { "dropout", dropout, { 5, 6 }, { 0 }, 0, 0 },
    { "dropout shared along time", dropout_shared, { 6, 5 }, { 0 }, 0, 0 },
    { "cross-entropy", cross_entropy, { 6, 3 }, { 5, 3 }, 5, 0 },
    { "cross-entropy with label smoothing", cross_entropy_smoothed, { 6, 3 }, { 5, 3 }, 5, 0 },
    { "cross-entropy of shared logits", cross_entropy_shared, { 6, 3 }, { 5, 3 }, 5, 0 },
    { "cross-entropy of a tanh", cross_entropy_of_tanh, { 6, 3 }, { 5, 3 }, 5, 0 },
    { "cross-entropy of a parameter", cross_entropy_of_parameter, { 6, 5 }, { 0 }, 0, 0 },
};

static void test_cross_entropy_of_a_recurrent_layer(void **state)
{
    (void)state;
    attend_params *set = NULL;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    inputs in = { .a = matrix(set, "a", 6, 3), .b = matrix(set, "b", 5, 3), .w = matrix(set, "u", 5, 5) };
    assert_gradients("cross-entropy of a recurrent layer", set, cross_entropy_of_cell, &in);
    attend_params_free(set);
}

static void test_operations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const op_case *k = &cases[i];
        attend_params *set = NULL;
        assert_int_equal(attend_params_new(&set), ATTEND_OK);
        inputs in = { .a = matrix(set, "a", k->a[0], k->a[1]) };
        if (k->b[0]) in.b = matrix(set, "b", k->b[0], k->b[1]);
        if (k->v) in.v = vector(set, "v", k->v);
        if (k->w) in.w = vector(set, "w", k->w);
        assert_gradients(k->name, set, k->fn, &in);
        attend_params_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_cross_entropy_of_a_recurrent_layer),
        cmocka_unit_test(test_wrong_derivative_is_detected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
