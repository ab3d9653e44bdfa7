/* test_golden_ops.c: compares single operations with PyTorch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include <stdlib.h>

/* Builds its outputs on an open rig. */
typedef void (*builder)(rig *r);

static void build_linear(rig *r)
{
    attend_var *x = rig_input(r, "x");
    rig_output(r, "y", attend_linear(r->c, x, rig_weight(r, "w"), rig_weight(r, "b")));
    rig_output(r, "y_bare", attend_linear(r->c, x, rig_weight(r, "bare"), NULL));
}

static void build_matmul(rig *r)
{
    attend_var *a = rig_weight(r, "a"), *a_t = rig_input(r, "a_t");
    attend_var *b = rig_weight(r, "b"), *b_t = rig_input(r, "b_t");
    rig_output(r, "nn", attend_matmul(r->c, a, b, 0));
    rig_output(r, "tn", attend_matmul(r->c, a_t, b, ATTEND_TRANSPOSE_A));
    rig_output(r, "nt", attend_matmul(r->c, a, b_t, ATTEND_TRANSPOSE_B));
    rig_output(r, "tt", attend_matmul(r->c, a_t, b_t, ATTEND_TRANSPOSE_A | ATTEND_TRANSPOSE_B));
}

static void build_elementwise(rig *r)
{
    attend_var *a = rig_input(r, "a"), *b = rig_weight(r, "b"), *v = rig_weight(r, "v");
    rig_output(r, "add", attend_add(r->c, a, b));
    rig_output(r, "add_row", attend_add(r->c, a, v));
    rig_output(r, "mul", attend_mul(r->c, a, b));
    rig_output(r, "mul_row", attend_mul(r->c, a, v));
    rig_output(r, "twice", attend_mul(r->c, a, a));
    rig_output(r, "scale", attend_scale(r->c, a, -0.75));
    rig_output(r, "sum", attend_sum(r->c, a));
}

static void build_activations(rig *r)
{
    attend_var *x = rig_weight(r, "x");
    rig_output(r, "tanh", attend_tanh(r->c, x));
    rig_output(r, "sigmoid", attend_sigmoid(r->c, x));
    rig_output(r, "relu", attend_relu(r->c, x));
    rig_output(r, "gelu", attend_gelu(r->c, x));
}

static void build_swiglu(rig *r)
{
    rig_output(r, "y", attend_swiglu(r->c, rig_weight(r, "ab")));
}

static void build_positions(rig *r)
{
    int count = 0;
    int *lengths = rig_integers(r, "lengths", &count);
    const attend_ragged *s = attend_ragged_new(r->c, count, lengths);
    free(lengths);
    const double scale = rig_number(r, "options", 0);
    const int first = (int)rig_number(r, "options", 1), heads = (int)rig_number(r, "options", 2);
    attend_var *x = rig_input(r, "x");
    rig_output(r, "sinusoids", attend_add_sinusoids(r->c, x, scale, s, first));
    rig_output(r, "rows", attend_add_learned_positions(r->c, x, scale, rig_weight(r, "table"), s, first));
    rig_output(r, "rotary", attend_rotary(r->c, x, s, heads, first));
}

static void build_embedding(rig *r)
{
    int count = 0;
    int *ids = rig_integers(r, "ids", &count);
    rig_output(r, "y", attend_gather(r->c, rig_weight(r, "table"), ids, count));
    free(ids);
}

static void build_rows(rig *r)
{
    int count = 0;
    int *ids = rig_integers(r, "ids", &count);
    attend_var *table = rig_weight(r, "table"), *a = rig_input(r, "a");
    attend_var *taken = attend_gather(r->c, table, ids, count);
    free(ids);
    rig_output(r, "gather", taken);
    rig_output(r, "concat", attend_concat(r->c, (attend_var *const[]){ a, taken, a }, 3));
    rig_output(r, "stack", attend_stack(r->c, (attend_var *const[]){ taken, table }, 2));
    rig_output(r, "slice", attend_slice(r->c, table, 2, 3));
    rig_output(r, "reshape", attend_reshape(r->c, a, 2, (const int[]){ 3, 5 }));
}

static void build_layer_norm(rig *r)
{
    attend_var *x = rig_input(r, "x");
    attend_var *y =
        attend_layer_norm(r->c, x, rig_weight(r, "gain"), rig_weight(r, "bias"), rig_number(r, "epsilon", 0));
    rig_output(r, "y", y);
}

/* A mean near 1000 has a rounding error of 3e-5 in float, which is 1e-3 of a deviation of 0.03; twice that is
 * allowed. A variance computed as mean(x x) - mean(x)^2 would be wrong: its terms have rounding errors of 0.06, its
 * value is 0.001. */
static void build_layer_norm_far(rig *r)
{
#ifdef ATTEND_DOUBLE
    r->tolerance = 1e-10;
#else
    r->tolerance = 2e-3;
#endif
    build_layer_norm(r);
}

static void cross_entropy(rig *r, attend_var *logits)
{
    int count = 0;
    int *targets = rig_integers(r, "targets", &count);
    attend_real *nll = calloc((size_t)count, sizeof *nll);
    assert_non_null(nll);
    attend_var *loss =
        attend_cross_entropy(r->c, logits, targets, rig_number(r, "options", 0), rig_number(r, "options", 1), nll);
    rig_output(r, "loss", loss);
    rig_compare(r, "nll", 1, &count, nll);
    free(nll);
    free(targets);
}

/* The logits are an input, or computed as in a model. */
static void build_cross_entropy(rig *r)
{
    cross_entropy(r, rig_input(r, "logits"));
}

static void build_cross_entropy_computed(rig *r)
{
    cross_entropy(r, attend_scale(r->c, attend_scale(r->c, rig_weight(r, "logits"), 0.5), 2.0));
}

typedef struct spec {
    const char *name;
    const char *golden;
    builder build;
} spec;

static const spec specs[] = {
    { "linear", "linear", build_linear },
    { "matmul", "matmul", build_matmul },
    { "elementwise", "elementwise", build_elementwise },
    { "activations", "activations", build_activations },
    { "swiglu", "swiglu", build_swiglu },
    { "positions", "positions", build_positions },
    { "embedding", "embedding", build_embedding },
    { "rows", "rows", build_rows },
    { "layer_norm", "layer_norm", build_layer_norm },
    { "layer_norm_flat", "layer_norm_flat", build_layer_norm },
    { "layer_norm_far", "layer_norm_far", build_layer_norm_far },
    { "cross_entropy", "cross_entropy", build_cross_entropy },
    { "cross_entropy_smoothed", "cross_entropy_smoothed", build_cross_entropy },
    { "cross_entropy_computed", "cross_entropy", build_cross_entropy_computed },
    { "cross_entropy_smoothed_computed", "cross_entropy_smoothed", build_cross_entropy_computed },
};

static void check_spec(const spec *s, rig_weights weights, const char *way)
{
    rig r;
    rig_open(&r, s->golden, weights, way);
    s->build(&r);
    rig_check(&r);
    rig_close(&r);
}

static void check_every_way(const void *user)
{
    check_spec(user, RIG_PARAMETERS, "parameters");
    check_spec(user, RIG_INPUTS, "variables");
}

static void test_spec(void **state)
{
    rig_every_table(check_every_way, *state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof specs / sizeof *specs];
    rig_directory(argc, argv);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        tests[i] = (struct CMUnitTest){ .name = specs[i].name,
                                        .test_func = test_spec,
                                        .initial_state = (void *)(uintptr_t)&specs[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
