/* tensor_file.h: named arrays in a file, in the safetensors format (https://github.com/huggingface/safetensors): eight
 * bytes with the header's size, a JSON header that says name, type, shape and place of every array, and the arrays
 * themselves without holes. Any program that reads safetensors reads what is written here.
 *
 * Purpose    Reading trusts nothing: a file that is opened has arrays that lie where they should and cover the data
 *            exactly, and names and metadata that are UTF-8. A file that is something else is named for what it is.
 *            Nothing here knows about models.
 * Ownership  A file owns its tensors, names and metadata; they live until it is closed. A tensor's data points into
 *            the file (memory-mapped, private), or to a copy where the file does not align it to its elements.
 * Threads    Reading a file that is open needs no care. Nothing here is shared otherwise.
 * Limits     Little-endian machines; rank at most 4; see the numbers below. Reading takes, besides the map, less than
 *            four times the header's size, and copies of arrays that lie unaligned.
 *            A file on disk that another program cuts short while it is open, or a disk that cannot be read, raises
 *            SIGBUS at the access, as with every memory map; one that is written to in place may change what is seen
 *            here. Replace files (core/atomic_file.h) instead of writing into them.
 *
 * The checksum is "xxh3-" and 16 hex digits, in the metadata under "checksum": XXH3-64 (xxHash) over the whole file, with
 * those digits taken as '0'. What is written has one; a file without one (from another program) is read, a wrong one
 * refused. It is not among the metadata seen here.
 *
 * Codes: ATTEND_BAD_MODEL for what is in a file, ATTEND_IO for not getting at it, ATTEND_BAD_USAGE for what cannot be
 * written, ATTEND_NO_MEMORY. */
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
    ATTEND_DTYPES /* how many */
} attend_dtype;

const char *attend_dtype_name(attend_dtype dtype); /* as in the file: "F32" */
size_t attend_dtype_size(attend_dtype dtype);      /* bytes an element */

enum {
    ATTEND_TENSOR_RANK = 4,
    ATTEND_TENSOR_NAME = 512,            /* bytes of the longest name or metadata key */
    ATTEND_TENSOR_COUNT = 1 << 17,       /* tensors in a file; as many pairs of metadata */
    ATTEND_TENSOR_HEADER = 64 << 20,     /* bytes of the largest header */
    ATTEND_TENSOR_SKIP_CHECKSUM = 1 << 0 /* flag: do not compare the checksum (and do not read all data for it) */
};

typedef struct attend_tensor {
    const char *name; /* not empty, UTF-8, no control characters */
    attend_dtype dtype;
    int rank; /* 0: one number */
    int64_t shape[ATTEND_TENSOR_RANK];
    size_t bytes;
    const void *data; /* row after row; aligned to its elements; never NULL in a file that was read */
} attend_tensor;

typedef struct attend_metadata {
    const char *key, *value; /* UTF-8; the value may be empty and have line breaks */
} attend_metadata;

typedef struct attend_tensor_file attend_tensor_file;

/* Maps the file. `flags`: 0 or ATTEND_TENSOR_SKIP_CHECKSUM. */
int attend_tensor_file_open(attend_tensor_file **out, const char *path, unsigned flags);
/* The same for a file that is in memory, where it must stay, unchanged, until closed; `name` is for messages. */
int attend_tensor_file_parse(attend_tensor_file **out, const void *bytes, size_t size, const char *name,
                             unsigned flags);
void attend_tensor_file_close(attend_tensor_file *file); /* NULL is fine */

size_t attend_tensor_file_count(const attend_tensor_file *file);
const attend_tensor *attend_tensor_file_at(const attend_tensor_file *file, size_t i); /* in the order of the data */
const attend_tensor *attend_tensor_file_find(const attend_tensor_file *file, const char *name); /* NULL: none */
/* The data of a tensor of this file, to be changed in place: nobody else sees it and the file on disk stays as it is.
 * NULL if the file was parsed from the caller's memory, which is not ours to change. */
void *attend_tensor_file_edit(attend_tensor_file *file, const attend_tensor *tensor);

size_t attend_tensor_file_metadata_count(const attend_tensor_file *file);
const attend_metadata *attend_tensor_file_metadata_at(const attend_tensor_file *file, size_t i); /* in order of keys */
const char *attend_tensor_file_metadata(const attend_tensor_file *file, const char *key);        /* NULL: none */

/* Writes a file in the place of what was at `path` (core/atomic_file.h: old or new, never half). The same input gives the
 * same bytes. The data begins at a multiple of 64; arrays of larger elements come first, otherwise in the order given,
 * so that each is aligned to its elements. Nothing given may change meanwhile. `tensors` and `metadata` may be NULL if
 * there are none; the key "checksum" is the file's own. */
int attend_tensor_file_write(const char *path, const attend_tensor *tensors, size_t count,
                             const attend_metadata *metadata, size_t metadata_count);

#endif
