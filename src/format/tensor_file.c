#define _DEFAULT_SOURCE /* MAP_NORESERVE */
#include "format/tensor_file.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_checksum.h"
#include "format/tensor_header.h"
#include "format/file_diagnosis.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor files are little-endian, and so is the code that reads and writes them"
#endif

struct attend_tensor_file {
    attend_tensor_header header;
    void *map; /* NULL: the bytes are the caller's */
    size_t map_size;
};

typedef struct content {
    const unsigned char *bytes;
    size_t size;
    const char *name;
} content;

enum { SIZE_FIELD = 8 }; /* bytes before the header */

static const char *format_size(char text[32], double bytes)
{
    static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++) bytes /= 1000;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

static int truncated(const content *c, double whole)
{
    char text[32];
    return attend_fail(ATTEND_BAD_MODEL, "%s is truncated: %d %% of %s are present; copy or download it again", c->name,
                       (int)(100 * ((double)c->size / whole)), format_size(text, whole));
}

/* Reads the size of the header, or diagnoses a file that is not a tensor file. */
static int header_size(const content *c, size_t *size)
{
    uint64_t declared = 0;
    for (int i = SIZE_FIELD; i-- > 0 && c->size >= SIZE_FIELD;) declared = declared << 8 | c->bytes[i];
    bool has_brace = c->size > SIZE_FIELD && c->bytes[SIZE_FIELD] == '{';
    if (has_brace && declared >= 2 && declared <= ATTEND_TENSOR_HEADER) {
        if (declared > c->size - SIZE_FIELD) return truncated(c, (double)(declared + SIZE_FIELD));
        *size = (size_t)declared;
        return ATTEND_OK;
    }
    const char *kind = attend_diagnose_file(c->bytes, c->size);
    if (kind) return attend_fail(ATTEND_BAD_MODEL, "%s is %s", c->name, kind);
    if (c->size <= SIZE_FIELD)
        return attend_fail(ATTEND_BAD_MODEL, "%s has only %zu bytes: too few for a model (a safetensors file)", c->name,
                           c->size);
    if (has_brace)
        return attend_fail(ATTEND_BAD_MODEL, "%s declares a header of %.0f bytes; it must have 2 to %d", c->name,
                           (double)declared, ATTEND_TENSOR_HEADER);
    return attend_fail(ATTEND_BAD_MODEL, "%s is not a model (a safetensors file); its format is unknown", c->name);
}

static int check_checksum(const attend_tensor_header *h, const content *c)
{
    if (!h->checksum) return ATTEND_OK;
    const unsigned char *digits = (const unsigned char *)h->checksum, *rest = digits + ATTEND_CHECKSUM_DIGITS;
    const attend_chunk spans[] = { { c->bytes, (size_t)(digits - c->bytes) },
                                   { ATTEND_CHECKSUM_ZEROS, ATTEND_CHECKSUM_DIGITS },
                                   { rest, (size_t)(c->bytes + c->size - rest) } };
    char computed[ATTEND_CHECKSUM_DIGITS];
    attend_checksum(computed, spans, 3);
    if (memcmp(computed, digits, sizeof computed) == 0) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s is damaged: its checksum is %.16s, expected %.16s; copy or download it again", c->name,
                       computed, h->checksum);
}

/* Points every tensor to its data, or to an aligned copy. */
static int set_data(attend_tensor_header *h, const unsigned char *data, const char *name)
{
    static const uint64_t empty = 0;
    for (size_t i = 0; i < h->count; i++) {
        attend_tensor_entry *e = &h->entries[i];
        attend_tensor *t = &e->tensor;
        t->data = t->bytes ? (const void *)(data + e->begin) : &empty;
        if ((uintptr_t)t->data % attend_dtype_size(t->dtype) == 0) continue;
        void *copy = attend_memory_aligned(t->bytes);
        if (!copy)
            return attend_fail(ATTEND_NO_MEMORY, "no memory to align tensor %.100s of %s, %zu bytes", t->name, name,
                               t->bytes);
        t->data = memcpy(copy, t->data, t->bytes);
        e->copied = true;
    }
    return ATTEND_OK;
}

static int read_content(attend_tensor_header *h, const content *c, unsigned flags)
{
    size_t size = 0;
    int status = header_size(c, &size);
    if (status == ATTEND_OK) status = attend_tensor_header_read(h, (const char *)c->bytes + SIZE_FIELD, size, c->name);
    if (status != ATTEND_OK) return status;
    const size_t data = c->size - SIZE_FIELD - size;
    if (h->bytes > data) return truncated(c, (double)h->bytes + (double)(SIZE_FIELD + size));
    if (h->bytes < data)
        return attend_fail(ATTEND_BAD_MODEL, "%s has %zu bytes after its last tensor", c->name, data - h->bytes);
    if (!(flags & ATTEND_TENSOR_SKIP_CHECKSUM)) status = check_checksum(h, c);
    return status == ATTEND_OK ? set_data(h, c->bytes + SIZE_FIELD + size, c->name) : status;
}

int attend_tensor_file_parse(attend_tensor_file **out, const void *bytes, size_t size, const char *name, unsigned flags)
{
    *out = NULL;
    attend_tensor_file *file = attend_memory_zeroed(1, sizeof *file);
    if (!file) return attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", name);
    int status = read_content(&file->header, &(content){ bytes, size, name }, flags);
    if (status == ATTEND_OK)
        *out = file;
    else
        attend_tensor_file_close(file);
    return status;
}

/* Maps the open file into memory. */
static int map(content *c, int descriptor)
{
    struct stat s;
    if (fstat(descriptor, &s) != 0)
        return attend_fail(ATTEND_IO, "cannot read %s: %s", c->name, attend_errno_text(errno));
    if (S_ISDIR(s.st_mode)) return attend_fail(ATTEND_IO, "%s is a directory; give the path of a file", c->name);
    if (!S_ISREG(s.st_mode))
        return attend_fail(ATTEND_IO, "%s is a device, pipe or socket; a model must be a file on disk", c->name);
    c->size = (size_t)s.st_size;
    if (c->size == 0) return ATTEND_OK; /* cannot be mapped; the parser reports it */
    void *at = MAP_FAILED;
    errno = ENOMEM;
    /* MAP_NORESERVE: weights are rarely changed, so do not reserve memory for private copies of all pages. */
    if (!attend_memory_refused())
        at = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (at == MAP_FAILED && errno == ENOMEM)
        return attend_fail(ATTEND_NO_MEMORY, "no memory to map %s, %zu bytes", c->name, c->size);
    if (at == MAP_FAILED) return attend_fail(ATTEND_IO, "cannot map %s: %s", c->name, attend_errno_text(errno));
    c->bytes = at;
    return ATTEND_OK;
}

int attend_tensor_file_open(attend_tensor_file **out, const char *path, unsigned flags)
{
    *out = NULL;
    content c = { .name = path };
    int descriptor;
    do descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a pipe */
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return attend_fail(ATTEND_IO, "cannot read %s: %s", path, attend_errno_text(errno));
    int status = map(&c, descriptor);
    close(descriptor);
    if (status == ATTEND_OK) status = attend_tensor_file_parse(out, c.bytes, c.size, path, flags);
    if (status == ATTEND_OK) {
        (*out)->map = (void *)c.bytes;
        (*out)->map_size = c.size;
    } else if (c.bytes) {
        munmap((void *)c.bytes, c.size);
    }
    return status;
}

void attend_tensor_file_close(attend_tensor_file *file)
{
    if (!file) return;
    attend_tensor_header_free(&file->header);
    if (file->map) munmap(file->map, file->map_size);
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

void *attend_tensor_file_edit(attend_tensor_file *file, const attend_tensor *tensor)
{
    return file->map ? (void *)tensor->data : NULL;
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
