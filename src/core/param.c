#include "core/status.h"
#include "core/memory.h"
#include "core/precision.h"
#include "core/rng.h"
#include "core/tape.h"
#include <string.h>

int attend_params_new(attend_params **out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = attend_memory_zeroed(1, sizeof **out);
    return *out ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for parameters");
}

static void free_storage(attend_param *p)
{
    if (!p->borrowed) {
        attend_memory_free(p->value);
        attend_memory_free((void *)(uintptr_t)p->quantized);
        attend_memory_free((void *)(uintptr_t)p->scales);
    }
    p->value = NULL, p->quantized = NULL, p->scales = NULL;
}

void attend_param_drop_copies(attend_param *p)
{
    for (int i = 0; i < 2; i++) {
        attend_memory_free(p->cache[i].data);
        p->cache[i] = (param_cache){ 0 };
    }
}

static void param_free(attend_param *p)
{
    if (!p) return;
    attend_param_drop_copies(p);
    pthread_mutex_destroy(&p->lock);
    attend_memory_free(p->name);
    free_storage(p);
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
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, set && name && (shape || rank < 1));
    return attend_params_add_stored(out, set, name, rank, shape, NULL);
}

/* The size of a shape; 0 and a message if the shape is invalid. */
static size_t size_of(const char *name, int rank, const int *shape)
{
    size_t size = 1;
    if (rank < 1 || rank > ATTEND_MAX_RANK) {
        attend_fail(ATTEND_BAD_USAGE, "parameter '%s': rank %d is out of range, 1 to %d", name, rank, ATTEND_MAX_RANK);
        return 0;
    }
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 1 || size > PTRDIFF_MAX / sizeof(real) / (size_t)shape[i]) {
            attend_fail(ATTEND_BAD_USAGE,
                        "parameter '%s': axis %d has length %d, which is below 1 or makes the parameter too large",
                        name, i, shape[i]);
            return 0;
        }
        size *= (size_t)shape[i];
    }
    return size;
}

/* Adds p, which owns its storage already, to the set. */
static int add(attend_params *set, attend_param *p, const char *name, int rank, const int *shape, bool zeros)
{
    if (attend_params_find(set, name))
        return attend_fail(ATTEND_BAD_USAGE, "parameter '%s' already exists in the set", name);
    p->size = size_of(name, rank, shape);
    if (p->size == 0) return ATTEND_BAD_USAGE;
    int status = grow(set);
    if (status != ATTEND_OK) return status;
    p->index = set->count;
    p->rank = rank;
    memcpy(p->shape, shape, (size_t)rank * sizeof *shape);
    p->name = attend_memory_zeroed(strlen(name) + 1, 1);
    if (zeros) p->value = attend_memory_aligned(p->size * sizeof(real));
    if (!p->name || (zeros && !p->value))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the %zu numbers of parameter '%s'", p->size, name);
    memcpy(p->name, name, strlen(name) + 1);
    if (zeros) memset(p->value, 0, p->size * sizeof(real));
    set->list[set->count++] = p;
    return ATTEND_OK;
}

int attend_params_add_stored(attend_param **out, attend_params *set, const char *name, int rank, const int *shape,
                             const param_storage *storage)
{
    if (out) *out = NULL;
    attend_param *p = attend_memory_zeroed(1, sizeof *p);
    if (!p) {
        attend_param owner = { 0 }; /* frees the storage, as a failure after this point does */
        if (storage) attend_param_set_storage(&owner, storage);
        free_storage(&owner);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for parameter '%s'", name);
    }
    pthread_mutex_init(&p->lock, NULL);
    if (storage) attend_param_set_storage(p, storage);
    const int status = add(set, p, name, rank, shape, !storage);
    if (status != ATTEND_OK)
        param_free(p);
    else if (out)
        *out = p;
    return status;
}

int attend_params_count(const attend_params *set)
{
    ATTEND_REQUIRE(0, set);
    return set->count;
}

attend_param *attend_params_at(const attend_params *set, int i)
{
    ATTEND_REQUIRE(NULL, set);
    return i >= 0 && i < set->count ? set->list[i] : NULL;
}

attend_param *attend_params_find(const attend_params *set, const char *name)
{
    ATTEND_REQUIRE(NULL, set && name);
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->list[i]->name, name) == 0) return set->list[i];
    return NULL;
}

size_t attend_params_size(const attend_params *set)
{
    ATTEND_REQUIRE(0, set);
    size_t size = 0;
    for (int i = 0; i < set->count; i++) size += set->list[i]->size;
    return size;
}

const char *attend_param_name(const attend_param *p)
{
    ATTEND_REQUIRE(NULL, p);
    return p->name;
}

int attend_param_rank(const attend_param *p)
{
    ATTEND_REQUIRE(0, p);
    return p->rank;
}

int attend_param_dim(const attend_param *p, int axis)
{
    ATTEND_REQUIRE(0, p);
    return axis >= 0 && axis < p->rank ? p->shape[axis] : 0;
}

size_t attend_param_size(const attend_param *p)
{
    ATTEND_REQUIRE(0, p);
    return p->size;
}

attend_precision attend_param_precision(const attend_param *p)
{
    ATTEND_REQUIRE((attend_precision)0, p);
    return p->precision;
}

void attend_param_set_storage(attend_param *p, const param_storage *storage)
{
    free_storage(p);
    p->value = storage->value, p->precision = storage->precision, p->borrowed = storage->borrowed;
    p->quantized = storage->quantized, p->scales = storage->scales;
    attend_param_changed(p);
}

void attend_param_row(const attend_param *p, size_t i, real *row)
{
    const size_t width = (size_t)p->shape[1];
    if (p->precision == ATTEND_BFLOAT16)
        attend_bf16_expand(width, (const uint16_t *)p->quantized + i * width, row);
    else if (p->precision == ATTEND_INT8)
        for (size_t j = 0; j < width; j++)
            row[j] = (real)((const int8_t *)p->quantized)[i * width + j] * (real)p->scales[i];
    else
        memcpy(row, p->value + i * width, width * sizeof *row);
}

const real *attend_param_value(const attend_param *p)
{
    ATTEND_REQUIRE(NULL, p);
    return p->value;
}

real *attend_param_edit(attend_param *p)
{
    ATTEND_REQUIRE(NULL, p);
    return p->value;
}

void attend_param_changed(attend_param *p)
{
    ATTEND_REQUIRE_VOID(p);
    atomic_fetch_add(&p->version, 1);
}

void attend_param_fill_uniform(attend_param *p, uint64_t seed, double bound)
{
    ATTEND_REQUIRE_VOID(p);
    /* FNV-1a of the name: the numbers do not depend on the order of the parameters. */
    uint64_t stream = 0xcbf29ce484222325u;
    for (const char *s = p->name; *s; s++) stream = (stream ^ (unsigned char)*s) * 0x100000001b3u;
    const attend_rng rng = { .seed = seed, .stream = stream };
    for (size_t i = 0; i < p->size; i++) p->value[i] = (real)((2 * attend_rng_uniform(&rng, i) - 1) * bound);
    attend_param_changed(p);
}
