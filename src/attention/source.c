/* source.c: keys and values, checked and prepared once for all queries. */
#include "attention/source.h"

#include "op/ragged.h"
#include <limits.h>
#include <math.h>
#include <string.h>

enum { MIN_CACHED_QUERIES = 8 }; /* with fewer queries, caching the keys costs more than it saves */

/* ---- options ---- */

static bool refuse(attend_ctx *c, const char *why)
{
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "attention options: %s", why);
    return false;
}

static device_score tile_functions(const attend_score *s)
{
    return (device_score){ .tile_parameters = s->tile_parameters,
                           .cache_keys = s->cache_keys,
                           .scratch_size = s->scratch_size,
                           .tile = s->tile,
                           .tile_backward = s->tile_backward };
}

/* Returns false if the device cannot compute the score. */
static bool score_runs(attend_ctx *c, const attend_score *score)
{
    const device_score d = tile_functions(score);
    if (attend_device_of(c)->runs_score(&d)) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE,
                    "attention options: score %s is not one of attend_scores; its tile functions run on the CPU, and "
                    "the device '%s' has memory of its own: use a built-in score, or the device 'cpu', or give the "
                    "score a version for this device (docs/add-a-score.md)",
                    score->name, c->memory->name);
    return false;
}

bool attend_attention_options_resolve(attend_ctx *c, attend_attention_options *o)
{
    if (!o->score) o->score = &attend_score_scaled_dot;
    if (!o->score->tile || !o->score->tile_backward || !o->score->cache_keys != !o->score->cache_size)
        return refuse(c, "a score needs tile and tile_backward, and both or none of cache_size and cache_keys");
    if (!score_runs(c, o->score)) return false;
    if (o->heads == 0) o->heads = 1;
    if (o->key_heads == 0) o->key_heads = o->heads;
    if (o->heads < 1 || o->key_heads < 1 || o->heads % o->key_heads != 0) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attention options: %d heads is not a multiple of %d key heads", o->heads,
                        o->key_heads);
        return false;
    }
    if (o->window != ATTEND_WINDOW_GLOBAL && o->window_size < 1)
        return refuse(c, "a local window needs window_size >= 1");
    if (o->window < ATTEND_WINDOW_GLOBAL || o->window > ATTEND_WINDOW_LOCAL_P) return refuse(c, "unknown window");
    if (o->selection < ATTEND_SELECT_SOFT || o->selection > ATTEND_SELECT_HARD) return refuse(c, "unknown selection");
    if (o->window == ATTEND_WINDOW_LOCAL_P && o->causal)
        return refuse(c, "a local-p window cannot be combined with a causal mask");
    if (o->window == ATTEND_WINDOW_LOCAL_P && o->selection == ATTEND_SELECT_HARD)
        return refuse(
            c, "hard selection cannot be combined with a local-p window, whose Gaussian would scale the one key");
    if (o->estimator < ATTEND_STRAIGHT_THROUGH || o->estimator > ATTEND_REINFORCE)
        return refuse(c, "unknown estimator");
    if (o->selection == ATTEND_SELECT_HARD && o->estimator == ATTEND_STRAIGHT_THROUGH &&
        !(o->temperature >= 1e-6 && o->temperature <= 1e6))
        return refuse(c, "the temperature must be from 1e-6 to 1e6");
    if (!isfinite(o->entropy_bonus)) return refuse(c, "the entropy bonus is not finite");
    if (o->selection == ATTEND_SELECT_HARD && o->dropout > 0)
        return refuse(c, "hard selection cannot be combined with dropout, which would drop the one key");
    if (!(o->dropout >= 0 && o->dropout < 1)) return refuse(c, "dropout must be in [0, 1)");
    if (o->soft_cap != 0 && !(o->soft_cap >= 1e-6 && o->soft_cap <= 1e12))
        return refuse(c, "the soft cap must be 0 (none) or from 1e-6 to 1e12");
    if (!isfinite(o->scale)) return refuse(c, "the scale is not finite");
    if (o->score->needs_previous_weights && o->heads != 1)
        return refuse(c, "a score that needs the previous weights must have one head");
    return true;
}

/* ---- parameters ---- */

static bool parameters_fit(attend_ctx *c, attend_source *s, attend_var *const *given, const attend_var *keys,
                           const attend_var *values)
{
    const attend_score *score = s->options.score;
    const attend_widths w = { .query = 1,
                              .key = keys->shape[1],
                              .value = values->shape[1],
                              .heads = s->options.heads,
                              .key_heads = s->options.key_heads }; /* only names and ranks are used, not shapes */
    if (!score->parameter) return true;
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter p = score->parameter(&w, i);
        if (!p.name) break;
        if (!given || !given[i] || given[i]->rank != p.rank) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE,
                            "attention with score %s: parameter %d, '%s', is missing or does not have rank %d",
                            score->name, i, p.name, p.rank);
            return false;
        }
        if (!attend_check_weight(c, "attend_source_new", given[i])) return false;
        s->parameters[i] = given[i];
        s->d.parameter_count = i + 1;
    }
    return true;
}

/* ---- cache ---- */

bool attend_attention_source_cache(attend_ctx *c, attend_source *s, int queries)
{
    const attend_score *score = s->options.score;
    device_source *d = &s->d;
    const int groups = d->count * d->key_heads;
    if (!score->cache_keys || queries < MIN_CACHED_QUERIES) return true;
    real **cache = attend_ctx_alloc(c, (size_t)groups, sizeof *cache);
    for (int i = 0; cache && i < groups; i++)
        cache[i] = attend_ctx_alloc_reals(c, score->cache_size(d->key_rows.lengths[i / d->key_heads], d->key_width));
    if (c->status != ATTEND_OK) return false;
    d->cache = cache;
    attend_device_of(c)->cache_keys(&c->compute, d);
    return true;
}

/* ---- the source ---- */

void attend_attention_source_describe(attend_source *s)
{
    const attend_attention_options *o = &s->options;
    device_source *d = &s->d;
    d->score = tile_functions(o->score);
    d->heads = o->heads, d->key_heads = o->key_heads;
    d->window = o->window, d->window_size = o->window_size;
    d->soft_cap = o->soft_cap, d->causal = o->causal;
    d->keys = s->keys->value, d->values = s->values->value;
    for (int i = 0; i < d->parameter_count; i++) {
        d->parameters[i] = s->parameters[i]->value;
        d->parameter_sizes[i] = s->parameters[i]->size;
        memcpy(d->parameter_shapes[i], s->parameters[i]->shape, sizeof d->parameter_shapes[i]);
    }
}

attention_rows attend_attention_packed_rows(const attend_var *v, int heads, const attend_ragged *sequences)
{
    size_t row = (size_t)v->shape[1];
    return (attention_rows){
        .head = row / (size_t)heads, .row = row, .offsets = sequences->offsets, .lengths = sequences->lengths
    };
}

/* Groups (a key head of a sequence) and columns of the context are counted in int. */
static bool sizes_fit(attend_ctx *c, const char *name, const attend_source *s)
{
    const attend_attention_options *o = &s->options;
    if ((int64_t)s->d.count * o->key_heads <= INT_MAX && (int64_t)o->heads * s->d.value_width <= INT_MAX) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %d sequences, %d heads and values of width %d are too large together",
                    name, s->d.count, o->heads, s->d.value_width);
    return false;
}

attend_source *attend_source_new(attend_ctx *c, const attend_attention_options *options, attend_var *const *parameters,
                                 attend_var *keys, attend_var *values, const attend_ragged *sequences)
{
    static const char name[] = "attend_source_new";
    if (!values) values = keys;
    if (!attend_check_inputs(c, name, 2, keys, values)) return NULL;
    if (!options) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the options are NULL", name);
    if (!attend_ragged_fits(c, name, sequences, keys) || !attend_ragged_fits(c, name, sequences, values)) return NULL;
    attend_source *s = attend_ctx_alloc(c, 1, sizeof *s);
    if (!s) return NULL;
    *s = (attend_source){ .options = *options, .d = { .count = sequences->count, .max_keys = sequences->max_length } };
    if (!attend_attention_options_resolve(c, &s->options) || !parameters_fit(c, s, parameters, keys, values))
        return NULL;

    const attend_score *score = s->options.score;
    s->keys = score->prepare_keys ? score->prepare_keys(c, s->parameters, keys) : keys;
    s->values = score->prepare_values ? score->prepare_values(c, s->parameters, values) : values;
    if (!s->keys || !s->values) return NULL;
    int heads = s->options.key_heads;
    if (s->keys->shape[1] % heads != 0 || s->values->shape[1] % heads != 0)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "%s: keys of width %d and values of width %d cannot be divided into %d heads", name,
                               s->keys->shape[1], s->values->shape[1], heads);
    s->d.key_width = s->keys->shape[1] / heads;
    s->d.value_width = s->values->shape[1] / heads;
    s->d.key_rows = attend_attention_packed_rows(s->keys, heads, sequences);
    s->d.value_rows = attend_attention_packed_rows(s->values, heads, sequences);
    s->keys->needed = s->values->needed = true;
    attend_attention_source_describe(s);
    return sizes_fit(c, name, s) && attend_attention_source_cache(c, s, MIN_CACHED_QUERIES) ? s : NULL;
}

attend_source *attend_source_joint(attend_ctx *c, const attend_attention_options *options, attend_var *joint, int at,
                                   int width, const attend_ragged *sequences)
{
    static const char name[] = "attend_source_joint";
    if (!attend_check_inputs(c, name, 1, joint) || !attend_ragged_fits(c, name, sequences, joint)) return NULL;
    attend_source *s = attend_ctx_alloc(c, 1, sizeof *s);
    if (!s) return NULL;
    *s = (attend_source){ .options = *options,
                          .keys = joint,
                          .values = joint,
                          .d = { .count = sequences->count, .max_keys = sequences->max_length } };
    if (!attend_attention_options_resolve(c, &s->options)) return NULL;
    const attend_score *score = s->options.score;
    const int heads = s->options.key_heads;
    if (score->parameter || score->prepare_keys || score->prepare_values || score->prepare_queries || score->finish ||
        width % heads != 0 || at + 2 * width > joint->shape[1])
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: score %s cannot use columns %d to %d of %d with %d heads",
                               name, score->name, at, at + 2 * width, joint->shape[1], heads);
    device_source *d = &s->d;
    d->key_width = d->value_width = width / heads;
    d->key_rows = attend_attention_packed_rows(joint, heads, sequences);
    d->key_rows.head = (size_t)d->key_width;
    d->value_rows = d->key_rows;
    d->key_rows.first = (size_t)at;
    d->value_rows.first = (size_t)at + (size_t)width;
    joint->needed = true;
    attend_attention_source_describe(s);
    return sizes_fit(c, name, s) && attend_attention_source_cache(c, s, MIN_CACHED_QUERIES) ? s : NULL;
}
