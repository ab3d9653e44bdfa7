/* check_score.c: checks the gradients of a score plug-in with one and two heads. It is linked with the source of the
 * plug-in and with the double-precision library:
 *     cc -std=c11 check_score.c l2_score.c $(pkg-config --cflags --libs attend_double) -lm -o check && ./check */
#include <attend/attend.h>
#include <stdio.h>

extern const attend_score_plugin attend_score_plugin_info; /* of the plug-in */
enum { WIDTH = 6, QUERIES = 3, KEYS = 7 };

typedef struct check_inputs {
    const attend_score *score;
    attend_param *keys, *queries, *previous, *parameters[ATTEND_SCORE_PARAMETERS];
    int heads;
} check_inputs;

/* Three queries attend to seven keys, which are also the values; the loss is the sum of the squared contexts. */
static attend_var *loss(attend_ctx *c, void *user)
{
    const check_inputs *x = user;
    attend_var *w[ATTEND_SCORE_PARAMETERS] = { NULL };
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS && x->parameters[i]; i++) w[i] = attend_parameter(c, x->parameters[i]);
    const attend_ragged *queries = attend_ragged_new(c, 1, (const int[]){ QUERIES }), *keys = attend_ragged_new(c, 1, (const int[]){ KEYS });
    const attend_attention_options options = { .score = x->score, .heads = x->heads };
    const int shape[] = { 1, 1, QUERIES, KEYS };
    const attend_attention_inputs inputs = { .previous = x->previous ? attend_reshape(c, attend_parameter(c, x->previous), 4, shape) : NULL };
    attend_source *s = attend_source_new(c, &options, w, attend_parameter(c, x->keys), NULL, keys);
    attend_var *context = attend_attention(c, s, attend_parameter(c, x->queries), queries, &inputs, NULL);
    return attend_sum(c, attend_mul(c, context, context));
}

static int make_inputs(check_inputs *x, attend_params *set)
{
    const attend_widths widths = { .query = WIDTH, .key = WIDTH, .value = WIDTH, .heads = x->heads, .key_heads = x->heads,
                                   .attention = WIDTH, .max_keys = KEYS, .filters = 2, .filter_size = 3 };
    int status = attend_params_add(&x->keys, set, "keys", 2, (const int[]){ KEYS, WIDTH });
    if (!status) status = attend_params_add(&x->queries, set, "queries", 2, (const int[]){ QUERIES, WIDTH });
    if (!status && x->score->needs_previous_weights) status = attend_params_add(&x->previous, set, "previous", 2, (const int[]){ QUERIES, KEYS });
    for (int i = 0; !status && x->score->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter p = x->score->parameter(&widths, i);
        if (!p.name) break;
        status = attend_params_add(&x->parameters[i], set, p.name, p.rank, p.shape);
    }
    for (int i = 0; !status && i < attend_params_count(set); i++) attend_param_fill_uniform(attend_params_at(set, i), 5, 1.0);
    return status;
}

int main(void)
{
    const attend_score *score = attend_score_plugin_info.score;
    int status = attend_score_register(score);
    bool correct = true;
    for (int heads = 1; !status && heads <= (score->needs_previous_weights ? 1 : 2); heads++) {
        check_inputs x = { .score = score, .heads = heads };
        attend_params *set = NULL;
        attend_check check = { 0 };
        status = attend_params_new(&set);
        if (!status) status = make_inputs(&x, set);
        if (!status) status = attend_check_gradients(&check, set, loss, &x, 0);
        if (!status) printf("%s, %d head%s: %zu derivatives, maximum error %.1e\n", score->name, heads, heads > 1 ? "s" : "", check.elements, check.worst);
        correct = correct && check.elements > 0 && check.worst < 1e-6;
        attend_params_free(set);
    }
    if (status) fprintf(stderr, "check_score: %s\n", attend_message());
    return status || !correct;
}
