/* tensor_file.h: named tensors in a file in the safetensors format (https://github.com/huggingface/safetensors):
 * eight bytes with the size of the header, a JSON header with the name, type, shape and offsets of every tensor, and
 * the data without gaps. Any program that reads safetensors can read these files.
 *
 * Purpose    Reading validates everything: the tensors of an open file cover its data exactly, and its names and
 *            metadata are valid UTF-8. The error for a file of another format names that format. This layer is
 *            independent of models.
 * Ownership  A file owns its tensors, names and metadata until it is closed. The data of all tensors is one block of
 *            private memory, which the caller can take over; each tensor is aligned to 64 bytes.
 * Changes    A file is opened once and copied to private memory; what is checked and used is the copy. Another process
 *            may overwrite, truncate or replace the file at any time. A change while it is read is an error, if it
 *            changes the size or the time of modification (format/file_reader.h); a later one has no effect.
 * Threads    Several threads may read an open file at once. There is no global state.
 * Limits     Little-endian machines; rank at most 4; the constants below. Reading needs, besides the tensors, less than
 *            five times the size of the header and 256 kB.
 * Checksum   Metadata "checksum" is "xxh3-" and 16 hex digits: XXH3-64 (xxHash) over the whole file with those digits
 *            set to '0'. Written files have one. A file without one (from another program) is accepted, a wrong one
 *            is an error. The functions below do not list it as metadata.
 * Codes      ATTEND_BAD_MODEL: invalid content; ATTEND_IO: the file cannot be read or written; ATTEND_BAD_USAGE:
 *            invalid arguments; ATTEND_NO_MEMORY. */
#ifndef ATTEND_FORMAT_TENSOR_FILE_H
#define ATTEND_FORMAT_TENSOR_FILE_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum attend_dtype {
    ATTEND_BOOL,
    ATTEND_U8,
    ATTEND_I8,
    ATTEND_F8_E5M2,
    ATTEND_F8_E4M3,
    ATTEND_I16,
    ATTEND_U16,
    ATTEND_F16,
    ATTEND_BF16,
    ATTEND_I32,
    ATTEND_U32,
    ATTEND_F32,
    ATTEND_F64,
    ATTEND_I64,
    ATTEND_U64,
    ATTEND_DTYPES /* number of types */
} attend_dtype;

const char *attend_dtype_name(attend_dtype dtype); /* as in the file: "F32" */
size_t attend_dtype_size(attend_dtype dtype);      /* bytes of an element */

enum {
    ATTEND_TENSOR_RANK = 4,
    ATTEND_TENSOR_NAME = 512,        /* maximum bytes of a name or metadata key */
    ATTEND_TENSOR_COUNT = 1 << 17,   /* maximum tensors, and maximum pairs of metadata */
    ATTEND_TENSOR_HEADER = 64 << 20, /* maximum bytes of a header */
    ATTEND_TENSOR_CHECKSUM = 17,     /* bytes of the digits of a checksum, with '\0' */
    /* flags */
    ATTEND_TENSOR_SKIP_CHECKSUM = 1 << 0, /* do not verify the checksum */
    ATTEND_TENSOR_HEADER_ONLY = 1 << 1    /* do not read the data: see attend_tensor_file_load */
};

typedef struct attend_tensor {
    const char *name; /* not empty, valid UTF-8, no control characters */
    attend_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t shape[ATTEND_TENSOR_RANK];
    size_t bytes;
    const void *data; /* row-major; in an open file NULL if it was not read */
} attend_tensor;

typedef struct attend_metadata {
    const char *key, *value; /* valid UTF-8; the value may be empty and contain line breaks */
} attend_metadata;

typedef struct attend_tensor_file attend_tensor_file;

/* Opens a regular file and reads it. `flags`: 0 or some of the flags above. */
int attend_tensor_file_open(attend_tensor_file **out, const char *path, unsigned flags);
/* The same from a file in memory, which must not change until its data has been read. `name` is for messages. */
int attend_tensor_file_parse(attend_tensor_file **out, const void *bytes, size_t size, const char *name,
                             unsigned flags);
void attend_tensor_file_close(attend_tensor_file *file); /* NULL is valid */

size_t attend_tensor_file_count(const attend_tensor_file *file);
const attend_tensor *attend_tensor_file_at(const attend_tensor_file *file, size_t i); /* in the order of the data */
const attend_tensor *attend_tensor_file_find(const attend_tensor_file *file, const char *name); /* NULL: none */
/* Takes over the memory of all data, or of the data apart (attend_tensor_loading): the caller frees it with
 * attend_memory_free, and the tensors must not be used after that. */
void *attend_tensor_file_take(attend_tensor_file *file, bool apart);

/* With ATTEND_TENSOR_HEADER_ONLY the file on disk stays open until it is closed, and these functions read from it. */

/* How data is read. {0} keeps everything in one block. */
typedef struct attend_tensor_loading {
    const char *apart;  /* tensors whose names begin with this are in a block of their own; NULL: none */
    bool skip_apart;    /* these tensors are verified, but not kept */
    bool skip_checksum; /* the checksum is not verified */
    /* called for every tensor that is kept, chunk by chunk and in order, while a chunk is in the cache; chunks begin at
     * a multiple of 64 bytes; NULL: nothing */
    void (*visit)(void *user, const attend_tensor *tensor, const void *bytes, size_t size);
    void *user;
} attend_tensor_loading;

/* Reads and verifies all data, once. ATTEND_NO_MEMORY: the machine does not have so much memory. On failure the file can
 * only be closed. */
int attend_tensor_file_load(attend_tensor_file *file, const attend_tensor_loading *how);
/* Copies bytes of a tensor that are in the file now, from the offset `at` of its data on. They are not verified: the
 * caller checks what it uses. */
int attend_tensor_file_read(const attend_tensor_file *file, const attend_tensor *tensor, size_t at, void *to,
                            size_t size);
/* ATTEND_IO if the file has changed since it was opened. */
int attend_tensor_file_check(const attend_tensor_file *file);

size_t attend_tensor_file_metadata_count(const attend_tensor_file *file);
const attend_metadata *attend_tensor_file_metadata_at(const attend_tensor_file *file, size_t i); /* sorted by key */
const char *attend_tensor_file_metadata(const attend_tensor_file *file, const char *key);        /* NULL: none */

/* The digits of the checksum that the file states; "": it has none. */
void attend_tensor_file_checksum(const attend_tensor_file *file, char digits[ATTEND_TENSOR_CHECKSUM]);

/* Replaces the file at `path` atomically (core/atomic_file.h). The same input gives the same bytes. The data starts
 * at a multiple of 64. Tensors with larger elements come first, otherwise in the given order, so that each is aligned
 * to its elements. `tensors` and `metadata` may be NULL if their count is 0; the key "checksum" is reserved. */
int attend_tensor_file_write(const char *path, const attend_tensor *tensors, size_t count,
                             const attend_metadata *metadata, size_t metadata_count);

#endif
