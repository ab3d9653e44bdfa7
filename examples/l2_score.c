/* l2_score.c: a score plug-in, the negative squared distance:  e(q, k) = -|q - W k|^2 / sqrt(d)
 *     cc -std=c11 -O2 -shared -fPIC l2_score.c $(pkg-config --cflags attend) -o l2.so
 *     attend train --train pairs.tsv --model m --score-plugin ./l2.so
 * docs/add-a-score.md explains it. check_score.c checks its gradients. */
#include <attend/score_plugin.h>
#include <math.h>

/* Queries and keys may differ in width: W maps a key to the width of a query head. */
static attend_score_parameter parameter(const attend_widths *w, int i)
{
    if (i > 0) return (attend_score_parameter){ 0 };
    return (attend_score_parameter){ "w", 2, { w->query / w->heads * w->key_heads, w->key } };
}

static attend_var *prepare_keys(attend_ctx *c, attend_var *const *w, attend_var *keys)
{
    return attend_linear(c, keys, w[0], NULL);
}

static const char *check_tile(const attend_tile *t)
{
    return t->query_width == t->key_width ? NULL : "w must map keys to the width of queries";
}

static double default_scale(int query_width)
{
    return query_width > 0 ? 1 / sqrt((double)query_width) : 1;
}

static void tile(const attend_tile *t)
{
    for (size_t i = 0; i < (size_t)t->queries; i++)
        for (size_t j = 0; j < (size_t)t->keys; j++) {
            const attend_real *q = t->query + i * t->query_stride, *k = t->key + j * t->key_stride;
            double sum = 0;
            for (int l = 0; l < t->query_width; l++) sum += ((double)q[l] - (double)k[l]) * ((double)q[l] - (double)k[l]);
            t->score[i * t->score_stride + j] = (attend_real)(-t->scale * sum);
        }
}

/* de/dq = -2 scale (q - k) = -de/dk */
static void tile_backward(const attend_tile *t, const attend_tile_gradients *g)
{
    for (size_t i = 0; i < (size_t)t->queries; i++)
        for (size_t j = 0; j < (size_t)t->keys; j++) {
            const double de = -2 * t->scale * (double)g->score[i * t->score_stride + j];
            if (de == 0) continue; /* skip masked keys, which may contain NaN */
            for (size_t l = 0, a = i * t->query_stride, b = j * t->key_stride; l < (size_t)t->query_width; l++, a++, b++) {
                const attend_real x = (attend_real)(de * ((double)t->query[a] - (double)t->key[b]));
                if (g->query) g->query[a] += x;
                if (g->key) g->key[b] -= x;
            }
        }
}

static const attend_score l2 = { .name = "l2", .formula = "-|q - W k|^2 / sqrt(d)", .parameter = parameter,
                                 .prepare_keys = prepare_keys, .linear_parameters = 1u << 0, .check_tile = check_tile,
                                 .default_scale = default_scale, .tile = tile, .tile_backward = tile_backward };
ATTEND_SCORE_PLUGIN(l2);
