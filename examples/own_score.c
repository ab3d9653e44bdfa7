/* own_score.c: a score outside the library, the cosine with a learned temperature:  e(q, k) = exp(t) q.k / (|q| |k|)
 * docs/tutorials/own-score.md explains it. Linked with libattend_double (-DATTEND_DOUBLE), it checks its gradients. */
#include <attend/attend.h>
#include <math.h>
#include <stdio.h>

static attend_score_parameter parameter(const attend_widths *w, int i)
{
    return w && i == 0 ? (attend_score_parameter){ "t", 1, { 1, 0 } } : (attend_score_parameter){ 0 };
}

static const char *check_tile(const attend_tile *t)
{
    return t->query_width == t->key_width && t->shapes[0][0] == 1 ? NULL : "queries and keys differ in width, or t is not a scalar";
}

/* e of query i and key j, and terms of its gradient: r = exp(t) / (|q| |k|) (0 if q or k is zero), u = q.q, v = k.k */
static double score(const attend_tile *t, size_t i, size_t j, double *r, double *u, double *v)
{
    const attend_real *q = t->query + i * t->query_stride, *k = t->key + j * t->key_stride;
    double qk = *u = *v = 0; /* double, since the squared norm may overflow a float */
    for (int l = 0; l < t->query_width; l++)
        *u += (double)q[l] * (double)q[l], *v += (double)k[l] * (double)k[l], qk += (double)q[l] * (double)k[l];
    *r = *u > 0 && *v > 0 ? t->scale * exp((double)t->parameters[0][0]) / (sqrt(*u) * sqrt(*v)) : 0;
    return *r * qk;
}

static void tile(const attend_tile *t)
{
    double r, u, v;
    for (size_t i = 0; i < (size_t)t->queries; i++)
        for (size_t j = 0; j < (size_t)t->keys; j++) t->score[i * t->score_stride + j] = (attend_real)score(t, i, j, &r, &u, &v);
}

/* de/dt = e      de/dq = r k - e q / q.q      de/dk = r q - e k / k.k */
static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    for (size_t i = 0; i < (size_t)t->queries; i++)
        for (size_t j = 0; j < (size_t)t->keys; j++) {
            double r, u, v, e = score(t, i, j, &r, &u, &v), de = (double)g->score[i * t->score_stride + j];
            if (de == 0 || r == 0) continue; /* skip masked keys, which may contain NaN */
            if (g->parameters[0]) g->parameters[0][0] += (attend_real)(de * e);
            for (size_t l = 0, a = i * t->query_stride, b = j * t->key_stride; l < (size_t)t->query_width; l++, a++, b++) {
                if (g->query) g->query[a] += (attend_real)(de * (r * (double)t->key[b] - e * (double)t->query[a] / u));
                if (g->key) g->key[b] += (attend_real)(de * (r * (double)t->query[a] - e * (double)t->key[b] / v));
            }
        }
}

static const attend_score cosine = { .name = "cosine", .formula = "exp(t) q.k / (|q| |k|)", .parameter = parameter,
                                     .check_tile = check_tile, .tile_parameters = 1u << 0, .tile = tile, .tile_backward = tile_backward };
static attend_param *temperature, *keys, *queries;
/* Three queries attend to seven keys, which are also the values; the loss is the sum of the squared contexts. */
static attend_var *loss(attend_ctx *c, void *user)
{
    attend_var *w[] = { attend_parameter(c, temperature) }, **weights = user;
    const attend_ragged *three = attend_ragged_new(c, 1, (const int[]){ 3 }), *seven = attend_ragged_new(c, 1, (const int[]){ 7 });
    attend_source *s = attend_source_new(c, &(attend_attention_options){ .score = &cosine }, w, attend_parameter(c, keys), NULL, seven);
    attend_var *context = attend_attention(c, s, attend_parameter(c, queries), three, NULL, weights);
    return attend_sum(c, attend_mul(c, context, context));
}

int main(void)
{
    attend_params *set = NULL;
    attend_ctx *c = NULL;
    attend_var *weights = NULL;
    attend_check check = { 0 };
    int status = attend_params_new(&set) || attend_params_add(&temperature, set, "t", 1, (const int[]){ 1 }) || attend_ctx_new(&c) ||
                 attend_params_add(&keys, set, "keys", 2, (const int[]){ 7, 6 }) ||
                 attend_params_add(&queries, set, "queries", 2, (const int[]){ 3, 6 });
    for (int i = 0; !status && i < 3; i++) attend_param_fill_uniform(attend_params_at(set, i), 5, 1.0);
    if (!status && !loss(c, &weights)) status = attend_ctx_status(c);
    for (int i = 0; !status && i < 3 * 7; i++) printf("%.4f%c", (double)attend_value(weights)[i], i % 7 < 6 ? ' ' : '\n');
    if (!status && sizeof(attend_real) == sizeof(double)) status = attend_check_gradients(&check, set, loss, &weights, 0);
    if (status) fprintf(stderr, "own_score: %s\n", attend_message());
    attend_ctx_free(c), attend_params_free(set);
    return status || printf("%zu derivatives, maximum error %.1e\n", check.elements, check.worst) < 0 || !(check.worst < 1e-6);
}
