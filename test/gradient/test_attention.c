/* Gradients of attention: every score x window x selection x mask, with ragged and empty sequences of queries and
 * keys, several heads and shared key heads, through the context and through the weights. */
#include "gradient/gradient.h"

enum { COUNT = 4 };
static const int query_lengths[COUNT] = { 3, 1, 0, 4 };
static const int key_lengths[COUNT] = { 4, 2, 3, 5 };
enum { QUERIES = 8, KEYS = 14, MAX_QUERIES = 4, MAX_KEYS = 5 };

typedef enum mask_kind {
    MASK_NONE,
    MASK_CAUSAL,
    MASK_ALLOWED,
    MASK_BIAS,
    MASK_BIAS_SHARED,
    MASK_CAP_ALL,
    MASK_KINDS
} mask_kind;
static const char *const mask_names[] = { "",       ", causal",      ", boolean",
                                          ", bias", ", shared bias", ", cap, causal, boolean, bias, dropout" };
static const char *const window_names[] = { "", ", local-m", ", local-p" };
static const char *const selection_names[] = { "", ", sparsemax", ", entmax-1.5" };

typedef struct setting {
    attend_attention_options options;
    mask_kind mask;
    bool weights_only, shared_values;
    attend_param *query, *keys, *values, *bias, *previous, *wp, *vp;
    attend_param *parameters[ATTEND_SCORE_PARAMETERS];
} setting;

static attend_var *loss_of(attend_ctx *c, void *user)
{
    setting *s = user;
    static unsigned char allowed[MAX_QUERIES * MAX_KEYS];
    for (int i = 0; i < MAX_QUERIES * MAX_KEYS; i++)
        allowed[i] = (unsigned char)(i / MAX_KEYS == 1 ? 0 : i % 3 != 1); /* query 1 sees no key */
    attend_var *w[ATTEND_SCORE_PARAMETERS] = { NULL };
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS && s->parameters[i]; i++) w[i] = attend_parameter(c, s->parameters[i]);
    const attend_ragged *k = attend_ragged_new(c, COUNT, key_lengths), *q = attend_ragged_new(c, COUNT, query_lengths);
    attend_var *query = attend_parameter(c, s->query), *weights = NULL;
    attend_attention_inputs in = { .first_position = 1 };
    if (s->mask == MASK_ALLOWED || s->mask == MASK_CAP_ALL) {
        in.allowed = allowed;
        memcpy(in.allowed_shape, (const int[]){ 1, 1, MAX_QUERIES, MAX_KEYS }, sizeof in.allowed_shape);
    }
    if (s->bias) in.bias = attend_parameter(c, s->bias);
    if (s->previous) in.previous = attend_parameter(c, s->previous);
    if (s->wp) in.position = attend_window_position(c, query, attend_parameter(c, s->wp), attend_parameter(c, s->vp));
    const attend_source *source = attend_source_new(c, &s->options, w, attend_parameter(c, s->keys),
                                                    s->shared_values ? NULL : attend_parameter(c, s->values), k);
    attend_var *context = attend_attention(c, source, query, q, &in, &weights);
    attend_var *loss = weighted_sum(c, weights, 2);
    return s->weights_only ? loss : attend_add(c, weighted_sum(c, context, 1), loss);
}

static void check(setting s, const char *extra)
{
    const attend_score *score = s.options.score;
    const int heads = s.options.heads, key_heads = s.options.key_heads;
    bool dot = score->check_tile && !score->parameter; /* uses queries and keys without mapping */
    attend_widths w = { .query = heads * (dot ? 3 : 2),
                        .key = key_heads * 3,
                        .value = key_heads * 2,
                        .heads = heads,
                        .key_heads = key_heads,
                        .attention = heads * 2,
                        .max_keys = MAX_KEYS + 1,
                        .filters = 2,
                        .filter_size = 3 };
    if (s.shared_values) w.value = w.key;
    char name[200];
    snprintf(name, sizeof name, "%s%s%s%s%s", score->name, window_names[s.options.window],
             selection_names[s.options.selection], mask_names[s.mask], extra);
    attend_params *set = NULL;
    assert_int_equal(attend_params_new(&set), ATTEND_OK);
    s.query = matrix(set, "query", QUERIES, w.query);
    s.keys = matrix(set, "keys", KEYS, w.key);
    if (!s.shared_values) s.values = matrix(set, "values", KEYS, w.value);
    for (int i = 0; score->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        attend_score_parameter p = score->parameter(&w, i);
        if (!p.name) break;
        s.parameters[i] = parameter(set, p.name, p.rank, p.shape[0], p.shape[1], 0);
    }
    int shape[4] = { COUNT, heads, MAX_QUERIES, MAX_KEYS };
    if (s.mask == MASK_BIAS_SHARED) shape[0] = shape[1] = 1;
    if (s.mask >= MASK_BIAS) {
        assert_int_equal(attend_params_add(&s.bias, set, "bias", 4, shape), ATTEND_OK);
        attend_param_fill_uniform(s.bias, 5, 1);
    }
    shape[0] = COUNT, shape[1] = 1;
    if (score->needs_previous_weights) {
        assert_int_equal(attend_params_add(&s.previous, set, "previous", 4, shape), ATTEND_OK);
        attend_param_fill_uniform(s.previous, 5, 1);
    }
    if (s.options.window == ATTEND_WINDOW_LOCAL_P) s.wp = matrix(set, "wp", 3, w.query), s.vp = matrix(set, "vp", 1, 3);
    s.options.causal = s.mask == MASK_CAUSAL || (s.mask == MASK_CAP_ALL && s.options.window != ATTEND_WINDOW_LOCAL_P);
    if (s.mask == MASK_CAP_ALL) s.options.soft_cap = 1.5, s.options.dropout = 0.3;
    assert_gradients(name, set, loss_of, &s);
    attend_params_free(set);
}

static setting base(const attend_score *score, int heads, int key_heads)
{
    setting s = { .options = ATTEND_ATTENTION_OPTIONS_INIT };
    s.options.score = score;
    s.options.heads = heads;
    s.options.key_heads = key_heads;
    s.options.window_size = 2;
    return s;
}

static void test_every_combination(void **state)
{
    (void)state;
    for (const attend_score *const *score = attend_scores; *score; score++)
        for (int window = ATTEND_WINDOW_GLOBAL; window <= ATTEND_WINDOW_LOCAL_P; window++)
            for (int selection = ATTEND_SELECT_SOFT; selection <= ATTEND_SELECT_ENTMAX15; selection++)
                for (int mask = MASK_NONE; mask < MASK_KINDS; mask++) {
                    if (window == ATTEND_WINDOW_LOCAL_P && mask == MASK_CAUSAL) continue; /* refused */
                    setting s = base(*score, 1, 1);
                    s.options.window = (attend_window)window;
                    s.options.selection = (attend_selection)selection;
                    s.mask = (mask_kind)mask;
                    check(s, "");
                    s.options.recompute = true;
                    check(s, ", recomputed");
                }
}

static void test_heads(void **state)
{
    (void)state;
    for (const attend_score *const *score = attend_scores; *score; score++) {
        if ((*score)->needs_previous_weights) continue; /* one head only */
        for (int mask = MASK_NONE; mask < MASK_KINDS; mask++) {
            setting s = base(*score, 4, 2);
            s.mask = (mask_kind)mask;
            check(s, ", 4 heads on 2");
        }
        setting s = base(*score, 2, 2);
        s.weights_only = true;
        check(s, ", 2 heads, weights only");
        s = base(*score, 1, 1);
        s.shared_values = true;
        check(s, ", values are the keys");
        s = base(*score, 1, 1);
        s.options.scale = 0.7;
        check(s, ", scale 0.7");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_combination), cmocka_unit_test(test_heads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
