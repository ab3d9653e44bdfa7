/* tensor_file_write.c: writes a safetensors file. The header is built in memory; the data is written without a copy. */
#include "core/memory.h"
#include "core/status.h"
#include <attend/json.h>
#include "format/tensor_checksum.h"
#include "format/tensor_header.h"
#include "core/utf8.h"
#include <attend/file.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, SIZE_FIELD = 8 };

typedef struct span {
    const void *bytes;
    size_t size;
} span;

/* The content of the file, and temporary memory. */
typedef struct job {
    const char *path;
    const attend_tensor *tensors;
    size_t count;
    const attend_metadata *metadata;
    size_t metadata_count;
    const attend_tensor **order; /* (count), in the order of their data */
    const char **names;          /* (the larger count), to find duplicates */
    char *header;                /* with the size field and padding */
    size_t header_size;
    size_t checksum_at; /* offset in the header */
    span *spans;        /* (1 + count): header and data */
} job;

/* --- checks --- */

static int check_tensor(const job *j, const attend_tensor *t)
{
    if (!t->name || !attend_tensor_name_is_valid(t->name) || strcmp(t->name, "__metadata__") == 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: the name of tensor %td must be 1 to %d bytes of UTF-8 without control "
                           "characters, and not "
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
        return attend_fail(ATTEND_BAD_USAGE, "cannot write %s: tensor %.100s has %zu bytes%s, but its shape needs %zu",
                           j->path, t->name, t->bytes, t->data ? "" : " at NULL", bytes);
    return ATTEND_OK;
}

static int check_metadata(const job *j, const attend_metadata *m)
{
    if (!m->key || !attend_tensor_name_is_valid(m->key) || strcmp(m->key, "checksum") == 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: the key of metadata %td must be 1 to %d bytes of UTF-8 without control "
                           "characters, and not checksum",
                           j->path, m - j->metadata, ATTEND_TENSOR_NAME);
    if (!m->value || attend_utf8_valid(m->value, strlen(m->value)) < strlen(m->value) || attend_is_checksum(m->value))
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: metadata '%.100s' needs a value in valid UTF-8 that is not a checksum",
                           j->path, m->key);
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
    size_t total = 0; /* no overflow: attend_tensor_size limits each tensor to half of SIZE_MAX */
    for (size_t i = 0; status == ATTEND_OK && i < j->count; i++) {
        total += j->tensors[i].bytes;
        if (total > SIZE_MAX / 2)
            status = attend_fail(ATTEND_BAD_USAGE, "cannot write %s: its tensors are larger than memory", j->path);
    }
    return status;
}

/* --- the header --- */

/* A sink of attend_json_writer: the next bytes of the header in memory. */
static int copy_bytes(void *user, const char *bytes, size_t size)
{
    char **at = user;
    memcpy(*at, bytes, size);
    *at += size;
    return ATTEND_OK;
}

/* A sink that leaves only the writer's byte count. */
static int count_bytes(void *user, const char *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return ATTEND_OK;
}

static void put_tensor(attend_json_writer *w, const attend_tensor *t, uint64_t begin)
{
    attend_json_put_key(w, t->name);
    attend_json_begin_object(w);
    attend_json_put_key(w, "dtype"), attend_json_put_text(w, attend_dtype_name(t->dtype));
    attend_json_put_key(w, "shape"), attend_json_begin_array(w);
    for (int i = 0; i < t->rank; i++) attend_json_put_unsigned(w, (uint64_t)t->shape[i]);
    attend_json_end_array(w);
    attend_json_put_key(w, "data_offsets"), attend_json_begin_array(w);
    attend_json_put_unsigned(w, begin), attend_json_put_unsigned(w, begin + t->bytes);
    attend_json_end_array(w);
    attend_json_end_object(w);
}

/* Returns the size of the header without its size field. */
static size_t put_header(job *j, attend_json_sink sink, void *user)
{
    static const char prefix[] = "\"" ATTEND_CHECKSUM_PREFIX;
    attend_json_writer w = attend_json_to_sink(sink, user);
    uint64_t begin = 0;
    w.compact = true, w.minimal = true; /* the bytes are part of the format */
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "__metadata__"), attend_json_begin_object(&w);
    attend_json_put_key(&w, "checksum");
    j->checksum_at = SIZE_FIELD + w.bytes + sizeof prefix - 1;
    attend_json_put_text(&w, ATTEND_CHECKSUM_PREFIX ATTEND_CHECKSUM_ZEROS);
    for (size_t i = 0; i < j->metadata_count; i++)
        attend_json_put_key(&w, j->metadata[i].key), attend_json_put_text(&w, j->metadata[i].value);
    attend_json_end_object(&w);
    for (size_t i = 0; i < j->count; i++) {
        put_tensor(&w, j->order[i], begin);
        begin += j->order[i]->bytes;
    }
    attend_json_end_object(&w);
    return w.bytes;
}

static int make_header(job *j)
{
    const size_t size = put_header(j, count_bytes, NULL);
    j->header_size = (SIZE_FIELD + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (j->header_size - SIZE_FIELD > ATTEND_TENSOR_HEADER)
        return attend_fail(ATTEND_BAD_USAGE,
                           "cannot write %s: names and metadata take %zu bytes, and a header has at most %d", j->path,
                           size, ATTEND_TENSOR_HEADER);
    j->header = attend_memory_zeroed(j->header_size, 1);
    if (!j->header) return attend_fail(ATTEND_NO_MEMORY, "no memory for the header of %s", j->path);
    memset(j->header, ' ', j->header_size);
    for (int i = 0; i < SIZE_FIELD; i++) j->header[i] = (char)((uint64_t)(j->header_size - SIZE_FIELD) >> 8 * i & 255);
    char *at = j->header + SIZE_FIELD;
    put_header(j, copy_bytes, &at);
    return ATTEND_OK;
}

/* --- the file --- */

/* Larger elements first, so that every tensor is aligned to its elements without padding. */
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
    j->spans[0] = (span){ j->header, j->header_size };
    for (size_t i = 0; i < j->count; i++) j->spans[1 + i] = (span){ j->order[i]->data, j->order[i]->bytes };
    attend_checksum c;
    attend_checksum_begin(&c);
    for (size_t i = 0; i <= j->count; i++) attend_checksum_add(&c, j->spans[i].bytes, j->spans[i].size);
    attend_checksum_end(&c, j->header + j->checksum_at);
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
