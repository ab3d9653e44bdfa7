/* scores.c: the list of scores. A new built-in score is a file of its own and an entry here; scores of the user are
 * registered. */
#include <attend/score.h>

#include "core/fork_lock.h"
#include "core/status.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

const attend_score *const attend_scores[] = {
    &attend_score_dot,       &attend_score_scaled_dot, &attend_score_bilinear,           &attend_score_additive,
    &attend_score_projected, &attend_score_location,   &attend_score_location_sensitive, NULL,
};

/* Registered scores. Entries are written under the lock, before the count; they never change afterwards, so that they
 * are read without it. */
static const attend_score *own[ATTEND_MAX_OWN_SCORES];
static atomic_int own_count;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

/* The i-th score: built in, then registered; NULL after the last. */
static const attend_score *score_at(int i)
{
    enum { BUILT_IN = sizeof attend_scores / sizeof *attend_scores - 1 };
    if (i < BUILT_IN) return attend_scores[i];
    return i - BUILT_IN < atomic_load_explicit(&own_count, memory_order_acquire) ? own[i - BUILT_IN] : NULL;
}

const attend_score *attend_score_find(const char *name)
{
    ATTEND_REQUIRE(NULL, name);
    const attend_score *s;
    for (int i = 0; (s = score_at(i)); i++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}

size_t attend_score_names(char *out, size_t size)
{
    ATTEND_REQUIRE(0, out || size == 0);
    const attend_score *s;
    size_t used = 0;
    for (int i = 0; (s = score_at(i)); i++) {
        const size_t left = used < size ? size - used : 0;
        used += (size_t)snprintf(left ? out + used : NULL, left, "%s%s", used ? "|" : "", s->name);
    }
    return used;
}

/* ---- registering ---- */

/* Names are written to model files and command lines. */
static bool is_valid_name(const char *name)
{
    enum { MAX_NAME = 40 };
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const size_t length = name ? strnlen(name, MAX_NAME + 1) : 0;
    return length >= 1 && length <= MAX_NAME && strspn(name, plain) == length && strcmp(name, "none") != 0;
}

/* Parameters with widths that any score must accept. */
static bool has_valid_parameters(const attend_score *score)
{
    const attend_widths w = { .query = 8,
                              .key = 8,
                              .value = 8,
                              .heads = 1,
                              .key_heads = 1,
                              .attention = 8,
                              .max_keys = 8,
                              .filters = 1,
                              .filter_size = 1 };
    int i = 0;
    for (; score->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter p = score->parameter(&w, i);
        if (!p.name) break;
        if (!is_valid_name(p.name) || p.rank < 1 || p.rank > 2) return false;
    }
    return (score->tile_parameters | score->linear_parameters) >> i == 0;
}

static int check(const attend_score *score)
{
    if (!is_valid_name(score->name))
        return attend_fail(ATTEND_BAD_USAGE,
                           "the name of a score function must be 1 to 40 letters, digits, '-', '_' or "
                           "'.', and not none");
    if (!score->formula || !score->tile || !score->tile_backward || !score->cache_keys != !score->cache_size)
        return attend_fail(ATTEND_BAD_USAGE,
                           "the score function '%s' needs formula, tile and tile_backward, and both or "
                           "none of cache_size and cache_keys",
                           score->name);
    if (!has_valid_parameters(score))
        return attend_fail(ATTEND_BAD_USAGE,
                           "a parameter of the score function '%s' has no valid name, or not rank 1 or "
                           "2; or tile_parameters or linear_parameters has the bit of a parameter that "
                           "does not exist",
                           score->name);
    return ATTEND_OK;
}

/* Called with the lock. */
static int add(const attend_score *score)
{
    const attend_score *same = attend_score_find(score->name);
    const int count = atomic_load_explicit(&own_count, memory_order_relaxed);
    if (same == score) return ATTEND_OK;
    if (same)
        return attend_fail(ATTEND_BAD_USAGE, "there is already a score function '%s'; choose another name",
                           score->name);
    if (count == ATTEND_MAX_OWN_SCORES)
        return attend_fail(ATTEND_BAD_USAGE, "there are already %d registered score functions", count);
    own[count] = score;
    atomic_store_explicit(&own_count, count + 1, memory_order_release);
    return ATTEND_OK;
}

int attend_score_register(const attend_score *score)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, score);
    int status = check(score);
    if (status != ATTEND_OK) return status;
    attend_fork_lock(&own_lock);
    status = add(score);
    attend_fork_unlock(&own_lock);
    return status;
}
