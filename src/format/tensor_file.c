#include "format/tensor_file.h"

#include "core/machine_memory.h"
#include "core/memory.h"
#include "core/status.h"
#include "format/file_diagnosis.h"
#include "format/file_reader.h"
#include "format/tensor_checksum.h"
#include "format/tensor_header.h"
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor files are little-endian, and so is the code that reads and writes them"
#endif

struct attend_tensor_file {
    attend_file_reader reader; /* at the first byte of the data, until it is loaded */
    attend_tensor_header header;
    unsigned char *head;      /* (data_at): the size field and the header */
    size_t data_at;           /* offset of the data */
    unsigned char *blocks[2]; /* the data, and the data apart; NULL: none, or taken */
};

enum { SIZE_FIELD = 8 }; /* bytes before the header */

static const char *format_size(char text[32], double bytes)
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++) bytes /= 1000;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* ---- the header ---- */

static int truncated(const attend_file_reader *r, double whole)
{
    char text[32];
    return attend_fail(ATTEND_BAD_MODEL, "%s is truncated: %d %% of %s are present; copy or download it again", r->name,
                       (int)(100 * ((double)r->size / whole)), format_size(text, whole));
}

/* Reads the size of the header, or diagnoses a file that is not a tensor file. */
static int header_size(attend_file_reader *r, size_t *size)
{
    const unsigned char *bytes;
    size_t count = r->size;
    uint64_t declared = 0;
    int status = attend_file_reader_peek(r, &bytes, &count);
    if (status != ATTEND_OK) return status;
    for (int i = SIZE_FIELD; i-- > 0 && count >= SIZE_FIELD;) declared = declared << 8 | bytes[i];
    bool has_brace = count > SIZE_FIELD && bytes[SIZE_FIELD] == '{';
    if (has_brace && declared >= 2 && declared <= ATTEND_TENSOR_HEADER) {
        if (declared > r->size - SIZE_FIELD) return truncated(r, (double)(declared + SIZE_FIELD));
        *size = (size_t)declared;
        return ATTEND_OK;
    }
    const char *kind = attend_diagnose_file(bytes, count);
    if (kind) return attend_fail(ATTEND_BAD_MODEL, "%s is %s", r->name, kind);
    if (count <= SIZE_FIELD)
        return attend_fail(ATTEND_BAD_MODEL, "%s has only %zu bytes: too few for a model (a safetensors file)", r->name,
                           count);
    if (has_brace)
        return attend_fail(ATTEND_BAD_MODEL, "%s declares a header of %.0f bytes; it must have 2 to %d", r->name,
                           (double)declared, ATTEND_TENSOR_HEADER);
    return attend_fail(ATTEND_BAD_MODEL, "%s is not a model (a safetensors file); its format is unknown", r->name);
}

static int read_header(attend_tensor_file *file)
{
    attend_file_reader *r = &file->reader;
    size_t size = 0;
    int status = header_size(r, &size);
    if (status != ATTEND_OK) return status;
    file->data_at = SIZE_FIELD + size;
    file->head = attend_memory_aligned(file->data_at);
    if (!file->head) return attend_fail(ATTEND_NO_MEMORY, "no memory for the header of %s", r->name);
    status = attend_file_reader_read(r, file->head, file->data_at);
    if (status == ATTEND_OK)
        status = attend_tensor_header_read(&file->header, (const char *)file->head + SIZE_FIELD, size, r->name);
    if (status != ATTEND_OK) return status;
    const size_t data = r->size - file->data_at, bytes = file->header.bytes;
    if (bytes > data) return truncated(r, (double)bytes + (double)file->data_at);
    if (bytes < data)
        return attend_fail(ATTEND_BAD_MODEL, "%s has %zu bytes after its last tensor", r->name, data - bytes);
    return ATTEND_OK;
}

/* ---- the data ---- */

/* The checksum of the header, whose digits count as zeros. */
static void add_header(attend_checksum *c, const attend_tensor_file *file)
{
    const unsigned char *digits = (const unsigned char *)file->header.checksum, *rest = digits + ATTEND_CHECKSUM_DIGITS;
    attend_checksum_add(c, file->head, (size_t)(digits - file->head));
    attend_checksum_add(c, ATTEND_CHECKSUM_ZEROS, ATTEND_CHECKSUM_DIGITS);
    attend_checksum_add(c, rest, (size_t)(file->head + file->data_at - rest));
}

void attend_tensor_file_checksum(const attend_tensor_file *file, char digits[ATTEND_TENSOR_CHECKSUM])
{
    snprintf(digits, ATTEND_TENSOR_CHECKSUM, "%.*s", ATTEND_CHECKSUM_DIGITS,
             file->header.checksum ? file->header.checksum : "");
}

static int check_checksum(const attend_checksum *c, const attend_tensor_file *file)
{
    char computed[ATTEND_CHECKSUM_DIGITS];
    attend_checksum_end(c, computed);
    if (memcmp(computed, file->header.checksum, sizeof computed) == 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s is damaged: its checksum is %.16s, expected %.16s; copy or download it again",
                       file->reader.name, computed, file->header.checksum);
}

/* Copies a tensor chunk by chunk, and adds each chunk to the checksum (NULL: none) while it is in the cache. */
static int read_tensor(attend_tensor_file *file, const attend_tensor *t, const attend_tensor_loading *how,
                       attend_checksum *c)
{
    unsigned char *to = (unsigned char *)t->data;
    for (size_t left = t->bytes; left > 0;) {
        const size_t size = left < ATTEND_READ_CHUNK ? left : ATTEND_READ_CHUNK;
        const int status = attend_file_reader_read(&file->reader, to, size);
        if (status != ATTEND_OK) return status;
        if (c) attend_checksum_add(c, to, size);
        if (how->visit) how->visit(how->user, t, to, size);
        to += size, left -= size;
    }
    return ATTEND_OK;
}

/* Adds a tensor to the checksum without keeping it. */
static int pass_tensor(attend_tensor_file *file, const attend_tensor *t, attend_checksum *c)
{
    for (size_t left = t->bytes, size; left > 0; left -= size) {
        const unsigned char *bytes;
        size = left;
        const int status = attend_file_reader_peek(&file->reader, &bytes, &size);
        if (status != ATTEND_OK) return status;
        if (c) attend_checksum_add(c, bytes, size);
        attend_file_reader_skip(&file->reader, size);
    }
    return ATTEND_OK;
}

static bool is_apart(const attend_tensor *t, const char *apart)
{
    return apart && strncmp(t->name, apart, strlen(apart)) == 0;
}

static size_t aligned_size(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Allocates the blocks and points every tensor to its place. A file that does not fit into memory is refused before
 * the memory is filled. */
static int make_blocks(attend_tensor_file *file, const attend_tensor_loading *how)
{
    const bool keep_apart = how->apart && !how->skip_apart;
    size_t bytes[2] = { 0, 0 }, available;
    attend_tensor_entry *entries = file->header.entries;
    for (size_t i = 0; i < file->header.count; i++)
        bytes[is_apart(&entries[i].tensor, how->apart)] += aligned_size(entries[i].tensor.bytes);
    if (!keep_apart) bytes[1] = 0;
    if (!attend_machine_has_memory(bytes[0] + bytes[1], &available))
        return attend_fail(ATTEND_NO_MEMORY,
                           "%s needs %zu MB of memory, and %zu MB are available: free memory, or use a smaller model",
                           file->reader.name, (bytes[0] + bytes[1]) / 1000000, available / 1000000);
    for (int k = 0; k < 1 + keep_apart; k++) {
        file->blocks[k] = attend_memory_aligned(bytes[k]);
        if (!file->blocks[k])
            return attend_fail(ATTEND_NO_MEMORY, "no memory for the %zu bytes of %s", bytes[k], file->reader.name);
    }
    unsigned char *next[2] = { file->blocks[0], file->blocks[1] };
    for (size_t i = 0; i < file->header.count; i++) {
        const bool k = is_apart(&entries[i].tensor, how->apart);
        if (k && !keep_apart) continue;
        entries[i].tensor.data = next[k];
        next[k] += aligned_size(entries[i].tensor.bytes);
    }
    return ATTEND_OK;
}

static int read_data(attend_tensor_file *file, const attend_tensor_loading *how)
{
    attend_checksum sum, *c = file->header.checksum && !how->skip_checksum ? &sum : NULL;
    int status = make_blocks(file, how);
    if (c) {
        attend_checksum_begin(c);
        add_header(c, file);
    }
    for (size_t i = 0; status == ATTEND_OK && i < file->header.count; i++) {
        const attend_tensor *t = &file->header.entries[i].tensor;
        status = t->data ? read_tensor(file, t, how, c) : pass_tensor(file, t, c);
    }
    return status == ATTEND_OK && c ? check_checksum(c, file) : status;
}

/* If the file changed, that is the error, and not what the mixture of old and new bytes looks like. */
static int after_reading(const attend_tensor_file *file, int status)
{
    if (status != ATTEND_OK && status != ATTEND_BAD_MODEL) return status;
    const int change = attend_file_reader_check(&file->reader);
    return change == ATTEND_OK ? status : change;
}

int attend_tensor_file_load(attend_tensor_file *file, const attend_tensor_loading *how)
{
    const int status = after_reading(file, read_data(file, how));
    attend_file_reader_end(&file->reader);
    return status;
}

int attend_tensor_file_read(const attend_tensor_file *file, const attend_tensor *tensor, size_t at, void *to,
                            size_t size)
{
    const attend_tensor_entry *e = (const attend_tensor_entry *)tensor; /* its first member */
    return attend_file_reader_read_at(&file->reader, file->data_at + e->begin + at, to, size);
}

int attend_tensor_file_check(const attend_tensor_file *file)
{
    return attend_file_reader_check(&file->reader);
}

/* ---- opening ---- */

/* Reads the file from a reader, which is closed with it. */
static int open_reader(attend_tensor_file **out, const attend_file_reader *reader, unsigned flags)
{
    attend_tensor_file *file = attend_memory_zeroed(1, sizeof *file);
    if (!file) {
        attend_file_reader own = *reader;
        attend_file_reader_close(&own);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", reader->name);
    }
    file->reader = *reader;
    int status = after_reading(file, read_header(file));
    if (status == ATTEND_OK && !(flags & ATTEND_TENSOR_HEADER_ONLY)) {
        const attend_tensor_loading how = { .skip_checksum = flags & ATTEND_TENSOR_SKIP_CHECKSUM };
        status = attend_tensor_file_load(file, &how);
        attend_file_reader_close(&file->reader);
    }
    if (status == ATTEND_OK)
        *out = file;
    else
        attend_tensor_file_close(file);
    return status;
}

int attend_tensor_file_parse(attend_tensor_file **out, const void *bytes, size_t size, const char *name, unsigned flags)
{
    attend_file_reader reader;
    *out = NULL;
    attend_file_reader_use(&reader, bytes, size, name);
    return open_reader(out, &reader, flags);
}

int attend_tensor_file_open(attend_tensor_file **out, const char *path, unsigned flags)
{
    attend_file_reader reader;
    *out = NULL;
    const int status = attend_file_reader_open(&reader, path);
    return status == ATTEND_OK ? open_reader(out, &reader, flags) : status;
}

void attend_tensor_file_close(attend_tensor_file *file)
{
    if (!file) return;
    attend_tensor_header_free(&file->header);
    attend_file_reader_close(&file->reader);
    for (int k = 0; k < 2; k++) attend_memory_free(file->blocks[k]);
    attend_memory_free(file->head);
    attend_memory_free(file);
}

size_t attend_tensor_file_count(const attend_tensor_file *file)
{
    return file->header.count;
}

const attend_tensor *attend_tensor_file_at(const attend_tensor_file *file, size_t i)
{
    return &file->header.entries[i].tensor;
}

const attend_tensor *attend_tensor_file_find(const attend_tensor_file *file, const char *name)
{
    return attend_tensor_header_find(&file->header, name);
}

void *attend_tensor_file_take(attend_tensor_file *file, bool apart)
{
    void *block = file->blocks[apart];
    file->blocks[apart] = NULL;
    return block;
}

size_t attend_tensor_file_metadata_count(const attend_tensor_file *file)
{
    return file->header.metadata_count;
}

const attend_metadata *attend_tensor_file_metadata_at(const attend_tensor_file *file, size_t i)
{
    return &file->header.metadata[i];
}

const char *attend_tensor_file_metadata(const attend_tensor_file *file, const char *key)
{
    return attend_tensor_header_metadata(&file->header, key);
}
