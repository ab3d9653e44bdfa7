/* tensor_header.c: reads the JSON header of a safetensors file:
 *
 *     {"__metadata__": {key: value, ...}, name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *
 * The text is parsed twice: the first pass counts, so that arrays of the right size can be allocated for the second. */
#include "format/tensor_header.h"

#include "core/memory.h"
#include "core/status.h"
#include <attend/json_reader.h>
#include "format/tensor_checksum.h"
#include "core/utf8.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[ATTEND_DTYPES] = {
    [ATTEND_BOOL] = { "BOOL", 1 },       [ATTEND_U8] = { "U8", 1 },           [ATTEND_I8] = { "I8", 1 },
    [ATTEND_F8_E5M2] = { "F8_E5M2", 1 }, [ATTEND_F8_E4M3] = { "F8_E4M3", 1 }, [ATTEND_I16] = { "I16", 2 },
    [ATTEND_U16] = { "U16", 2 },         [ATTEND_F16] = { "F16", 2 },         [ATTEND_BF16] = { "BF16", 2 },
    [ATTEND_I32] = { "I32", 4 },         [ATTEND_U32] = { "U32", 4 },         [ATTEND_F32] = { "F32", 4 },
    [ATTEND_F64] = { "F64", 8 },         [ATTEND_I64] = { "I64", 8 },         [ATTEND_U64] = { "U64", 8 },
};

const char *attend_dtype_name(attend_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t attend_dtype_size(attend_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *attend_tensor_size(attend_dtype dtype, int rank, const int64_t *shape, size_t *bytes)
{
    size_t size = dtypes[dtype].size;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0) return "a dimension is negative";
        if (shape[i] == 0)
            empty = true;
        else if ((uint64_t)shape[i] > SIZE_MAX / 2 / size)
            return "it is larger than memory";
        else
            size *= (size_t)shape[i];
    }
    *bytes = empty ? 0 : size;
    return NULL;
}

bool attend_tensor_name_is_valid(const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length > ATTEND_TENSOR_NAME || attend_utf8_valid(name, length) < length) return false;
    for (const unsigned char *s = (const unsigned char *)name; *s; s++) {
        if (*s < 0x20 || *s == 0x7f) return false;
        if (s[0] == 0xc2 && s[1] < 0xa0) return false; /* U+0080 to U+009F, the C1 control characters */
    }
    return true;
}

/* --- reading --- */

typedef struct header_reader {
    attend_json_reader json;
    attend_tensor_header *h;
    const char *file;
    bool counting;            /* the first pass: nothing is stored */
    size_t tensors, metadata; /* at most so many: the limits of the format, or what the first pass counted */
    int status;               /* of an error other than invalid JSON */
} header_reader;

#define FAIL(r, ...) ((r)->status = attend_fail(ATTEND_BAD_MODEL, __VA_ARGS__), false)

static bool read_name(header_reader *r, const char **name)
{
    const char *at;
    if (!attend_json_read_string(&r->json, name, &at)) return false;
    if (attend_tensor_name_is_valid(*name)) return true;
    return FAIL(
        r, "%s: the header has a name that is empty, longer than %d bytes or contains control characters (byte %td)",
        r->file, ATTEND_TENSOR_NAME, 8 + (at - r->json.start));
}

/* Reads [1, 2, ...] with at most `max_count` elements. */
static bool read_list(header_reader *r, int64_t *list, int max_count, int *count, const char *name)
{
    *count = 0;
    if (!attend_json_expect(&r->json, '[')) return false;
    if (attend_json_accept(&r->json, ']')) return true;
    do {
        if (*count == max_count)
            return FAIL(r, "%s: tensor %.100s: a list has more than %d numbers (a shape has at most %d)", r->file, name,
                        max_count, ATTEND_TENSOR_RANK);
        if (!attend_json_read_integer(&r->json, &list[(*count)++])) return false;
    } while (attend_json_accept(&r->json, ','));
    return attend_json_expect(&r->json, ']');
}

static bool read_dtype(header_reader *r, attend_dtype *dtype, const char *name)
{
    const char *type, *at;
    if (!attend_json_read_string(&r->json, &type, &at)) return false;
    for (int i = 0; i < ATTEND_DTYPES; i++)
        if (strcmp(type, dtypes[i].name) == 0) {
            *dtype = (attend_dtype)i;
            return true;
        }
    return FAIL(r, "%s: tensor %.100s has unknown type '%.20s'", r->file, name, type);
}

/* {"dtype": ..., "shape": ..., "data_offsets": [begin, end]}: each once, in any order. */
static bool read_fields(header_reader *r, attend_tensor *t, int64_t offsets[2])
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    int seen = 0, offset_count = 0;
    if (!attend_json_expect(&r->json, '{')) return false;
    do {
        const char *key, *at;
        if (!attend_json_read_string(&r->json, &key, &at) || !attend_json_expect(&r->json, ':')) return false;
        int field = strcmp(key, "dtype") == 0          ? DTYPE
                    : strcmp(key, "shape") == 0        ? SHAPE
                    : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                       : 0;
        if (field == 0 || seen & field)
            return FAIL(r, "%s: tensor %.100s has the field '%.40s'%s", r->file, t->name, key,
                        field ? " twice" : ", which is not part of safetensors");
        seen |= field;
        if (field == DTYPE && !read_dtype(r, &t->dtype, t->name)) return false;
        if (field == SHAPE && !read_list(r, t->shape, ATTEND_TENSOR_RANK, &t->rank, t->name)) return false;
        if (field == OFFSETS && !read_list(r, offsets, 2, &offset_count, t->name)) return false;
    } while (attend_json_accept(&r->json, ','));
    if (!attend_json_expect(&r->json, '}')) return false;
    if (seen != ALL || offset_count != 2)
        return FAIL(r, "%s: tensor %.100s lacks its dtype, its shape or its two data_offsets", r->file, t->name);
    return true;
}

static bool read_tensor(header_reader *r, const char *name)
{
    attend_tensor t = { .name = name };
    int64_t offsets[2] = { 0 };
    if (!read_fields(r, &t, offsets)) return false;
    const char *problem = attend_tensor_size(t.dtype, t.rank, t.shape, &t.bytes);
    if (problem) return FAIL(r, "%s: tensor %.100s: %s", r->file, name, problem);
    if (offsets[0] > offsets[1] || (uint64_t)(offsets[1] - offsets[0]) != t.bytes)
        return FAIL(r,
                    "%s: tensor %.100s has offsets %" PRId64 " to %" PRId64
                    ", but its type and shape require %zu bytes",
                    r->file, name, offsets[0], offsets[1], t.bytes);
    if (r->h->count == r->tensors) return FAIL(r, "%s has more than %zu tensors", r->file, r->tensors);
    if (!r->counting) r->h->entries[r->h->count] = (attend_tensor_entry){ .tensor = t, .begin = (size_t)offsets[0] };
    r->h->count++;
    return true;
}

/* Reads a metadata entry. A checksum under another key is an error: otherwise damage to the key would disable the
 * checksum. */
static bool read_metadata_entry(header_reader *r)
{
    attend_metadata entry;
    const char *at;
    if (!read_name(r, &entry.key) || !attend_json_expect(&r->json, ':') ||
        !attend_json_read_string(&r->json, &entry.value, &at))
        return false;
    bool is_checksum_key = strcmp(entry.key, "checksum") == 0, is_checksum_value = attend_is_checksum(entry.value);
    if (is_checksum_key != is_checksum_value || (is_checksum_key && r->h->checksum))
        return FAIL(
            r,
            "%s: metadata '%.100s' is '%.40s': a checksum is '%s' and %d hex digits, once, under 'checksum'; the "
            "file is damaged",
            r->file, entry.key, entry.value, ATTEND_CHECKSUM_PREFIX, ATTEND_CHECKSUM_DIGITS);
    if (is_checksum_key) {
        /* The text must contain the checksum without escapes: it is computed with these digits set to zero. */
        if (strncmp(at, entry.value, strlen(entry.value)) != 0)
            return FAIL(r, "%s: the checksum contains escapes", r->file);
        r->h->checksum = at + sizeof ATTEND_CHECKSUM_PREFIX - 1;
        return true;
    }
    if (r->h->metadata_count == r->metadata)
        return FAIL(r, "%s has more than %zu metadata entries", r->file, r->metadata);
    if (!r->counting) r->h->metadata[r->h->metadata_count] = entry;
    r->h->metadata_count++;
    return true;
}

static bool read_metadata(header_reader *r)
{
    if (!attend_json_expect(&r->json, '{')) return false;
    if (attend_json_accept(&r->json, '}')) return true;
    do
        if (!read_metadata_entry(r)) return false;
    while (attend_json_accept(&r->json, ','));
    return attend_json_expect(&r->json, '}');
}

static bool read_text(header_reader *r)
{
    bool metadata = false;
    r->h->count = r->h->metadata_count = 0;
    r->h->checksum = NULL;
    if (!attend_json_expect(&r->json, '{')) return false;
    if (attend_json_accept(&r->json, '}')) return attend_json_expect_end(&r->json);
    do {
        const char *name;
        if (!read_name(r, &name) || !attend_json_expect(&r->json, ':')) return false;
        if (strcmp(name, "__metadata__") != 0) {
            if (!read_tensor(r, name)) return false;
            continue;
        }
        if (metadata) return FAIL(r, "%s has __metadata__ twice", r->file);
        metadata = true;
        if (!read_metadata(r)) return false;
    } while (attend_json_accept(&r->json, ','));
    return attend_json_expect(&r->json, '}') && attend_json_expect_end(&r->json);
}

static int read_once(attend_tensor_header *h, const char *text, size_t size, const char *file, bool counting)
{
    header_reader r = { .json = { .start = text, .at = text, .end = text + size, .pool = h->pool },
                        .h = h,
                        .file = file,
                        .counting = counting,
                        .tensors = counting ? ATTEND_TENSOR_COUNT : h->count,
                        .metadata = counting ? ATTEND_TENSOR_COUNT : h->metadata_count };
    if (read_text(&r)) return ATTEND_OK;
    if (r.status != ATTEND_OK) return r.status;
    return attend_fail(ATTEND_BAD_MODEL, "%s: the header is damaged: %s (byte %td of the file)", file, r.json.error,
                       8 + (r.json.at - text));
}

/* --- checks of the whole header --- */

static int compare_offsets(const void *a, const void *b)
{
    const attend_tensor_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->tensor.bytes != y->tensor.bytes) return x->tensor.bytes < y->tensor.bytes ? -1 : 1; /* empty tensors first */
    return strcmp(x->tensor.name, y->tensor.name);
}

static int compare_names(const void *a, const void *b)
{
    const attend_tensor_entry *const *x = a, *const *y = b;
    return strcmp((*x)->tensor.name, (*y)->tensor.name);
}

static int compare_keys(const void *a, const void *b)
{
    const attend_metadata *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* Checks that the tensors cover the data from its first byte on, without gaps and overlaps. */
static int check_offsets(attend_tensor_header *h, const char *file)
{
    qsort(h->entries, h->count, sizeof *h->entries, compare_offsets);
    h->bytes = 0;
    for (size_t i = 0; i < h->count; i++) {
        const attend_tensor_entry *e = &h->entries[i];
        if (e->begin < h->bytes)
            return attend_fail(ATTEND_BAD_MODEL, "%s: tensors %.100s and %.100s overlap", file,
                               h->entries[i - 1].tensor.name, e->tensor.name);
        if (e->begin > h->bytes)
            return attend_fail(ATTEND_BAD_MODEL, "%s: %zu bytes before tensor %.100s belong to no tensor", file,
                               e->begin - h->bytes, e->tensor.name);
        h->bytes += e->tensor.bytes; /* equals the end offset, so it cannot overflow */
    }
    return ATTEND_OK;
}

static int check_names(attend_tensor_header *h, const char *file)
{
    for (size_t i = 0; i < h->count; i++) h->by_name[i] = &h->entries[i];
    qsort(h->by_name, h->count, sizeof *h->by_name, compare_names);
    for (size_t i = 1; i < h->count; i++)
        if (compare_names(&h->by_name[i - 1], &h->by_name[i]) == 0)
            return attend_fail(ATTEND_BAD_MODEL, "%s has two tensors named %.100s", file, h->by_name[i]->tensor.name);
    qsort(h->metadata, h->metadata_count, sizeof *h->metadata, compare_keys);
    for (size_t i = 1; i < h->metadata_count; i++)
        if (compare_keys(&h->metadata[i - 1], &h->metadata[i]) == 0)
            return attend_fail(ATTEND_BAD_MODEL, "%s has metadata '%.100s' twice", file, h->metadata[i].key);
    return ATTEND_OK;
}

int attend_tensor_header_read(attend_tensor_header *h, const char *text, size_t size, const char *file)
{
    *h = (attend_tensor_header){ 0 };
    h->pool = attend_memory_zeroed(size, 1);
    int status = h->pool ? read_once(h, text, size, file, true) : ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) {
        h->entries = attend_memory_zeroed(h->count, sizeof *h->entries);
        h->by_name = attend_memory_zeroed(h->count, sizeof *h->by_name);
        h->metadata = attend_memory_zeroed(h->metadata_count, sizeof *h->metadata);
        if (!h->entries || !h->by_name || !h->metadata) status = ATTEND_NO_MEMORY;
    }
    if (status == ATTEND_OK) status = read_once(h, text, size, file, false);
    if (status == ATTEND_OK) status = check_offsets(h, file);
    if (status == ATTEND_OK) status = check_names(h, file);
    if (status == ATTEND_NO_MEMORY) attend_fail(status, "no memory for the header of %s", file);
    if (status != ATTEND_OK) attend_tensor_header_free(h);
    return status;
}

void attend_tensor_header_free(attend_tensor_header *h)
{
    attend_memory_free(h->entries);
    attend_memory_free(h->by_name);
    attend_memory_free(h->metadata);
    attend_memory_free(h->pool);
    *h = (attend_tensor_header){ 0 };
}

const attend_tensor *attend_tensor_header_find(const attend_tensor_header *h, const char *name)
{
    const attend_tensor_entry wanted = { .tensor.name = name }, *key = &wanted;
    attend_tensor_entry **found = bsearch(&key, h->by_name, h->count, sizeof *h->by_name, compare_names);
    return found ? &(*found)->tensor : NULL;
}

const char *attend_tensor_header_metadata(const attend_tensor_header *h, const char *key)
{
    const attend_metadata wanted = { .key = key };
    const attend_metadata *found = bsearch(&wanted, h->metadata, h->metadata_count, sizeof *h->metadata, compare_keys);
    return found ? found->value : NULL;
}
