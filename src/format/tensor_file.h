/* tensor_file.h: named tensors in a file in the safetensors format (https://github.com/huggingface/safetensors):
 * eight bytes with the size of the header, a JSON header with the name, type, shape and offsets of every tensor, and
 * the data without gaps. Any program that reads safetensors can read these files.
 *
 * Purpose    Reading validates everything: the tensors of an open file cover its data exactly, and its names and
 *            metadata are valid UTF-8. The error for a file of another format names that format. This layer is
 *            independent of models.
 * Ownership  A file owns its tensors, names and metadata until it is closed. The data of a tensor points into the
 *            file, which is memory-mapped privately, or to a copy if the file does not align it to its elements.
 * Threads    Several threads may read an open file at once. There is no global state.
 * Limits     Little-endian machines; rank at most 4; the constants below. Reading needs, besides the map, less than
 *            four times the size of the header, and copies of unaligned tensors. If another program truncates an open
 *            file, or the disk fails, access to the data raises SIGBUS, as with every memory map; if it writes into
 *            the file, the data may change. Replace files (core/atomic_file.h) instead of writing into them.
 * Checksum   Metadata "checksum" is "xxh3-" and 16 hex digits: XXH3-64 (xxHash) over the whole file with those digits
 *            set to '0'. Written files have one. A file without one (from another program) is accepted, a wrong one
 *            is an error. The functions below do not list it as metadata.
 * Codes      ATTEND_BAD_MODEL: invalid content; ATTEND_IO: the file cannot be read or written; ATTEND_BAD_USAGE:
 *            invalid arguments; ATTEND_NO_MEMORY. */
#ifndef ATTEND_FORMAT_TENSOR_FILE_H
#define ATTEND_FORMAT_TENSOR_FILE_H

#include <attend/status.h>
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
    ATTEND_TENSOR_NAME = 512,            /* maximum bytes of a name or metadata key */
    ATTEND_TENSOR_COUNT = 1 << 17,       /* maximum tensors, and maximum pairs of metadata */
    ATTEND_TENSOR_HEADER = 64 << 20,     /* maximum bytes of a header */
    ATTEND_TENSOR_SKIP_CHECKSUM = 1 << 0 /* flag: do not verify the checksum, which reads all data */
};

typedef struct attend_tensor {
    const char *name; /* not empty, valid UTF-8, no control characters */
    attend_dtype dtype;
    int rank; /* 0: a scalar */
    int64_t shape[ATTEND_TENSOR_RANK];
    size_t bytes;
    const void *data; /* row-major, aligned to its elements; never NULL in an open file */
} attend_tensor;

typedef struct attend_metadata {
    const char *key, *value; /* valid UTF-8; the value may be empty and contain line breaks */
} attend_metadata;

typedef struct attend_tensor_file attend_tensor_file;

/* Opens a file by memory map. `flags`: 0 or ATTEND_TENSOR_SKIP_CHECKSUM. */
int attend_tensor_file_open(attend_tensor_file **out, const char *path, unsigned flags);
/* Opens a file in memory; the bytes must stay valid and unchanged until it is closed. `name` is for messages. */
int attend_tensor_file_parse(attend_tensor_file **out, const void *bytes, size_t size, const char *name,
                             unsigned flags);
void attend_tensor_file_close(attend_tensor_file *file); /* NULL is valid */

size_t attend_tensor_file_count(const attend_tensor_file *file);
const attend_tensor *attend_tensor_file_at(const attend_tensor_file *file, size_t i); /* in the order of the data */
const attend_tensor *attend_tensor_file_find(const attend_tensor_file *file, const char *name); /* NULL: none */
/* The data of a tensor of this file, to be changed in memory; the file on disk does not change. NULL if the file was
 * parsed from the caller's memory. */
void *attend_tensor_file_edit(attend_tensor_file *file, const attend_tensor *tensor);

size_t attend_tensor_file_metadata_count(const attend_tensor_file *file);
const attend_metadata *attend_tensor_file_metadata_at(const attend_tensor_file *file, size_t i); /* sorted by key */
const char *attend_tensor_file_metadata(const attend_tensor_file *file, const char *key);        /* NULL: none */

/* Replaces the file at `path` atomically (core/atomic_file.h). The same input gives the same bytes. The data starts
 * at a multiple of 64. Tensors with larger elements come first, otherwise in the given order, so that each is aligned
 * to its elements. `tensors` and `metadata` may be NULL if their count is 0; the key "checksum" is reserved. */
int attend_tensor_file_write(const char *path, const attend_tensor *tensors, size_t count,
                             const attend_metadata *metadata, size_t metadata_count);

#endif
