#include "core/memory.h"
#include "core/rng.h"
#include "core/tape.h"
#include <string.h>

int attend_params_new(attend_params **out)
{
    *out = attend_memory_zeroed(1, sizeof **out);
    return *out ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for parameters");
}

static void param_free(attend_param *p)
{
    if (!p) return;
    for (int i = 0; i < 2; i++) attend_memory_free(p->packed[i].data);
    pthread_mutex_destroy(&p->lock);
    attend_memory_free(p->name);
    if (!p->borrowed) attend_memory_free(p->value);
    attend_memory_free(p);
}

void attend_params_free(attend_params *set)
{
    if (!set) return;
    for (int i = 0; i < set->count; i++) param_free(set->list[i]);
    attend_memory_free(set->list);
    attend_memory_free(set);
}

static int grow(attend_params *set)
{
    if (set->count < set->capacity) return ATTEND_OK;
    int capacity = set->capacity ? 2 * set->capacity : 16;
    attend_param **list = attend_memory_zeroed((size_t)capacity, sizeof *list);
    if (!list) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d parameters", capacity);
    if (set->count) memcpy(list, set->list, (size_t)set->count * sizeof *list);
    attend_memory_free(set->list);
    set->list = list;
    set->capacity = capacity;
    return ATTEND_OK;
}

int attend_params_add(attend_param **out, attend_params *set, const char *name, int rank, const int *shape)
{
    return attend_params_add_at(out, set, name, rank, shape, NULL);
}

int attend_params_add_at(attend_param **out, attend_params *set, const char *name, int rank, const int *shape,
                         real *value)
{
    if (out) *out = NULL;
    if (attend_params_find(set, name)) return attend_fail(ATTEND_BAD_USAGE, "parameter '%s' is there already", name);
    if (rank < 1 || rank > ATTEND_MAX_RANK)
        return attend_fail(ATTEND_BAD_USAGE, "parameter '%s': rank %d is not 1 to %d", name, rank, ATTEND_MAX_RANK);
    size_t size = 1;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 1 || size > PTRDIFF_MAX / sizeof(real) / (size_t)shape[i])
            return attend_fail(ATTEND_BAD_USAGE, "parameter '%s': axis %d of length %d makes no sense", name, i,
                               shape[i]);
        size *= (size_t)shape[i];
    }
    int status = grow(set);
    if (status != ATTEND_OK) return status;

    attend_param *p = attend_memory_zeroed(1, sizeof *p);
    if (!p) return attend_fail(ATTEND_NO_MEMORY, "no memory for parameter '%s'", name);
    pthread_mutex_init(&p->lock, NULL);
    p->index = set->count;
    p->rank = rank;
    memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
    p->size = size;
    p->name = attend_memory_zeroed(strlen(name) + 1, 1);
    p->borrowed = value != NULL;
    p->value = value ? value : attend_memory_aligned(size * sizeof(real));
    if (!p->name || !p->value) {
        param_free(p);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the %zu numbers of parameter '%s'", size, name);
    }
    memcpy(p->name, name, strlen(name) + 1);
    if (!p->borrowed) memset(p->value, 0, size * sizeof(real));
    set->list[set->count++] = p;
    if (out) *out = p;
    return ATTEND_OK;
}

int attend_params_count(const attend_params *set)
{
    return set->count;
}

attend_param *attend_params_at(const attend_params *set, int i)
{
    return i >= 0 && i < set->count ? set->list[i] : NULL;
}

attend_param *attend_params_find(const attend_params *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->list[i]->name, name) == 0) return set->list[i];
    return NULL;
}

size_t attend_params_size(const attend_params *set)
{
    size_t size = 0;
    for (int i = 0; i < set->count; i++) size += set->list[i]->size;
    return size;
}

const char *attend_param_name(const attend_param *p)
{
    return p->name;
}

int attend_param_rank(const attend_param *p)
{
    return p->rank;
}

int attend_param_dim(const attend_param *p, int axis)
{
    return axis >= 0 && axis < p->rank ? p->shape[axis] : 0;
}

size_t attend_param_size(const attend_param *p)
{
    return p->size;
}

const real *attend_param_value(const attend_param *p)
{
    return p->value;
}

real *attend_param_edit(attend_param *p)
{
    return p->value;
}

void attend_param_changed(attend_param *p)
{
    atomic_fetch_add(&p->version, 1);
}

void attend_param_fill_uniform(attend_param *p, uint64_t seed, double bound)
{
    /* FNV-1a of the name: another order of parameters gives the same numbers. */
    uint64_t stream = 0xcbf29ce484222325u;
    for (const char *s = p->name; *s; s++) stream = (stream ^ (unsigned char)*s) * 0x100000001b3u;
    const attend_rng rng = { .seed = seed, .stream = stream };
    for (size_t i = 0; i < p->size; i++) p->value[i] = (real)((2 * attend_rng_uniform(&rng, i) - 1) * bound);
    attend_param_changed(p);
}
