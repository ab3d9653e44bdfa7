/* tensor_file_write.c: the header is made in memory, the data goes from where it is to the disk. */
#include "core/memory.h"
#include "core/atomic_file.h"
#include "core/status.h"
#include "format/json.h"
#include "format/tensor_checksum.h"
#include "format/tensor_header.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, SIZE_FIELD = 8 };

/* What is to be written, and the memory it takes. */
typedef struct job {
    const char *path;
    const attend_tensor *tensors;
    size_t count;
    const attend_metadata *metadata;
    size_t metadata_count;
    const attend_tensor **order; /* (count), as their data will lie */
    const char **names;          /* (the larger count), to find two that are the same */
    char *header;                /* the size field and the padding too */
    size_t header_size;
    size_t checksum_at;  /* in the header */
    attend_chunk *spans; /* (1 + count): header and data */
} job;

/* --- is it fit to be written? --- */

static int check_tensor(const job *j, const attend_tensor *t)
{
    if (!t->name || !attend_json_is_name(t->name, ATTEND_TENSOR_NAME) || strcmp(t->name, "__metadata__") == 0)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "cannot write %s: tensor %td needs a name: 1 to %d bytes of UTF-8, no control characters, not "
            "__metadata__",
            j->path, t - j->tensors, ATTEND_TENSOR_NAME);
    if ((unsigned)t->dtype >= ATTEND_DTYPES || t->rank < 0 || t->rank > ATTEND_TENSOR_RANK)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: tensor %.100s has type %d and rank %d; a rank is 0 to %d", j->path,
                           t->name, (int)t->dtype, t->rank, ATTEND_TENSOR_RANK);
    size_t bytes = 0;
    const char *wrong = attend_tensor_size(t->dtype, t->rank, t->shape, &bytes);
    if (wrong) return attend_fail(ATTEND_BAD_USAGE, "cannot write %s: tensor %.100s: %s", j->path, t->name, wrong);
    if (bytes != t->bytes || (bytes && !t->data))
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: tensor %.100s comes with %zu bytes%s, and has %zu by its shape", j->path,
                           t->name, t->bytes, t->data ? "" : " at NULL", bytes);
    return ATTEND_OK;
}

static int check_metadata(const job *j, const attend_metadata *m)
{
    if (!m->key || !attend_json_is_name(m->key, ATTEND_TENSOR_NAME) || strcmp(m->key, "checksum") == 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: pair %td of the metadata needs a key: 1 to %d bytes of UTF-8, no control "
                           "characters, not checksum",
                           j->path, m - j->metadata, ATTEND_TENSOR_NAME);
    if (!m->value || !attend_json_is_utf8(m->value) || attend_checksum_is_one(m->value))
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: metadata '%.100s' needs a value in UTF-8 that is no checksum", j->path,
                           m->key);
    return ATTEND_OK;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_distinct(const job *j, size_t count, const char *what)
{
    qsort(j->names, count, sizeof *j->names, compare_strings);
    for (size_t i = 1; i < count; i++)
        if (strcmp(j->names[i - 1], j->names[i]) == 0)
            return attend_fail(ATTEND_BAD_USAGE, "cannot write %s: two %s are named %.100s", j->path, what,
                               j->names[i]);
    return ATTEND_OK;
}

static int check(const job *j)
{
    int status = ATTEND_OK;
    for (size_t i = 0; status == ATTEND_OK && i < j->count; i++) {
        status = check_tensor(j, &j->tensors[i]);
        j->names[i] = j->tensors[i].name;
    }
    if (status == ATTEND_OK) status = check_distinct(j, j->count, "tensors");
    for (size_t i = 0; status == ATTEND_OK && i < j->metadata_count; i++) {
        status = check_metadata(j, &j->metadata[i]);
        j->names[i] = j->metadata[i].key;
    }
    if (status == ATTEND_OK) status = check_distinct(j, j->metadata_count, "pairs of metadata");
    size_t total = 0; /* attend_tensor_size keeps each below half of SIZE_MAX */
    for (size_t i = 0; status == ATTEND_OK && i < j->count; i++) {
        total += j->tensors[i].bytes;
        if (total > SIZE_MAX / 2)
            status =
                attend_fail(ATTEND_BAD_USAGE, "cannot write %s: its tensors are larger than memory together", j->path);
    }
    return status;
}

/* --- the header --- */

/* Text that grows; `bytes` NULL only counts. */
typedef struct sink {
    char *bytes;
    size_t used;
} sink;

static void put(sink *s, const char *text)
{
    const size_t length = strlen(text);
    if (s->bytes) memcpy(s->bytes + s->used, text, length);
    s->used += length;
}

static void put_quoted(sink *s, const char *text)
{
    s->used += attend_json_quote(s->bytes ? s->bytes + s->used : NULL, text);
}

static void put_number(sink *s, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    put(s, digits);
}

static void put_tensor(sink *s, const attend_tensor *t, uint64_t begin)
{
    put(s, ",");
    put_quoted(s, t->name);
    put(s, ":{\"dtype\":");
    put_quoted(s, attend_dtype_name(t->dtype));
    put(s, ",\"shape\":[");
    for (int i = 0; i < t->rank; i++) {
        if (i) put(s, ",");
        put_number(s, (uint64_t)t->shape[i]);
    }
    put(s, "],\"data_offsets\":[");
    put_number(s, begin);
    put(s, ",");
    put_number(s, begin + t->bytes);
    put(s, "]}");
}

static void put_header(job *j, sink *s)
{
    uint64_t begin = 0;
    put(s, "{\"__metadata__\":{\"checksum\":\"" ATTEND_CHECKSUM_PREFIX);
    j->checksum_at = SIZE_FIELD + s->used;
    put(s, ATTEND_CHECKSUM_ZEROS "\"");
    for (size_t i = 0; i < j->metadata_count; i++) {
        put(s, ",");
        put_quoted(s, j->metadata[i].key);
        put(s, ":");
        put_quoted(s, j->metadata[i].value);
    }
    put(s, "}");
    for (size_t i = 0; i < j->count; i++) {
        put_tensor(s, j->order[i], begin);
        begin += j->order[i]->bytes;
    }
    put(s, "}");
}

static int make_header(job *j)
{
    sink s = { 0 };
    put_header(j, &s);
    j->header_size = (SIZE_FIELD + s.used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (j->header_size - SIZE_FIELD > ATTEND_TENSOR_HEADER)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: names and metadata take %zu bytes, and a header has at most %d", j->path,
                           s.used, ATTEND_TENSOR_HEADER);
    j->header = attend_memory_zeroed(j->header_size, 1);
    if (!j->header) return attend_fail(ATTEND_NO_MEMORY, "no memory for the header of %s", j->path);
    memset(j->header, ' ', j->header_size);
    for (int i = 0; i < SIZE_FIELD; i++) j->header[i] = (char)((uint64_t)(j->header_size - SIZE_FIELD) >> 8 * i & 255);
    s = (sink){ .bytes = j->header + SIZE_FIELD };
    put_header(j, &s);
    return ATTEND_OK;
}

/* --- the file --- */

/* Larger elements first: then every array begins at a multiple of its elements' size, without holes. */
static void set_order(job *j)
{
    size_t next = 0;
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < j->count; i++)
            if (attend_dtype_size(j->tensors[i].dtype) == size) j->order[next++] = &j->tensors[i];
}

static int write_spans(const job *j)
{
    size_t total = 0;
    for (size_t i = 0; i <= j->count; i++) total += j->spans[i].size;
    attend_atomic_file *r = NULL;
    int status = attend_atomic_file_begin(&r, j->path, total);
    for (size_t i = 0; status == ATTEND_OK && i <= j->count; i++)
        status = attend_atomic_file_write(r, j->spans[i].bytes, j->spans[i].size);
    if (status == ATTEND_OK) return attend_atomic_file_commit(r);
    attend_atomic_file_abandon(r);
    return status;
}

static int write_job(job *j)
{
    int status = check(j);
    if (status != ATTEND_OK) return status;
    set_order(j);
    status = make_header(j);
    if (status != ATTEND_OK) return status;
    j->spans[0] = (attend_chunk){ j->header, j->header_size };
    for (size_t i = 0; i < j->count; i++) j->spans[1 + i] = (attend_chunk){ j->order[i]->data, j->order[i]->bytes };
    attend_checksum(j->header + j->checksum_at, j->spans, 1 + j->count);
    return write_spans(j);
}

int attend_tensor_file_write(const char *path, const attend_tensor *tensors, size_t count,
                             const attend_metadata *metadata, size_t metadata_count)
{
    if (count > ATTEND_TENSOR_COUNT || metadata_count > ATTEND_TENSOR_COUNT)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: %zu tensors and %zu pairs of metadata; at most %d of each", path, count,
                           metadata_count, ATTEND_TENSOR_COUNT);
    job j = {
        .path = path, .tensors = tensors, .count = count, .metadata = metadata, .metadata_count = metadata_count
    };
    j.order = attend_memory_zeroed(count, sizeof *j.order);
    j.names = attend_memory_zeroed(count > metadata_count ? count : metadata_count, sizeof *j.names);
    j.spans = attend_memory_zeroed(1 + count, sizeof *j.spans);
    int status =
        j.order && j.names && j.spans ? write_job(&j) : attend_fail(ATTEND_NO_MEMORY, "no memory to write %s", path);
    attend_memory_free(j.header);
    attend_memory_free(j.spans);
    attend_memory_free(j.names);
    attend_memory_free(j.order);
    return status;
}
