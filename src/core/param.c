#include "core/status.h"
#include "core/fork_lock.h"
#include "core/memory.h"
#include "core/precision.h"
#include "core/rng.h"
#include "core/tape.h"
#include <string.h>

int attend_params_new(attend_params **out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = attend_memory_zeroed(1, sizeof **out);
    if (!*out) return attend_fail(ATTEND_NO_MEMORY, "no memory for parameters");
    (*out)->memory = attend_device_default();
    if ((*out)->memory) return ATTEND_OK;
    attend_memory_free(*out);
    *out = NULL;
    return ATTEND_BAD_USAGE;
}

static void free_given(const param_storage *s)
{
    if (s->borrowed) return;
    attend_memory_free(s->value);
    attend_memory_free((void *)(uintptr_t)s->quantized);
    attend_memory_free((void *)(uintptr_t)s->scales);
}

static void free_storage(attend_param *p)
{
    if (!p->borrowed) {
        p->memory->give(p->value);
        p->memory->give((void *)(uintptr_t)p->quantized);
        p->memory->give((void *)(uintptr_t)p->scales);
    }
    attend_memory_free(p->host_quantized);
    attend_memory_free(p->host_scales);
    p->value = NULL, p->quantized = NULL, p->scales = NULL, p->host_quantized = NULL, p->host_scales = NULL;
}

/* A copy on the device; NULL if `from` is NULL or memory ran out. */
static void *uploaded(const device_memory *memory, const void *from, size_t bytes)
{
    void *to = from ? memory->take(bytes) : NULL;
    if (to) memory->upload(to, from, bytes);
    return to;
}

/* Replaces storage in host memory by a copy on the device; false if memory ran out. */
static bool upload_storage(const attend_param *p, param_storage *s)
{
    const device_memory *m = p->memory;
    const param_storage given = *s;
    s->value = uploaded(m, given.value, p->size * sizeof(real));
    s->quantized = uploaded(m, given.quantized, p->size * attend_precision_bytes(given.precision));
    s->scales = uploaded(m, given.scales, (size_t)p->shape[0] * sizeof *given.scales);
    s->borrowed = false;
    if (!s->value == !given.value && !s->quantized == !given.quantized && !s->scales == !given.scales) {
        free_given(&given);
        return true;
    }
    m->give(s->value), m->give((void *)(uintptr_t)s->quantized), m->give((void *)(uintptr_t)s->scales);
    *s = given;
    return false;
}

void attend_param_drop_copies(attend_param *p)
{
    for (int i = 0; i < PARAM_CACHES; i++) {
        p->memory->give(p->cache[i].data);
        p->cache[i] = (param_cache){ 0 };
    }
}

static void param_free(attend_param *p)
{
    if (!p) return;
    attend_param_drop_copies(p);
    pthread_mutex_destroy(&p->lock);
    attend_memory_free(p->name);
    attend_memory_free(p->host);
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

/* Adds p to the set. storage NULL: zeros. */
static int add(attend_params *set, attend_param *p, const char *name, int rank, const int *shape,
               const param_storage *storage)
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
    if (p->name) memcpy(p->name, name, strlen(name) + 1);
    if (!storage && (p->value = p->memory->take(p->size * sizeof(real))))
        p->memory->zero(p->value, p->size * sizeof(real));
    if (!p->name || (!storage && !p->value) || (storage && attend_param_set_storage(p, storage) != ATTEND_OK))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the %zu numbers of parameter '%s'", p->size, name);
    set->list[set->count++] = p;
    return ATTEND_OK;
}

static bool has_numbers(const attend_param *p)
{
    return p->value || p->quantized;
}

int attend_params_add_stored(attend_param **out, attend_params *set, const char *name, int rank, const int *shape,
                             const param_storage *storage)
{
    if (out) *out = NULL;
    attend_param *p = attend_memory_zeroed(1, sizeof *p);
    int status = p ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for parameter '%s'", name);
    if (p) {
        p->memory = set->memory;
        pthread_mutex_init(&p->lock, NULL);
        status = add(set, p, name, rank, shape, storage);
    }
    if (status == ATTEND_OK) {
        if (out) *out = p;
        return ATTEND_OK;
    }
    if (storage && !(p && has_numbers(p))) free_given(storage); /* otherwise p owns it */
    param_free(p);
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

int attend_param_set_storage(attend_param *p, const param_storage *storage)
{
    param_storage s = *storage;
    if (!p->memory->on_host && !s.shape_only && !upload_storage(p, &s))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for parameter '%s'", p->name);
    free_storage(p);
    p->value = s.value, p->precision = s.precision, p->borrowed = s.borrowed;
    p->quantized = s.quantized, p->scales = s.scales;
    attend_param_computed(p);
    return ATTEND_OK;
}

/* ---- reading and writing from the host ---- */

/* A copy of the value in host memory; NULL, with a message, if memory ran out or the device has failed. */
static real *host_value(attend_param *p)
{
    attend_fork_lock(&p->lock);
    const uint64_t version = atomic_load(&p->version);
    const bool is_new = !p->host;
    int status = ATTEND_OK;
    if (is_new) p->host = attend_memory_zeroed(p->size, sizeof *p->host);
    if (!p->host) {
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to read parameter '%s'", p->name);
    } else if (is_new || p->host_version != version) {
        status = attend_device_memory_read(p->memory, p->host, p->value, p->size * sizeof *p->host);
        p->host_version = version;
    } else {
        status = attend_device_memory_check(p->memory);
    }
    attend_fork_unlock(&p->lock);
    return status == ATTEND_OK ? p->host : NULL;
}

/* Numbers of the device in host memory, in *to, which is allocated at the first call. */
static const void *downloaded(attend_param *p, const void *from, size_t bytes, void **to)
{
    if (p->memory->on_host || !from) return from;
    int status = ATTEND_OK;
    attend_fork_lock(&p->lock);
    if (!*to && (*to = attend_memory_zeroed(bytes, 1))) p->memory->download(*to, from, bytes);
    if (!*to)
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to read parameter '%s'", p->name);
    else
        status = attend_device_memory_check(p->memory);
    attend_fork_unlock(&p->lock);
    return status == ATTEND_OK ? *to : NULL;
}

int attend_param_unreadable(const attend_param *p)
{
    return attend_device_memory_check(p->memory) == ATTEND_OK ? ATTEND_NO_MEMORY : ATTEND_FAILED;
}

const void *attend_param_quantized(attend_param *p)
{
    return downloaded(p, p->quantized, p->size * attend_precision_bytes(p->precision), &p->host_quantized);
}

const float *attend_param_scales(attend_param *p)
{
    void *copy = p->host_scales;
    const float *scales = downloaded(p, p->scales, (size_t)p->shape[0] * sizeof *scales, &copy);
    p->host_scales = copy;
    return scales;
}

const real *attend_param_value(const attend_param *p)
{
    ATTEND_REQUIRE(NULL, p);
    if (p->memory->on_host || !p->value) return p->value;
    return host_value((attend_param *)(uintptr_t)p); /* the copy is a cache, protected by the lock */
}

real *attend_param_edit(attend_param *p)
{
    ATTEND_REQUIRE(NULL, p);
    if (p->memory->on_host || !p->value) return p->value;
    p->edited = true;
    return host_value(p);
}

void attend_param_changed(attend_param *p)
{
    ATTEND_REQUIRE_VOID(p);
    const uint64_t version = atomic_fetch_add(&p->version, 1) + 1;
    if (!p->edited || !p->host || !p->value) return;
    p->memory->upload(p->value, p->host, p->size * sizeof *p->host);
    p->host_version = version;
}

void attend_param_computed(attend_param *p)
{
    p->edited = false;
    atomic_fetch_add(&p->version, 1);
}

void attend_param_write(attend_param *p, size_t first, size_t count, const real *from)
{
    p->memory->upload(p->value + first, from, count * sizeof *from);
}

void attend_param_fill_uniform(attend_param *p, uint64_t seed, double bound)
{
    ATTEND_REQUIRE_VOID(p);
    /* FNV-1a of the name: the numbers do not depend on the order of the parameters. */
    uint64_t stream = 0xcbf29ce484222325u;
    for (const char *s = p->name; *s; s++) stream = (stream ^ (unsigned char)*s) * 0x100000001b3u;
    const attend_rng rng = { .seed = seed, .stream = stream };
    real block[512]; /* in parts, because there may be no memory for a copy of the whole value */
    for (size_t first = 0, n; p->value && first < p->size; first += n) {
        n = p->size - first < sizeof block / sizeof *block ? p->size - first : sizeof block / sizeof *block;
        for (size_t i = 0; i < n; i++) block[i] = (real)((2 * attend_rng_uniform(&rng, first + i) - 1) * bound);
        attend_param_write(p, first, n, block);
    }
    attend_param_computed(p);
}
